"""Models as people have them: what they say of themselves is taken from them, and nothing in them is changed."""

import sys
import types
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from asked_models import oracle_of, some_points
from late import LateModule, nn, pyarrow, sklearn, torch
from unweave.activations import TANH
from unweave.exceptions import BadAnswer, InvalidInput, MissingExtra, UnreadableFile
from unweave.networks.network import Network
from unweave.oracles.models.onnx_file import OnnxOracle
from unweave.oracles.models.sklearn_estimator import SklearnOracle
from unweave.oracles.oracle import Box, CallableOracle, Everywhere

onnx = LateModule("onnx")
compose = LateModule("sklearn.compose")
linear_model = LateModule("sklearn.linear_model")
neural_network = LateModule("sklearn.neural_network")
pipeline = LateModule("sklearn.pipeline")
preprocessing = LateModule("sklearn.preprocessing")


def made(kind: str, *settings: Any) -> Any:
    """A module of torch: they are made when a test runs."""
    return getattr(nn, kind)(*settings)


class TestTorch:
    def test_type_device_and_inputs_are_taken_from_the_module(self) -> None:
        from unweave.oracles.models.torch_module import TorchOracle

        module = nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 2)).double()
        oracle, points = oracle_of(module), some_points(4)
        assert isinstance(oracle, TorchOracle)
        assert oracle.inputs == 4
        expected = module(torch.tensor(points)).detach().numpy()
        np.testing.assert_array_equal(oracle.query(points), expected)
        assert oracle.ledger.answer_digits == np.finfo(np.float64).eps

    @pytest.mark.parametrize(("type_", "digits"), [("float32", 2.0**-23), ("bfloat16", 2.0**-7)])
    def test_answers_have_the_digits_of_the_module(self, type_: str, digits: float) -> None:
        oracle = oracle_of(nn.Linear(4, 3).to(getattr(torch, type_)))
        oracle.query(some_points(4, 100))
        assert oracle.ledger.answer_digits == digits

    def test_every_part_is_asked_in_eval_mode_and_put_back(self) -> None:
        frozen, dropout = nn.BatchNorm1d(4).eval(), nn.Dropout(0.5)
        module = nn.Sequential(frozen, nn.Linear(4, 4), dropout).train()
        frozen.eval()
        oracle, points = oracle_of(module), some_points(4)
        np.testing.assert_array_equal(oracle.query(points), oracle.query(points))
        assert (module.training, dropout.training, frozen.training) == (True, True, False)
        assert all(parameter.grad is None and parameter.requires_grad for parameter in module.parameters())

    def test_a_module_that_raises_is_put_back_too(self) -> None:
        module = nn.Sequential(nn.Linear(4, 3), nn.Linear(4, 3)).train()
        with pytest.raises(Exception, match="the oracle raised"):
            oracle_of(module).query(some_points(4))
        assert module.training

    @pytest.mark.parametrize(
        ("modules", "inputs"),
        [
            ([("Flatten",), ("Linear", 6, 2)], 6),
            ([("Unflatten", 1, (1, 4, 5)), ("Conv2d", 1, 2, 3), ("Flatten",)], 20),
            ([("LayerNorm", 7), ("Linear", 7, 1)], 7),
        ],
    )
    def test_inputs_of_other_first_layers(self, modules: list[tuple], inputs: int) -> None:
        oracle = oracle_of(nn.Sequential(*(made(*module) for module in modules)))
        assert oracle.inputs == inputs
        assert oracle.query(some_points(inputs)).shape[0] == 9

    @pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")
    def test_scripted_and_traced_modules_say_their_inputs(self) -> None:
        module, points = nn.Sequential(nn.Linear(4, 3), nn.Tanh()).double(), some_points(4)
        for made in (torch.jit.script(module), torch.jit.trace(module, torch.tensor(points))):
            np.testing.assert_array_equal(oracle_of(made).query(points), module(torch.tensor(points)).detach())

    def test_answers_of_more_axes_are_rows(self) -> None:
        assert oracle_of(nn.Sequential(nn.Linear(3, 6), nn.Unflatten(1, (2, 3)))).query(some_points(3)).shape == (9, 6)

    @pytest.mark.parametrize(
        ("module", "given", "problem"),
        [
            (("Conv2d", 1, 2, 3), {}, "Unflatten"),
            (("Tanh",), {}, "give inputs="),
            (("Linear", 4, 3), {"inputs": 5}, "the model has 4 inputs, got inputs=5"),
            (("LazyLinear", 3), {}, "were not used yet"),
        ],
    )
    def test_what_can_not_be_asked_is_said_before_any_query(
        self, module: tuple, given: dict[str, Any], problem: str
    ) -> None:
        with pytest.raises(InvalidInput, match=problem):
            oracle_of(made(*module), **given)

    def test_a_module_without_numbers_is_asked_with_the_inputs_that_are_given(self) -> None:
        np.testing.assert_allclose(
            oracle_of(nn.Tanh(), inputs=3).query(np.ones((1, 3))), np.tanh(np.ones((1, 3))), 1e-6
        )

    def test_answers_that_are_no_tensor_are_named(self) -> None:
        class Pair(nn.Linear):
            def forward(self, points: torch.Tensor) -> Any:
                return points, points

        with pytest.raises(BadAnswer, match="answers with a tuple"):
            oracle_of(Pair(2, 2)).query(some_points(2))


SAMPLES, TARGETS = some_points(3, 60) * [1.0, 20.0, 300.0] + [5.0, 0.0, -100.0], some_points(1, 60)[:, 0]
CLASSES = np.array(["no", "yes"])[(TARGETS > 0).astype(int)]


MODELS: dict[str, Callable[[], Any]] = {
    "least squares": lambda: linear_model.LinearRegression(),
    "network": lambda: neural_network.MLPRegressor(hidden_layer_sizes=(3,), max_iter=2),
    "logistic": lambda: linear_model.LogisticRegression(),
    "support vectors": lambda: sklearn.svm.SVC(),
    "network of classes": lambda: neural_network.MLPClassifier(hidden_layer_sizes=(3,), max_iter=2),
    "pipeline": lambda: scaled(MODELS["network of classes"]()),
}


def scaled(model: Any, scaler: str = "StandardScaler") -> Any:
    return pipeline.make_pipeline(getattr(sklearn.preprocessing, scaler)(), model)


class TestScikitLearn:
    @pytest.mark.parametrize(
        ("name", "labels", "method"),
        [
            ("least squares", TARGETS, "predict"),
            ("network", np.column_stack([TARGETS, TARGETS]), "predict"),
            ("logistic", CLASSES, "decision_function"),
            ("support vectors", CLASSES, "decision_function"),
            ("network of classes", CLASSES, "predict_proba"),
            ("pipeline", CLASSES, "predict_proba"),
        ],
    )
    @pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
    def test_the_most_telling_answers_are_asked(self, name: str, labels: np.ndarray, method: str) -> None:
        estimator = MODELS[name]().fit(SAMPLES, labels)
        oracle = oracle_of(estimator)
        assert isinstance(oracle, SklearnOracle)
        assert (oracle.inputs, oracle.method) == (3, method)
        expected = getattr(estimator, method)(SAMPLES).reshape(60, -1)
        np.testing.assert_allclose(oracle.query(SAMPLES), expected, rtol=1e-12)

    def test_labels_that_are_words_are_numbers(self) -> None:
        tree = sklearn.tree.DecisionTreeClassifier(max_depth=1).fit(SAMPLES, CLASSES)
        oracle = SklearnOracle(tree)
        assert oracle.method == "predict_proba"
        oracle.method = "predict"
        assert set(np.unique(oracle.query(SAMPLES))) <= {0.0, 1.0}

    @pytest.mark.parametrize("scaler", ["StandardScaler", "RobustScaler", "MinMaxScaler"])
    def test_units_come_from_the_scaler(self, scaler: str) -> None:
        domain = oracle_of(scaled(MODELS["least squares"](), scaler).fit(SAMPLES, TARGETS)).domain
        assert isinstance(domain, Everywhere)
        center, scale = domain.frame(3)
        assert np.all(np.abs(center - [5.0, 0.0, -100.0]) < [1.5, 30.0, 450.0])
        assert np.all((scale > [0.5, 10.0, 150.0]) & (scale < [4.0, 80.0, 1200.0]))

    def test_a_constant_column_has_a_unit_all_the_same(self) -> None:
        samples = np.column_stack([SAMPLES, np.full(60, 3.0)])
        for scaler in (preprocessing.MinMaxScaler(), preprocessing.StandardScaler()):
            oracle = oracle_of(pipeline.make_pipeline(scaler, linear_model.LinearRegression()).fit(samples, TARGETS))
            assert oracle.domain.frame(4)[1][3] == 1.0

    def test_a_domain_that_is_given_counts(self) -> None:
        fitted = scaled(MODELS["least squares"]()).fit(SAMPLES, TARGETS)
        assert oracle_of(fitted, domain=Box(0.0, 1.0)).domain == Box(0.0, 1.0)

    def test_without_fit_it_is_refused(self) -> None:
        for estimator in (
            neural_network.MLPRegressor(),
            pipeline.make_pipeline(preprocessing.StandardScaler(), neural_network.MLPRegressor()),
        ):
            with pytest.raises(InvalidInput, match="does not say how many inputs it has: call its fit first"):
                oracle_of(estimator)

    def test_steps_that_do_nothing_are_passed_over(self) -> None:
        plain = pipeline.make_pipeline("passthrough", linear_model.LinearRegression()).fit(SAMPLES, TARGETS)
        scaled = pipeline.make_pipeline(
            "passthrough", preprocessing.StandardScaler(), linear_model.LinearRegression()
        ).fit(SAMPLES, TARGETS)
        assert oracle_of(plain).inputs == oracle_of(scaled).inputs == 3
        assert oracle_of(scaled).domain.frame(3)[1][2] > 100.0

    def test_columns_that_are_picked_by_name_are_asked_by_name(self) -> None:
        frame = pyarrow.table({name: SAMPLES[:, place] for place, name in enumerate("abc")})
        picked = compose.make_column_transformer(
            (preprocessing.StandardScaler(), ["c", "a"]), (preprocessing.MinMaxScaler(), ["b"])
        )
        for fitted in (
            pipeline.make_pipeline(picked, linear_model.LinearRegression()).fit(frame, TARGETS),
            compose.TransformedTargetRegressor(
                pipeline.make_pipeline(pipeline.make_pipeline(picked), linear_model.LinearRegression())
            ).fit(frame, TARGETS),
        ):
            oracle = oracle_of(fitted)
            assert oracle.inputs == 3
            np.testing.assert_allclose(oracle.query(SAMPLES)[:, 0], fitted.predict(frame), rtol=1e-12, atol=1e-15)
            center, scale = oracle.domain.frame(3)
            middle = 0.5 * (np.min(SAMPLES, axis=0) + np.max(SAMPLES, axis=0))
            np.testing.assert_allclose(center, [np.mean(SAMPLES[:, 0]), middle[1], np.mean(SAMPLES[:, 2])])
            assert np.all(scale > [0.5, 10.0, 150.0])

    @pytest.mark.parametrize("columns", [[0, 2], [True, False, True], slice(0, 3, 2), np.array([0, 2])])
    def test_columns_that_are_picked_by_place_have_units(self, columns: Any) -> None:
        picked = compose.make_column_transformer((preprocessing.StandardScaler(), columns), remainder="passthrough")
        fitted = pipeline.make_pipeline(picked, linear_model.LinearRegression()).fit(SAMPLES, TARGETS)
        oracle = oracle_of(fitted)
        np.testing.assert_array_equal(oracle.query(SAMPLES)[:, 0], fitted.predict(SAMPLES))
        center, scale = oracle.domain.frame(3)
        np.testing.assert_allclose(center, np.mean(SAMPLES, axis=0) * [1.0, 0.0, 1.0])
        np.testing.assert_allclose(scale, [np.std(SAMPLES[:, 0]), 1.0, np.std(SAMPLES[:, 2])])

    def test_other_inputs_are_refused(self) -> None:
        with pytest.raises(InvalidInput, match="the model has 3 inputs, got inputs=4"):
            oracle_of(linear_model.LinearRegression().fit(SAMPLES, TARGETS), inputs=4)


def graph_file(
    path: Path,
    *,
    shape: Sequence[int | str | None] = ("batch", 3),
    type_: str = "DOUBLE",
    outputs: tuple[str, ...] = ("values",),
    more_inputs: tuple[str, ...] = (),
) -> Path:
    """A file whose outputs are all twice its input, flattened."""
    number = getattr(onnx.TensorProto, type_)
    two = onnx.numpy_helper.from_array(np.array(2.0, dtype=onnx.helper.tensor_dtype_to_np_dtype(number)), "two")
    nodes = [onnx.helper.make_node("Flatten", ["points"], ["rows"], axis=1)]
    nodes += [onnx.helper.make_node("Mul", ["rows", "two"], [name]) for name in outputs]
    graph = onnx.helper.make_graph(
        nodes,
        "double",
        [onnx.helper.make_tensor_value_info(name, number, shape) for name in ("points", *more_inputs)],
        [onnx.helper.make_tensor_value_info(name, number, [shape[0], None]) for name in outputs],
        [two],
    )
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, path)
    return path


class TestOnnx:
    @pytest.mark.parametrize("type_", ["DOUBLE", "FLOAT"])
    @pytest.mark.parametrize("shape", [["batch", 3], [None, 3], ["batch", 1, 3]])
    def test_shape_and_type_are_taken_from_the_graph(self, shape: list, type_: str, tmp_path: Path) -> None:
        oracle = oracle_of(graph_file(tmp_path / "model.onnx", shape=shape, type_=type_))
        assert isinstance(oracle, OnnxOracle)
        points = some_points(3).astype(np.float32).astype(np.float64)
        np.testing.assert_array_equal(oracle.query(points), 2.0 * points)

    @pytest.mark.parametrize("rows", [1, 4])
    def test_a_fixed_number_of_rows_is_kept(self, rows: int, tmp_path: Path) -> None:
        oracle = oracle_of(str(graph_file(tmp_path / "model.onnx", shape=[rows, 3])))
        np.testing.assert_array_equal(oracle.query(some_points(3)), 2.0 * some_points(3))
        assert oracle.ledger.sent == 9

    def test_several_outputs_have_to_be_named(self, tmp_path: Path) -> None:
        path = graph_file(tmp_path / "model.onnx", outputs=("one", "two_more"))
        with pytest.raises(InvalidInput, match="several outputs: name one of one, two_more"):
            oracle_of(path)
        with pytest.raises(InvalidInput, match="no output 'three': use one of one, two_more"):
            oracle_of(path, output="three")
        assert oracle_of(path, output="two_more").query(some_points(3)).shape == (9, 3)

    def test_an_open_shape_needs_the_inputs(self, tmp_path: Path) -> None:
        path = graph_file(tmp_path / "model.onnx", shape=["batch", "features"])
        with pytest.raises(InvalidInput, match="leaves the shape of its input points open"):
            oracle_of(path)
        assert oracle_of(path, inputs=5).query(some_points(5)).shape == (9, 5)

    def test_several_inputs_are_refused(self, tmp_path: Path) -> None:
        with pytest.raises(InvalidInput, match="one input of real numbers"):
            oracle_of(graph_file(tmp_path / "model.onnx", more_inputs=("other",)))

    @pytest.mark.parametrize("zipmap", [True, False])
    @pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
    @pytest.mark.filterwarnings("ignore::DeprecationWarning")
    @pytest.mark.filterwarnings("ignore::FutureWarning")
    def test_probabilities_of_a_converted_classifier_are_unpacked(self, zipmap: bool, tmp_path: Path) -> None:
        from skl2onnx import to_onnx

        model = neural_network.MLPClassifier(hidden_layer_sizes=(3,), max_iter=5, random_state=0).fit(SAMPLES, CLASSES)
        converted = to_onnx(model, SAMPLES[:1].astype(np.float32), options={id(model): {"zipmap": zipmap}})
        (tmp_path / "classifier.onnx").write_bytes(converted.SerializeToString())
        answers = oracle_of(tmp_path / "classifier.onnx").query(SAMPLES)
        np.testing.assert_allclose(answers, model.predict_proba(SAMPLES), atol=1e-4)

    @pytest.mark.parametrize("content", [b"", b"no model at all", b"\x08\x08\x12\x04"])
    def test_a_file_of_something_else_is_refused(self, content: bytes, tmp_path: Path) -> None:
        (tmp_path / "model.onnx").write_bytes(content)
        with pytest.raises(UnreadableFile, match=r"model\.onnx"):
            oracle_of(tmp_path / "model.onnx")

    def test_without_its_package_it_says_so(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("unweave.extras.find_spec", lambda package: None)  # noqa: ARG005
        with pytest.raises(MissingExtra, match=r"pip install 'unweave\[onnx\]'"):
            oracle_of(tmp_path / "model.onnx")


class TestFiles:
    def test_a_saved_network_is_asked(self, tmp_path: Path) -> None:
        network = Network.shallow(np.ones((2, 3)), np.ones(2), np.ones((1, 2)), np.zeros(1), TANH)
        network.save(tmp_path / "network.safetensors")
        np.testing.assert_array_equal(
            oracle_of(tmp_path / "network.safetensors").query(some_points(3)), network(some_points(3))
        )

    def test_a_missing_file_is_named(self, tmp_path: Path) -> None:
        for name in ("model.onnx", "network.safetensors"):
            with pytest.raises(UnreadableFile, match=f"no model at .*{name}"):
                oracle_of(tmp_path / name)

    @pytest.mark.parametrize("ending", ["pt", "pth", "pkl", "joblib"])
    def test_a_pickle_is_never_read(self, ending: str, tmp_path: Path) -> None:
        (tmp_path / f"model.{ending}").write_bytes(b"cos\nsystem\n(S'touch broken'\ntR.")
        with pytest.raises(InvalidInput, match="would run whatever code it names"):
            oracle_of(tmp_path / f"model.{ending}")

    def test_only_outputs_of_onnx_files_have_names(self) -> None:
        network = Network.shallow(np.ones((2, 3)), np.ones(2), np.ones((1, 2)), np.zeros(1), TANH)
        for model in (nn.Linear(2, 2), network, CallableOracle(network, inputs=3), lambda points: points):
            with pytest.raises(InvalidInput, match="outputs with names"):
                oracle_of(model, output="probabilities")

    def test_sizes_that_contradict_a_network_are_refused_before_any_query(self) -> None:
        network = Network.shallow(np.ones((2, 3)), np.ones(2), np.ones((1, 2)), np.zeros(1), TANH)
        assert oracle_of(network).inputs == 3
        with pytest.raises(InvalidInput, match="the model has 3 inputs, got inputs=4"):
            oracle_of(network, inputs=4)
        with pytest.raises(InvalidInput, match="the model has 1 outputs, got outputs=2"):
            oracle_of(network, outputs=2)


def test_modules_of_flax_say_the_inputs_of_their_first_layer() -> None:
    def answer(_: object, points: np.ndarray) -> np.ndarray:
        return points

    kind = type("Module", (), {"__module__": "flax.nnx.module", "__call__": answer})
    layer, model, outer = kind(), kind(), kind()
    layer.in_features, model.layers, outer.rate, outer.inner = 4, [layer], 0.5, model
    for each in (layer, model, outer):
        assert oracle_of(each).inputs == 4
    with pytest.raises(InvalidInput, match="the model has 4 inputs"):
        oracle_of(outer, inputs=3)
    unbound = type("Module", (), {"__module__": "flax.linen.module", "__call__": answer, "scope": None})()
    with pytest.raises(InvalidInput, match=r"give model.bind\(variables\), and inputs="):
        oracle_of(unbound, inputs=4)


def test_compiled_functions_of_jax_are_asked() -> None:
    import jax

    oracle = oracle_of(jax.jit(lambda points: points + 1.0), inputs=3)
    np.testing.assert_allclose(oracle.query(some_points(3)), some_points(3) + 1.0, rtol=1e-6)


def test_no_framework_is_loaded_to_ask_a_callable(monkeypatch: pytest.MonkeyPatch) -> None:
    for package in ("torch", "sklearn", "onnxruntime"):
        monkeypatch.setitem(sys.modules, package, types.ModuleType(package))

    class Plain:
        def __call__(self, points: np.ndarray) -> np.ndarray:
            return points

    assert isinstance(oracle_of(Plain(), inputs=2), CallableOracle)
