"""A torch model as a subject of measurement; needs torch (``pip install 'unweave[torch]'``)."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any, cast

import numpy as np
import torch
from torch import nn

from unweave.exceptions import InvalidInput
from unweave.explore.feature_correction import units as torch_units
from unweave.explore.feature_correction.channels import by_places
from unweave.explore.feature_correction.fingerprints import described, fingerprint
from unweave.explore.feature_correction.plan import Training
from unweave.explore.feature_correction.recipes import BatchTransform, Recipe, without_attackers
from unweave.explore.feature_correction.samples import Samples
from unweave.explore.feature_correction.subjects import Deadline, TrainedModel, Weights
from unweave.explore.feature_correction.training import (
    Penalty,
    RecipeLoop,
    Stream,
    TrainingLoop,
    answers,
    prepared,
    pull,
    seed_of,
)
from unweave.explore.feature_correction.trust import late_progress
from unweave.explore.feature_correction.units import CutModel, UnitLayout

EXAMPLE_ROWS = 2
# Half precisions either have no arrays, or lose what is compared.
PRECISIONS = (torch.float32, torch.float64)
# Places of feature maps that are compared at most, drawn once: neighbours tell nearly the same.
MOST_PLACES = 4_096


@dataclass(frozen=True, eq=False)
class TorchSubject:
    """A torch model, how it is built anew for a seed, and how it is trained.

    Args:
        build: from a seed to a model with random weights.
        layout: units, and what belongs to each.
        samples: checked ones.
        recipe: of every training.
        prepare_train: what is done to training batches.
        prepare_test: what is done to inputs that are scored.
        loop: somebody's own training loop; then the recipe does not matter.
    """

    build: Callable[[int], nn.Module]
    layout: UnitLayout
    samples: Samples
    recipe: Recipe
    prepare_train: BatchTransform | None = None
    prepare_test: BatchTransform | None = None
    loop: TrainingLoop | None = None

    @property
    def units(self) -> tuple[str, ...]:
        """Names of the units, lowest first."""
        return self.layout.names

    @property
    def filters(self) -> dict[str, tuple[str, ...]]:
        """Per unit the names of its weights of neurons."""
        return self.layout.filters

    def configuration(self) -> dict[str, Any]:
        """All that decides how a training ends, as JSON can hold it: what models hold and answer, what functions do."""
        model, digest = self.build(0), hashlib.sha256()
        # Of two seeds, so that a function of the seed is told by more than one of its models.
        for built in (model, self.build(1)):
            digest.update(described(built).encode())
            for name, value in sorted(built.state_dict().items()):
                digest.update(name.encode() + value.detach().cpu().numpy().tobytes())
            for answer in _trial_answers(built, self._inputs[:EXAMPLE_ROWS]):
                digest.update(answer.tobytes())
        functions = {"prepare_train": self.prepare_train, "prepare_test": self.prepare_test, "train": self.loop}
        return {
            "model": f"{type(model).__name__} {digest.hexdigest()[:16]}",
            "precision": f"{self._like.dtype} on {self._like.device.type}",
            "units": list(self.units),
            "recipe": asdict(self.recipe),
            "torch": torch.__version__,
            **{name: fingerprint(function) for name, function in functions.items()},
        }

    def start(self, seed: int) -> Weights:
        """The random weights that a seed starts from."""
        return torch_units.read_units(self.build(seed), self.layout, len(self.units))

    def train(self, training: Training, source: Weights | None, deadline: Deadline) -> TrainedModel:
        """Run one training."""
        with torch.random.fork_rng(devices=[]):
            model = self._model(training.start_seed, training.length)
            penalty = self._set_up(model, training, source)
            parameters = [weight for weight in model.parameters() if weight.requires_grad]
            if self.loop is None:
                recipe_loop = RecipeLoop(self.recipe, self._inputs, self._labels, self.prepare_train)
                losses = recipe_loop(model, parameters, penalty, training.start_seed, deadline)
                return replace(self._left_by(model, training), late_progress=late_progress(losses))
            self.loop(model, parameters, penalty, training.start_seed, self.samples.train_rows.copy())
            return self._left_by(model, training)

    def _model(self, seed: int, length: int) -> nn.Module:
        """The model of a seed, cut off above `length` units; its first units start as those of the whole model."""
        whole = self.build(seed)
        # The numbers that drew the weights must not draw the head again.
        torch.manual_seed(seed_of(Stream.HEAD, seed))
        if length == len(self.units):
            return whole
        if not self._is_self_cutting:
            channels = self.layout.channels[self.units[length - 1]]
            return CutModel(whole, self.units[length], self._inputs[:EXAMPLE_ROWS], self.samples.outputs, channels)
        start = torch_units.read_units(whole, self.layout, length)
        cut = cast(Any, whole).truncated(length)
        torch_units.write_units(cut, start, self.units[:length])
        return cut

    def check_cuts(self, example: torch.Tensor) -> None:
        """Cut the model at every depth and run it, before anything trains.

        Raises:
            InvalidInput: if a cut is not possible, or answers of a cut model do not fit the labels.
        """
        for depth in range(1, len(self.units)):
            with torch.random.fork_rng(devices=[]):
                cut = self._model(0, depth)
            with torch.no_grad():
                answer = cut.eval()(example)
            if answer.shape != (len(example), self.samples.outputs):
                raise InvalidInput(
                    f"a model cut off above {depth} units needs {self.samples.outputs} outputs, got "
                    f"{tuple(answer.shape)}: correct its `truncated`."
                )
            by_places(self._reached(cut, depth, example), self.layout.channels[self.units[depth - 1]])

    def _set_up(self, model: nn.Module, training: Training, source: Weights | None) -> Penalty:
        if source is None:
            return pull([], 0.0)
        torch_units.write_units(model, source, self.units[: training.copied])
        torch_units.freeze(model, self.layout, training.frozen)
        if not training.is_pulled:
            return pull([], 0.0)
        weights = torch_units.pulled_weights(model, self.layout, training.depth)
        return pull(
            [(weight, torch.tensor(source[unit][path]).to(weight)) for unit, path, weight in weights], training.prox
        )

    def _left_by(self, model: nn.Module, training: Training) -> TrainedModel:
        weights = torch_units.read_units(model, self.layout, training.length)
        samples, seed = self.samples, training.start_seed
        test = answers(model, self._tensor(samples.test_inputs), self._test_labels, self.prepare_test, seed)
        validation = np.zeros((0, samples.outputs), dtype=test.dtype)
        if len(samples.validation_inputs):
            inputs, labels = self._tensor(samples.validation_inputs), _labels(samples.validation_labels, self._inputs)
            validation = answers(model, inputs, labels, self.prepare_test, seed)
        return TrainedModel(weights, test, validation, self._features(model, training))

    def _features(self, model: nn.Module, training: Training) -> np.ndarray:
        """What leaves the unit of a training's depth at held-out inputs, one row per place.

        Inputs are prepared as those that are scored, but not by an attacker: it moves them differently for every model,
        so that features of two models could not be compared.
        """
        probes, rng, parts = self.samples.probes, np.random.default_rng(0), []
        prepare = without_attackers(self.prepare_test)
        batches = prepared(model, self._tensor(probes), self._test_labels[: len(probes)], prepare, training.start_seed)
        for batch in batches:
            value = self._reached(model, training.depth, batch)
            rows = by_places(value, self.layout.channels[self.units[training.depth - 1]]).cpu().numpy()
            parts.append(_some_places(rows, max(1, MOST_PLACES // len(probes)), rng))
        return np.ascontiguousarray(np.concatenate(parts))

    def _reached(self, model: nn.Module, depth: int, inputs: torch.Tensor) -> torch.Tensor:
        """What leaves a unit; the output itself above the last one."""
        model.eval()
        with torch.no_grad():
            if depth == len(self.units):
                return model(inputs)
            body = torch_units.body_of(model)
            if self._is_self_cutting:
                handle = body.get_submodule(self.units[depth - 1]).register_forward_hook(torch_units.stop_after)
            else:
                handle = torch_units.stop_before(body, self.units[depth])
            try:
                return torch_units.reached(body, inputs)
            finally:
                handle.remove()

    @cached_property
    def _is_self_cutting(self) -> bool:
        return _cuts_itself(self.build(0))

    @cached_property
    def _like(self) -> torch.Tensor:
        """A parameter, which tells on which device and in which precision the model works."""
        return next(self.build(0).parameters())

    def _tensor(self, inputs: np.ndarray) -> torch.Tensor:
        return torch.as_tensor(inputs).to(self._like.device, self._like.dtype)

    @cached_property
    def _inputs(self) -> torch.Tensor:
        return self._tensor(self.samples.train_inputs)

    @cached_property
    def _labels(self) -> torch.Tensor:
        return _labels(self.samples.train_labels, self._inputs)

    @cached_property
    def _test_labels(self) -> torch.Tensor:
        return _labels(self.samples.test_labels, self._inputs)


def torch_subject(
    model: Any,
    samples: Samples,
    *,
    units: Sequence[str] | None,
    recipe: Recipe,
    prepare_train: BatchTransform | None = None,
    prepare_test: BatchTransform | None = None,
    loop: TrainingLoop | None = None,
) -> TorchSubject:
    """Check a torch model against samples, before anything is trained.

    Args:
        model: a module, whose copies get new random weights by `reset_parameters`, or a function from a seed to a
            module.

    Raises:
        InvalidInput: if it can't be built anew, run or cut, or its answers do not fit the labels.
    """
    build = _builder(model)
    first = build(0)
    if not isinstance(first, nn.Module):
        raise InvalidInput(f"the function that builds the model needs to return a torch module, got {type(first)}.")
    like = next(first.parameters(), None)
    if like is None:
        raise InvalidInput("the model has no parameters: there is nothing to train.")
    if like.dtype not in PRECISIONS:
        raise InvalidInput(f"the model needs parameters of 32 or 64 bits, got {like.dtype}: call model.float().")
    example = torch.as_tensor(samples.train_inputs[:EXAMPLE_ROWS]).to(like.device, like.dtype)
    names = torch_units.find_units(first) if units is None else tuple(units)
    if not names:
        raise InvalidInput("at least one unit is needed, got none.")
    layout = torch_units.lay_out(first, names, example)
    with torch.no_grad():
        answer = first.eval()(example)
    if not isinstance(answer, torch.Tensor) or answer.shape != (EXAMPLE_ROWS, samples.outputs):
        kind = f"{samples.classes} classes" if samples.is_classification else f"{samples.outputs} labels per row"
        came = tuple(answer.shape) if isinstance(answer, torch.Tensor) else type(answer).__name__
        raise InvalidInput(f"the model needs one output column for each of {kind}, got {came} for 2 rows.")
    _check_apart(first, build(1))
    subject = TorchSubject(build, layout, samples, recipe, prepare_train, prepare_test, loop)
    subject.check_cuts(example)
    return subject


def _check_apart(first: nn.Module, second: nn.Module) -> None:
    shared = {id(weight) for weight in first.parameters()} & {id(weight) for weight in second.parameters()}
    if first is second or shared:
        raise InvalidInput(
            "the function that builds the model returns the same weights for two seeds: build a new module each time."
        )


def _builder(model: Any) -> Callable[[int], nn.Module]:
    if isinstance(model, nn.Module):
        return lambda seed: torch_units.rebuilt(model, seed)
    if isinstance(model, type):
        raise InvalidInput(f"{model.__name__} is a class: give an instance, or a function from a seed to one.")

    # What somebody's function returns is checked by the caller, who can say what is wrong.
    def build(seed: int) -> Any:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            try:
                return model(seed)
            except Exception as error:
                raise InvalidInput(
                    f"the function that builds the model needs to take a seed and return a torch module, but "
                    f"with the seed {seed} it raised {type(error).__name__}: {error}."
                ) from error

    return build


def _some_places(rows: np.ndarray, places: int, rng: np.random.Generator) -> np.ndarray:
    """So many places of each image, drawn by its turn alone: those of two models are the same."""
    images, there, _ = rows.shape
    if there > places:
        drawn = rng.permuted(np.tile(np.arange(there), (images, 1)), axis=1)[:, :places]
        rows = np.take_along_axis(rows, np.sort(drawn, axis=1)[:, :, None], axis=1)
    return rows.reshape(-1, rows.shape[2])


def _trial_answers(model: nn.Module, inputs: torch.Tensor) -> list[np.ndarray]:
    """What a model answers in evaluation and in training, which its text and its weights do not tell."""
    answered = []
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        for is_training in (False, True):
            torch.manual_seed(0)
            answered.append(model.train(is_training)(inputs).cpu().numpy())
    return answered


def _cuts_itself(model: nn.Module) -> bool:
    return callable(getattr(model, "truncated", None))


def _labels(labels: np.ndarray, like: torch.Tensor) -> torch.Tensor:
    tensor = torch.as_tensor(labels)
    return tensor.to(like) if tensor.is_floating_point() else tensor.to(like.device, torch.long)
