"""A torch model as a subject of measurement; needs torch (``pip install 'unweave[torch]'``)."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, cast

import numpy as np
import torch
from torch import nn

from unweave.exceptions import InvalidInput
from unweave.explore.feature_correction import units as torch_units
from unweave.explore.feature_correction.builders import Builder, builder_of
from unweave.explore.feature_correction.channels import by_places
from unweave.explore.feature_correction.checkpoints import CHECKPOINT_RULES
from unweave.explore.feature_correction.cuts import (
    CutModel,
    body_of,
    cuts_itself,
    in_evaluation,
    reached,
    stop_after,
    stop_before,
)
from unweave.explore.feature_correction.devices import checked_device, drawing_apart
from unweave.explore.feature_correction.feeds import Feed, feed_of, first_inputs
from unweave.explore.feature_correction.fingerprints import described, fingerprint
from unweave.explore.feature_correction.plan import Training
from unweave.explore.feature_correction.recipes import BatchTransform, Recipe, without_attackers
from unweave.explore.feature_correction.samples import Rows, Samples
from unweave.explore.feature_correction.subjects import Deadline, Halfway, TrainedModel, Weights
from unweave.explore.feature_correction.training import (
    Penalty,
    RecipeLoop,
    Stream,
    TrainingLoop,
    answers,
    check_optimiser,
    prepared,
    pull,
    seed_of,
)
from unweave.explore.feature_correction.trust import late_progress
from unweave.explore.feature_correction.units import UnitLayout

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
        takes_floats: whether inputs are numbers in the precision of the model; otherwise they are whole numbers, such
            as those of tokens.
    """

    build: Builder
    layout: UnitLayout
    samples: Samples
    recipe: Recipe
    prepare_train: BatchTransform | None = None
    prepare_test: BatchTransform | None = None
    loop: TrainingLoop | None = None
    takes_floats: bool = True

    def __getstate__(self) -> dict[str, Any]:
        """Without what can be computed again."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

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
            for answer in _trial_answers(built, self._example):
                digest.update(answer.tobytes())
        functions = {"prepare_train": self.prepare_train, "prepare_test": self.prepare_test, "train": self.loop}
        return {
            "model": f"{type(model).__name__} {digest.hexdigest()[:16]}",
            "precision": f"{self._like.dtype} on {self._like.device.type}",
            "units": list(self.units),
            "recipe": _told_recipe(self.recipe),
            "torch": torch.__version__,
            **{name: fingerprint(function) for name, function in functions.items()},
        }

    def start(self, seed: int) -> Weights:
        """The random weights that a seed starts from."""
        return torch_units.read_units(self.build(seed), self.layout, len(self.units))

    def train(
        self, training: Training, source: Weights | None, deadline: Deadline, halfway: Halfway | None = None
    ) -> TrainedModel:
        """Run one training; somebody's own loop begins again if it was stopped."""
        with drawing_apart(self._like.device):
            model = self._model(training.start_seed, training.length)
            penalty = self._set_up(model, training, source)
            parameters = [weight for weight in model.parameters() if weight.requires_grad]
            if self.loop is None:
                inputs = self._feed(self.samples.train_inputs)
                recipe_loop = RecipeLoop(self.recipe, inputs, self._labels, self.prepare_train, CHECKPOINT_RULES)
                losses = recipe_loop(model, parameters, penalty, training.start_seed, deadline, halfway)
                return replace(self._left_by(model, training), late_progress=late_progress(losses, rates=self._rates))
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
            return CutModel(whole, self.units[length], self._example, self.samples.outputs, channels)
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
        test = answers(model, self._feed(samples.test_inputs), self._test_labels, self.prepare_test, seed)
        validation = np.zeros((0, samples.outputs), dtype=test.dtype)
        if len(samples.validation_inputs):
            labels = _labels(samples.validation_labels, self._like)
            validation = answers(model, self._feed(samples.validation_inputs), labels, self.prepare_test, seed)
        return TrainedModel(weights, test, validation, self._features(model, training))

    def _features(self, model: nn.Module, training: Training) -> np.ndarray:
        """What leaves the unit of a training's depth at held-out inputs, one row per place.

        Inputs are prepared as those that are scored, but not by an attacker: it moves them differently for every model,
        so that features of two models could not be compared.
        """
        probes, rng, parts = self.samples.probes, np.random.default_rng(0), []
        prepare = without_attackers(self.prepare_test)
        batches = prepared(model, self._feed(probes), self._test_labels[: len(probes)], prepare, training.start_seed)
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
            body = body_of(model)
            if self._is_self_cutting:
                handle = body.get_submodule(self.units[depth - 1]).register_forward_hook(stop_after)
            else:
                handle = stop_before(body, self.units[depth])
            try:
                return reached(body, inputs)
            finally:
                handle.remove()

    @cached_property
    def _is_self_cutting(self) -> bool:
        return cuts_itself(self.build(0))

    @cached_property
    def _like(self) -> torch.Tensor:
        """A parameter, which tells on which device and in which precision the model works."""
        return next(self.build(0).parameters())

    @property
    def _rates(self) -> list[float]:
        """Learning rates of a schedule, of every epoch; milestones are set by hand, where progress slows."""
        if self.recipe.schedule is None:
            return []
        return [self.recipe.learning_rate_at(epoch + 0.5) for epoch in range(self.recipe.epochs)]

    def _feed(self, inputs: np.ndarray | Rows) -> Feed:
        return feed_of(inputs, self._taken)

    @cached_property
    def _taken(self) -> torch.Tensor:
        """A tensor of the kind of number that the model takes, on its device."""
        return self._like if self.takes_floats else torch.zeros(0, dtype=torch.long, device=self._like.device)

    @cached_property
    def _example(self) -> torch.Tensor:
        return first_inputs(self.samples.train_inputs, EXAMPLE_ROWS, self._taken)

    @cached_property
    def _labels(self) -> torch.Tensor:
        return _labels(self.samples.train_labels, self._like)

    @cached_property
    def _test_labels(self) -> torch.Tensor:
        return _labels(self.samples.test_labels, self._like)


def torch_subject(
    model: Any,
    samples: Samples,
    *,
    units: Sequence[str] | None,
    recipe: Recipe,
    prepare_train: BatchTransform | None = None,
    prepare_test: BatchTransform | None = None,
    loop: TrainingLoop | None = None,
    device: Any = None,
) -> TorchSubject:
    """Check a torch model against samples, before anything is trained.

    Args:
        model: a module, whose copies get new random weights by `reset_parameters`, or a function from a seed to a
            module.
        device: where it trains; where it is, if omitted.

    Raises:
        InvalidInput: if it can't be built anew, run or cut, or its answers do not fit the labels.
    """
    check_optimiser(recipe)
    build = builder_of(model, None if device is None else checked_device(device))
    first = build(0)
    like = next(first.parameters(), None)
    if like is None:
        raise InvalidInput("the model has no parameters: there is nothing to train.")
    if like.dtype not in PRECISIONS:
        raise InvalidInput(f"the model needs parameters of 32 or 64 bits, got {like.dtype}: call model.float().")
    example = _example(first, samples, like)
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
    subject = TorchSubject(
        build, layout, samples, recipe, prepare_train, prepare_test, loop, takes_floats=example.is_floating_point()
    )
    subject.check_cuts(example)
    return subject


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


def _example(model: nn.Module, samples: Samples, like: torch.Tensor) -> torch.Tensor:
    """A few inputs, as numbers of the model's precision, or as whole numbers where it can run with these alone."""
    floats = first_inputs(samples.train_inputs, EXAMPLE_ROWS, like)
    whole = first_inputs(samples.train_inputs, EXAMPLE_ROWS, torch.zeros(0, dtype=torch.long, device=like.device))
    if not torch.equal(whole.to(like), floats):
        return floats
    runs = [_can_run(model, each) for each in (floats, whole)]
    return whole if runs == [False, True] else floats


def _can_run(model: nn.Module, example: torch.Tensor) -> bool:
    try:
        with in_evaluation(model), torch.no_grad():
            model(example)
    # Whatever a model raises, it says more when it is looked at.
    except Exception:
        return False
    return True


def _told_recipe(recipe: Recipe) -> dict[str, Any]:
    """A recipe as JSON can hold it; what is left out is not named, so that run folders of before are still known."""
    makers = {"optimiser": recipe.optimiser, "schedule": recipe.schedule}
    plain = {each.name: getattr(recipe, each.name) for each in fields(recipe) if each.name not in makers}
    return plain | {name: fingerprint(maker) for name, maker in makers.items() if maker is not None}


def _labels(labels: np.ndarray, like: torch.Tensor) -> torch.Tensor:
    tensor = torch.as_tensor(labels)
    return tensor.to(like) if tensor.is_floating_point() else tensor.to(like.device, torch.long)
