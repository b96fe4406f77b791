import numpy as np
import pytest

from late import LateModule, torch
from unweave.explore.feature_correction.plan import Plan, Thawed
from unweave.explore.feature_correction.recipes import Compose, Recipe
from unweave.explore.feature_correction.samples import check_samples
from unweave.explore.feature_correction.subjects import Deadline, OutOfTime

models = LateModule("correction_models")
subjects = LateModule("unweave.explore.feature_correction.torch_subject")
training = LateModule("unweave.explore.feature_correction.training")

PLAN = Plan(3, (1, 2, 3), (0, 1, 2), (1e-3,), (0,))
RECIPE = Recipe(epochs=2, batch=20)


def subject(seed: int, recipe: Recipe = RECIPE) -> "subjects.TorchSubject":
    samples = check_samples(models.small_images(seed), has_validation=False, random_state=0)
    return subjects.torch_subject(models.SmallConvolutions(), samples, units=None, recipe=recipe)


def test_the_pull_is_a_sum_of_squares(seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    weight = torch.randn(3, 4, generator=generator).requires_grad_()
    place = torch.randn(3, 4, generator=generator)
    value = training.pull([(weight, place)], 0.3)()
    value.backward()
    assert value.item() == pytest.approx(0.3 * ((weight - place) ** 2).sum().item())
    assert weight.grad is not None
    assert torch.allclose(weight.grad, 0.6 * (weight - place).detach())


def test_one_step_is_gradient_descent_with_decay(seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    inputs, labels = torch.randn(6, 3, generator=generator), torch.randn(6, 1, generator=generator)
    model = torch.nn.Linear(3, 1, bias=False)
    start = model.weight.detach().clone()
    recipe = Recipe(epochs=1, batch=6, learning_rate=0.2, weight_decay=0.1)
    training.RecipeLoop(recipe, inputs, labels, None)(
        model, list(model.parameters()), training.pull([], 0.0), seed, Deadline()
    )
    gradient = 2 * (inputs @ start.T - labels).T @ inputs / 6 + 0.1 * start
    assert torch.allclose(model.weight, start - 0.2 * gradient, atol=1e-6)


def test_batches_are_prepared_and_hold_every_row_once_per_epoch(seed: int) -> None:
    seen = []

    def note(_: object, inputs: torch.Tensor, *__: object) -> torch.Tensor:
        seen.append(inputs[:, 0])
        return inputs + 1

    inputs = torch.arange(11.0)[:, None]
    model = torch.nn.Linear(1, 1)
    loop = training.RecipeLoop(Recipe(epochs=1, batch=5), inputs, torch.zeros(11, 1), note)
    loop(model, list(model.parameters()), training.pull([], 0.0), seed, Deadline())
    assert sorted(torch.cat(seen).tolist()) == list(range(11))
    assert min(map(len, seen)) >= 5


@pytest.mark.parametrize("rows", [2, 3, 5, 7, 8])
def test_no_batch_has_a_single_row(rows: int) -> None:
    model = torch.nn.Sequential(torch.nn.Linear(1, 2), torch.nn.BatchNorm1d(2), torch.nn.Linear(2, 1))
    loop = training.RecipeLoop(Recipe(epochs=1, batch=2), torch.randn(rows, 1), torch.zeros(rows, 1), None)
    loop(model, list(model.parameters()), training.pull([], 0.0), 0, Deadline())


def test_a_training_repeats_bit_by_bit(seed: int) -> None:
    first, again = (subject(seed).train(PLAN.only(0, 2), None, Deadline()) for _ in range(2))
    assert np.array_equal(first.test_outputs, again.test_outputs)
    assert np.array_equal(first.features, again.features)


@pytest.mark.parametrize("window", [0, 1, 2])
def test_frozen_units_are_those_of_the_source_and_thawed_ones_are_not(window: int, seed: int) -> None:
    measured = subject(seed)
    source = measured.train(PLAN.only(0, 2), None, Deadline())
    found = measured.train(PLAN.fix(0, 2, window), source.weights, Deadline())
    for place, unit in enumerate(("conv1", "conv2")):
        same = [np.array_equal(found.weights[unit][name], array) for name, array in source.weights[unit].items()]
        assert all(same) if place < 2 - window else not any(same)
    assert not np.array_equal(found.weights["conv3"]["conv3.weight"], measured.start(0)["conv3"]["conv3.weight"])


def test_thawed_units_start_from_the_source_unless_told_otherwise(seed: int) -> None:
    measured = subject(seed, Recipe(epochs=1, batch=40, learning_rate=0.0))
    source = {unit: {n: a + 1 for n, a in held.items()} for unit, held in measured.start(0).items()}
    for thawed, expected in ((Thawed.CORRECTED, source), (Thawed.RANDOM, measured.start(0))):
        plan = Plan(3, (2,), (1,), (1e-3,), (0,), thawed)
        found = measured.train(plan.fix(0, 2, 1), source, Deadline())
        assert np.allclose(found.weights["conv2"]["conv2.weight"], expected["conv2"]["conv2.weight"])


def test_a_strong_pull_brings_weights_to_the_source(seed: int) -> None:
    measured = subject(seed, Recipe(epochs=60, batch=40, learning_rate=0.01, momentum=0.0, weight_decay=0.0))
    source = {unit: {n: a + 1 for n, a in held.items()} for unit, held in measured.start(0).items()}
    found = measured.train(PLAN.all(0, 2, 10.0), source, Deadline())
    for unit in ("conv1", "conv2"):
        gap = np.abs(found.weights[unit][f"{unit}.weight"] - source[unit][f"{unit}.weight"]).max()
        assert gap < 0.05
    # Neither biases nor units above are pulled.
    assert np.abs(found.weights["conv1"]["conv1.bias"] - source["conv1"]["conv1.bias"]).max() > 0.5
    assert np.abs(found.weights["conv3"]["conv3.weight"] - source["conv3"]["conv3.weight"]).max() > 0.5


def test_all_trainings_of_a_seed_start_alike(seed: int) -> None:
    measured = subject(seed, Recipe(epochs=1, batch=40, learning_rate=0.0))
    start = measured.start(4)
    for depth in (1, 2, 3):
        found = measured.train(PLAN.only(4, depth), None, Deadline())
        assert np.array_equal(found.weights["conv1"]["conv1.weight"], start["conv1"]["conv1.weight"])


def test_the_head_of_a_cut_model_is_no_copy_of_the_first_layer(seed: int) -> None:
    from unweave.explore.feature_correction.cuts import CutModel

    model = torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.ReLU(), torch.nn.Linear(6, 5), torch.nn.Linear(5, 4))
    x_train, _, x_test, _ = models.small_points(seed)
    labels = [np.arange(len(each)) % 4 for each in (x_train, x_test)]
    samples = check_samples((x_train, labels[0], x_test, labels[1]), has_validation=False, random_state=0)
    measured = subjects.torch_subject(model, samples, units=None, recipe=RECIPE)
    cut = measured._model(seed, 1)
    assert isinstance(cut, CutModel)
    first = cut.body.get_submodule("0").weight.detach().numpy().ravel()
    head = cut.head.weight.detach().numpy().ravel()
    assert abs(np.corrcoef(first, head)[0, 1]) < 0.9


def test_inputs_at_which_features_are_compared_are_prepared_but_not_attacked(seed: int) -> None:
    class Doubled:
        needs_labels = False

        def __call__(self, _: object, inputs: torch.Tensor, *__: object) -> torch.Tensor:
            return 2 * inputs

    class Attack(Doubled):
        needs_labels = True

    samples = check_samples(models.small_images(seed), has_validation=False, random_state=0)
    recipe = Recipe(epochs=1, batch=40, learning_rate=0.0)
    features = []
    for prepare in (None, Doubled(), Attack(), Compose((Doubled(), Attack()))):
        measured = subjects.torch_subject(
            linear_convolutions(), samples, units=None, recipe=recipe, prepare_test=prepare
        )
        features.append(measured.train(PLAN.only(0, 1), None, Deadline()).features)
    assert np.allclose(features[1], 2 * features[0])
    assert np.array_equal(features[2], features[0])
    assert np.array_equal(features[3], features[1])


def test_places_of_features_are_drawn_alike_for_every_model(seed: int) -> None:
    samples = check_samples(models.small_images(seed, test=600), has_validation=False, random_state=0)
    recipe = Recipe(epochs=1, batch=40, learning_rate=0.0)
    measured = subjects.torch_subject(linear_convolutions(), samples, units=None, recipe=recipe)
    found = measured.train(PLAN.only(0, 1), None, Deadline())
    again = measured.train(PLAN.fix(0, 1, 0), found.weights, Deadline())
    assert found.features.shape == (600 * 6, 4)
    assert np.allclose(found.features, again.features)


def linear_convolutions() -> "torch.nn.Sequential":
    return torch.nn.Sequential(
        torch.nn.Conv2d(1, 4, 3, padding=1, bias=False),
        torch.nn.Conv2d(4, 3, 3, bias=False),
        torch.nn.Conv2d(3, 3, 2, bias=False),
        torch.nn.Flatten(),
        torch.nn.Linear(3, 3),
    )


def test_a_model_may_cut_itself(seed: int) -> None:
    class SelfCutting(models.SmallConvolutions):
        def truncated(self, depth: int) -> torch.nn.Module:
            cut = models.SmallConvolutions()
            cut.conv3, cut.head = torch.nn.Identity(), torch.nn.Linear(5, 3)
            if depth == 1:
                cut.conv2, cut.norm2, cut.head = torch.nn.Identity(), torch.nn.Identity(), torch.nn.Linear(4, 3)
            return cut

    samples = check_samples(models.small_images(seed), has_validation=False, random_state=0)
    measured = subjects.torch_subject(lambda _: SelfCutting(), samples, units=None, recipe=RECIPE)
    found = measured.train(PLAN.only(0, 2), None, Deadline())
    assert set(found.weights) == {"conv1", "conv2"}
    assert found.features.shape[1] == 5
    assert found.test_outputs.shape == (20, 3)


def test_a_training_ends_between_epochs_when_time_is_over(seed: int) -> None:
    with pytest.raises(OutOfTime):
        subject(seed).train(PLAN.only(0, 1), None, Deadline.after(-1.0))
