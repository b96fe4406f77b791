"""`measure_feature_correction`: check, plan, train what is missing, summarise."""

import inspect
import math
from collections.abc import Sequence
from dataclasses import replace
from numbers import Integral, Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unweave.exceptions import InvalidInput
from unweave.explore.feature_correction.plan import Plan, Thawed
from unweave.explore.feature_correction.recipes import BatchTransform, Recipe
from unweave.explore.feature_correction.result import FeatureCorrection
from unweave.explore.feature_correction.runner import MeasurementRun, Progress
from unweave.explore.feature_correction.samples import Samples, check_samples
from unweave.explore.feature_correction.statistics import SEED_RULES
from unweave.explore.feature_correction.store import FolderStore, MemoryStore
from unweave.explore.feature_correction.subjects import Deadline, Subject
from unweave.explore.feature_correction.summary import Summary
from unweave.explore.feature_correction.torch_extra import need_torch
from unweave.jobs import Workers
from unweave.networks.quadratic.wiring import Wiring

if TYPE_CHECKING:
    from unweave.explore.feature_correction.training import TrainingLoop

LOOP_ARGUMENTS = ("model", "parameters", "penalty", "seed", "rows")
# Shares of a training at which a schedule is tried before it.
SHARES = (0.0, 0.25, 0.5, 0.75, 0.999)
# Raised when the same settings train otherwise than before, so that old run folders are not resumed.
TRAININGS_VERSION = 2


def measure_feature_correction(
    model: Any,
    data: Sequence[Any],
    *,
    units: Sequence[str] | None = None,
    depths: Sequence[int] | None = None,
    windows: Sequence[int] = (0, 1, 2, 4),
    seeds: int = 5,
    prox: Sequence[float] = (5e-4, 7e-4),
    recipe: Recipe | None = None,
    prepare_train: BatchTransform | None = None,
    prepare_test: BatchTransform | None = None,
    train: "TrainingLoop | None" = None,
    thawed: str = "corrected",
    has_layerwise: bool = True,
    tolerance: float = 2e-3,
    seconds: float | None = None,
    folder: str | Path | None = None,
    device: Any = None,
    workers: Workers = None,
    on_progress: Progress | None = None,
    random_state: int = 0,
) -> FeatureCorrection:
    """Measure how much the features of lower units are corrected when the units above them train.

    For every depth and seed it trains the lower units alone, unit by unit, the whole model with them frozen or thawed
    in part, and the whole model with them pulled; see `unweave.explore.feature_correction.plan`.

    Args:
        model: a torch module, copies of which get new random weights by `reset_parameters` for every seed; or a
            function from a seed to a torch module; or the `Wiring` of a quadratic network, whose levels are the units.
        data: ``(x_train, y_train, x_test, y_test)``, or a dataset or loader of `torch.utils.data` to train on and one
            to test on, ``(train, test)``, which are read batch by batch. Integer labels are classes, scored by
            accuracy; floats are predicted, scored by the share of explained variance.
        units: names of the submodules that are the units, lowest first; found if omitted (the attribute `units` of
            the model, or its children with weight matrices but the last).
        depths: to look at, counted in units from 1; all if omitted.
        windows: how many of the lower units are thawed; none leaves these trainings out.
        seeds: repetitions, with seeds from `random_state` on. Nothing is concluded from fewer than 5.
        prox: strengths of the pull towards units that were trained alone. Of several the best on validation rows is
            taken, which are then a fifth of the training rows, kept out of all trainings. None leaves these trainings
            out.
        recipe: of every training, the default `Recipe` if omitted; a loader's own batch size counts more than that of
            the recipe. For a quadratic network only `epochs` matters, as the largest number of steps.
        prepare_train: what is done to training batches; prepare_test: to inputs that are scored.
        train: your own training loop, ``train(model, parameters, penalty, seed, rows)``; `rows` are the numbers of the
            training rows that it may train on: the others choose the pull.
        thawed: whether thawed units start "corrected", from training them alone, or "random".
        has_layerwise: whether units are trained one after the other, too.
        tolerance: differences of scores that do not matter, by default 0.2 points, which matter to nobody; chosen.
        seconds: stop after this time; a training that does not end before it does not count.
        folder: where trainings are kept, so that the same call goes on after it was stopped, also within a training,
            and also with more seeds.
        device: where a torch model trains, such as "cuda" or "mps"; where it is, if omitted.
        workers: where trainings run, as many at once as it has: `unweave.jobs.LocalProcesses`, an executor of
            `concurrent.futures`, or a `distributed.Client`; one after the other in this process if omitted. They need
            to see `folder`. Each training computes with one thread.
        on_progress: called with a `MeasurementProgress`: what is trained, how many trainings are done and how many
            there are, and about how long the others take.
        random_state: first seed.

    Returns:
        Scores, correlations and verdicts per depth; what is missing is named.

    Raises:
        InvalidInput: if something does not fit, before any training; or if torch is not installed.
        WorkersFailed: if workers die, and nobody starts them again.
    """
    recipe = Recipe() if recipe is None else recipe
    _check_recipe(recipe)
    _check_numbers(
        windows=windows, depths=depths, seeds=seeds, prox=prox, seconds=seconds, tolerance=tolerance,
        random_state=random_state,
    )  # fmt: skip
    samples = check_samples(data, has_validation=len(prox) > 1, random_state=random_state)
    recipe = recipe if samples.batch is None else replace(recipe, batch=samples.batch)
    _check_recipe(recipe)
    own = {"prepare_train": prepare_train, "prepare_test": prepare_test, "loop": train, "device": device}
    subject = _subject(model, samples, units, recipe, own)
    plan = _plan(len(subject.units), depths, windows, prox, range(random_state, random_state + seeds), thawed)
    plan = replace(plan, has_layerwise=has_layerwise)
    configuration = subject.configuration() | {
        "trainings_version": TRAININGS_VERSION,
        "samples": samples.digest,
        "validation_rows": len(samples.validation_labels),
        "random_state": random_state,
        "thawed": plan.thawed.value,
    }
    store = MemoryStore() if folder is None else FolderStore.open(folder, configuration)
    tell = (lambda _: None) if on_progress is None else on_progress
    MeasurementRun(subject, samples, store, Deadline.after(seconds), tell, workers)(plan.trainings())
    return Summary(plan, subject, samples, store, tolerance=tolerance).result()


def _subject(model: Any, samples: Samples, units: Sequence[str] | None, recipe: Recipe, own: dict[str, Any]) -> Subject:
    if isinstance(model, Wiring):
        from unweave.explore.feature_correction.quadratic_subject import QuadraticSubject

        given = [name for name, value in ({"units": units} | own).items() if value is not None]
        if given:
            raise InvalidInput(f"a quadratic network trains in its own way: leave {', '.join(given)} out.")
        return QuadraticSubject(model, samples, recipe.epochs)
    _check_loop(own["loop"])
    if not callable(model):
        raise InvalidInput(
            f"model needs to be a torch module, a function from a seed to one, or a Wiring, got {type(model).__name__}."
        )
    need_torch()
    from unweave.explore.feature_correction.torch_subject import torch_subject

    return torch_subject(model, samples, units=units, recipe=recipe, **own)


def _check_loop(loop: Any) -> None:
    if loop is None:
        return
    try:
        inspect.signature(loop).bind(*LOOP_ARGUMENTS)
    except (TypeError, ValueError) as error:
        raise InvalidInput(
            f"train needs to be a function of ({', '.join(LOOP_ARGUMENTS)}), rows being the numbers of training "
            f"rows that are not held out: {error}."
        ) from error


def _check_numbers(
    *,
    windows: Sequence[int],
    depths: Sequence[int] | None,
    seeds: int,
    prox: Sequence[float],
    seconds: float | None,
    tolerance: float,
    random_state: int,
) -> None:
    if not _is_whole(seeds) or seeds < 1:
        raise InvalidInput(f"at least 1 seed is needed, and {SEED_RULES.least} for a conclusion, got {seeds}.")
    if not _is_whole(random_state) or random_state < 0:
        raise InvalidInput(f"random_state needs to be a whole number from 0 on, got {random_state}.")
    if not all(map(_is_whole, windows)) or min(windows, default=0) < 0 or len(set(windows)) < len(windows):
        raise InvalidInput(f"windows need to be different whole numbers from 0 on, got {tuple(windows)}.")
    if not all(map(_is_whole, depths or ())):
        raise InvalidInput(f"depths need to be whole numbers, got {depths}.")
    if not all(_is_finite(each) and each >= 0 for each in prox) or len(set(prox)) < len(prox):
        raise InvalidInput(f"prox needs different finite strengths of at least 0, got {tuple(prox)}.")
    if seconds is not None and not seconds > 0:
        raise InvalidInput(f"seconds needs to be above 0, got {seconds}: leave it out for no limit.")
    if not _is_finite(tolerance) or tolerance < 0:
        raise InvalidInput(f"tolerance needs to be a finite number of at least 0, got {tolerance}.")


def _check_recipe(recipe: Recipe) -> None:
    if not (_is_whole(recipe.epochs) and _is_whole(recipe.batch)) or recipe.epochs < 1 or recipe.batch < 2:
        raise InvalidInput(f"a recipe needs at least 1 epoch and batches of 2 rows, got {recipe}.")
    rates = (recipe.learning_rate, recipe.momentum, recipe.weight_decay, recipe.decay)
    if not all(_is_finite(rate) and rate >= 0 for rate in rates):
        raise InvalidInput(
            f"a recipe needs finite numbers of at least 0 as learning rate, momentum and decays, got {recipe}."
        )
    if recipe.schedule is not None:
        _check_schedule(recipe)


def _check_schedule(recipe: Recipe) -> None:
    if recipe.milestones:
        raise InvalidInput("a recipe needs milestones or a schedule, and not both: leave one of them out.")
    try:
        rates = [recipe.learning_rate_at(recipe.epochs * share) for share in SHARES]
    # Whatever somebody's function raises.
    except Exception as error:
        raise InvalidInput(
            f"the schedule of a recipe needs to be a function of the share of the training that is over, and raised "
            f"{type(error).__name__}: {error}."
        ) from error
    if not all(_is_finite(rate) and rate >= 0 for rate in rates):
        raise InvalidInput(f"the schedule of a recipe needs to give finite factors of at least 0, got rates {rates}.")


def _is_whole(number: object) -> bool:
    return isinstance(number, Integral) and not isinstance(number, bool)


def _is_finite(number: object) -> bool:
    return isinstance(number, Real) and math.isfinite(number)


def _plan(
    units: int,
    depths: Sequence[int] | None,
    windows: Sequence[int],
    prox: Sequence[float],
    seeds: Sequence[int],
    thawed: str,
) -> Plan:
    wanted = tuple(range(1, units + 1)) if depths is None else tuple(sorted(set(depths)))
    if not wanted or wanted[0] < 1 or wanted[-1] > units:
        raise InvalidInput(f"depths need to be numbers from 1 to {units}, the number of units, got {wanted}.")
    if thawed not in tuple(Thawed):
        raise InvalidInput(f"thawed needs to be one of {[each.value for each in Thawed]}, got {thawed!r}.")
    return Plan(units, wanted, tuple(sorted(windows)), tuple(prox), tuple(seeds), Thawed(thawed))
