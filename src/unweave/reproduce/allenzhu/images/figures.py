"""Runs the experiments of the figures of [allenzhu] on a user's images, or as miniatures on any; needs torch."""

from collections.abc import Callable
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

import numpy as np
import torch
from torch import nn

from unweave.exceptions import InvalidInput
from unweave.explore.feature_correction.entry import measure_feature_correction
from unweave.explore.feature_correction.image_data import ImageData
from unweave.explore.feature_correction.result import FeatureCorrection
from unweave.explore.feature_correction.samples import VALIDATION_SHARE
from unweave.explore.feature_correction.subjects import Deadline, OutOfTime
from unweave.explore.feature_correction.training import pull
from unweave.reproduce.allenzhu.images.architectures import LinearlyReadAlexNet, WideResidualNetwork
from unweave.reproduce.allenzhu.images.configurations import (
    ATTACK_STEPS,
    Attacker,
    FigureConfiguration,
    Measured,
    NetworkPlan,
)
from unweave.reproduce.allenzhu.images.figure_results import (
    CorrectedFeatures,
    CorrectedUnit,
    CorrectionTables,
    FeatureImages,
    FigureResult,
    FigureRun,
    FilterPhases,
    MethodRow,
    MethodTable,
    UnitFeatures,
    mean_cosine,
)
from unweave.reproduce.allenzhu.images.image_sets import random_subset
from unweave.reproduce.allenzhu.images.image_training import ImageTraining, Progress
from unweave.reproduce.allenzhu.images.phases import run_phases
from unweave.reproduce.allenzhu.images.published import (
    CORRELATION_ALL,
    CORRELATION_INIT,
    ENSEMBLE,
    SINGLE,
    TRAIN_ALL,
    TRAIN_ONLY,
    fixed,
)
from unweave.reproduce.allenzhu.images.visualisation import visualise_features

TableRows = dict[str, dict[int | str, float]]
# Random start images are the same for all networks, so that features before and after can be compared.
ASCENT_SEED = 0
# Too short for any training.
SECONDS_TOO_FEW = 1e-9
UNFINISHED_NOTE = "The time was over before this was complete: run it again with the same folder to go on."
MINIATURE_NOTE = (
    "A miniature: networks, trainings or images are smaller than published, so that nothing here confirms or "
    "contradicts its numbers."
)


def run_figure(
    configuration: FigureConfiguration,
    images: ImageData,
    folder: Path,
    *,
    seed: int = 0,
    max_seconds: float | None = None,
    on_progress: Progress | None = None,
) -> FigureRun:
    """Run the experiment of a figure; the folder keeps what is trained, so that the same call goes on after a stop.

    Args:
        configuration: of `figure_configuration`, perhaps scaled.
        images: of training and test.
        folder: for weights and results.
        seed: of the first repetition.
        max_seconds: stop after this time; what is not complete then says so.
        on_progress: called with what is trained, and how many trainings are done.

    Returns:
        The result, labelled a miniature if anything was scaled. It is compared with published numbers only if
        nothing was, and the images are the published ones.

    Raises:
        InvalidInput: if images, folder or time do not fit.
    """
    if max_seconds is not None and not max_seconds >= 0:
        raise InvalidInput(f"max_seconds needs to be a number from 0 on, got {max_seconds}: leave it out for no limit.")
    if configuration.images is not None:
        images = random_subset(images, configuration.images, seed=0)
    training = ImageTraining(
        configuration, images, Path(folder), Deadline.after(max_seconds), on_progress or (lambda *_: None)
    )
    try:
        result = RUNNERS[configuration.measured](training, seed)
    except OutOfTime:
        notes = (*_notes(configuration), UNFINISHED_NOTE)
        return FigureRun(configuration.name, configuration.label, images.source, None, notes=notes)
    return _labelled(training, result)


def _labelled(training: ImageTraining, result: FigureResult) -> FigureRun:
    configuration, images = training.configuration, training.images
    run = FigureRun(configuration.name, configuration.label, images.source, result, notes=_notes(configuration))
    if not run.is_complete:
        return replace(run, notes=(*run.notes, UNFINISHED_NOTE))
    if configuration.is_miniature:
        return run
    try:
        differences = configuration.compared(*_rows_as_published(result), images)
    except InvalidInput as error:
        return replace(run, notes=(*run.notes, f"Not compared with published numbers: {error}"))
    return replace(run, differences=tuple(asdict(each) for each in differences))


def _notes(configuration: FigureConfiguration) -> tuple[str, ...]:
    notes = [MINIATURE_NOTE] if configuration.is_miniature else []
    if configuration.attacker is not Attacker.NOBODY:
        steps = ATTACK_STEPS[configuration.attacker][1]
        notes.append(f"Accuracies are those under attack: {configuration.attacker}, {steps} steps.")
    if configuration.measured is Measured.METHODS:
        notes.append("The best of several models was chosen on test images, as in [allenzhu]: it is biased upwards.")
    if configuration.measured is Measured.CORRECTION and len(configuration.prox) > 1:
        notes.append(
            f"All trainings had {100 * (1 - VALIDATION_SHARE):.0f} % of the training images: the others choose the "
            "strength of the pull. [allenzhu] does not tell of images kept out, so that its accuracies may be higher "
            "for this alone."
        )
    if configuration.measured is Measured.LAYERWISE:
        notes.append(
            f"Every phase has the weight decay that was better on {100 * VALIDATION_SHARE:.0f} % of the training "
            "images, which no phase trains on. [allenzhu] does not tell of images kept out: it may have chosen by test "
            "images."
        )
    if configuration.tangent:
        notes.append(
            "The tangent kernel is that of a random network whose norms keep the statistics of the training images."
        )
    return tuple(notes)


def _rows_as_published(result: FigureResult) -> tuple[TableRows, TableRows]:
    """Measured numbers of single models and of ensembles, under the names that the published tables have."""
    if isinstance(result, MethodTable):
        return {row.network: {SINGLE: 100 * row.best, ENSEMBLE: 100 * row.ensemble} for row in result.rows}, {}
    if isinstance(result, CorrectionTables):
        if len(result.tables) != 1:
            # The published tables by depth are of one network each.
            return {}, {}
        (table,) = result.tables.values()
        singles = _correction_rows(table)
        ensemble = {2 * row.depth - 1: 100 * row.ensemble for row in table.depths if row.ensemble is not None}
        correlations = {name: row for name, row in singles.items() if name in (CORRELATION_INIT, CORRELATION_ALL)}
        return singles, {TRAIN_ONLY: {**ensemble}, **correlations}
    return {}, {}


def _correction_rows(table: FeatureCorrection) -> TableRows:
    rows: TableRows = {}
    for depth in table.depths:
        convolutions = 2 * depth.depth - 1
        accuracies = {TRAIN_ONLY: depth.train_only, TRAIN_ALL: depth.train_all}
        accuracies |= {fixed(window): scores for window, scores in depth.fixed.items()}
        correlations = {CORRELATION_INIT: depth.with_start, CORRELATION_ALL: depth.with_train_all}
        for factor, named in ((100.0, accuracies), (1.0, correlations)):
            for name, scores in named.items():
                if scores.values:
                    rows.setdefault(name, {})[convolutions] = factor * scores.mean
    return rows


def _run_measurement(training: ImageTraining, seed: int) -> CorrectionTables:
    """Figures 3, 9, 10, 14: tables by depth, one per network."""
    configuration, tables = training.configuration, {}
    for network in configuration.networks:
        name = network.blueprint.name
        tables[name] = measure_feature_correction(
            lambda seed, network=network: training.build(network.blueprint, seed),
            training.images.as_floats(),
            depths=configuration.depths or None,
            windows=configuration.windows,
            prox=configuration.prox,
            seeds=configuration.seeds,
            recipe=network.recipes[0],
            prepare_train=training.transforms[0],
            prepare_test=training.transforms[1],
            has_layerwise=False,
            seconds=_seconds_for_a_table(training.deadline),
            folder=training.folder / name.replace(" ", "-"),
            on_progress=lambda seen: training.tell(f"{seen.name}, of {seen.total}", seen.done),
            random_state=seed,
        )
    return CorrectionTables(tables)


def _seconds_for_a_table(deadline: Deadline) -> float | None:
    """What is left, and a moment after the end: the table then holds what was trained before, and names the rest."""
    return None if deadline.seconds_left is None else max(deadline.seconds_left, SECONDS_TOO_FEW)


def _run_methods(training: ImageTraining, seed: int) -> MethodTable:
    """Figure 12: the best of several models, and their ensemble, per network and per tangent kernel."""
    rows = []
    for each in training.configuration.networks:
        rows.append(_method_row(training, each.blueprint.name, partial(_trained, training, each), seed))
    for each in training.configuration.tangent:
        for is_whitened in (False, True):
            configuration = replace(training.configuration, is_whitened=is_whitened)
            kernel = replace(training, configuration=configuration, done=training.done)
            name = f"finite-width tangent kernel of {each.blueprint.name}{', ZCA' if is_whitened else ''}"
            rows.append(_method_row(kernel, name, partial(_trained_tangent, kernel, each), seed))
    return MethodTable(tuple(rows))


def _method_row(training: ImageTraining, name: str, train: Callable[[str, int], nn.Module], seed: int) -> MethodRow:
    """Several models of one method, and their averaged probabilities."""
    outputs = []
    for number in range(seed, seed + training.configuration.seeds):
        model = train(f"{name} seed {number}", number)
        outputs.append(training.test_outputs(model, number))
    probabilities = [torch.softmax(torch.from_numpy(each).double(), dim=1).numpy() for each in outputs]
    return MethodRow(name, tuple(map(training.accuracy, outputs)), training.accuracy(np.mean(probabilities, axis=0)))


def _trained_tangent(training: ImageTraining, network: NetworkPlan, name: str, seed: int) -> nn.Module:
    model = training.tangent(network.blueprint, seed)
    training.train(name, model, replace(network.recipes[0], optimiser=torch.optim.Adam), seed=seed)
    return model


def _trained(training: ImageTraining, network: NetworkPlan, name: str, seed: int) -> nn.Module:
    model = training.build(network.blueprint, seed)
    training.train(name, model, network.recipes[0], seed=seed)
    return model


def _run_filters(training: ImageTraining, seed: int) -> FilterPhases:
    """Figure 2: the first layer alone, then all layers; the linear read-out keeps its random weights."""
    (network,) = training.configuration.networks
    (recipe,), first = network.recipes, training.configuration.first_epochs
    model = training.build(network.blueprint, seed)
    assert isinstance(model, LinearlyReadAlexNet)
    filters, accuracies = [_floats(model.first_filters)], []
    phases = (("first layer", model.layers[0], first), ("all layers", model.layers, recipe.epochs - first))
    for name, part, epochs in phases:
        model.requires_grad_(False)
        part.requires_grad_(True)
        training.train(name, model, replace(recipe, epochs=max(1, epochs)), seed=seed)
        filters.append(_floats(model.first_filters))
        accuracies.append(training.accuracy(training.test_outputs(model, seed)))
    return FilterPhases(network.blueprint.name, filters[0], filters[1], filters[2], accuracies[0], accuracies[1])


def _run_features(training: ImageTraining, seed: int) -> UnitFeatures:
    """Figure 1: what the channels of every unit of a robust network look for."""
    (network,) = training.configuration.networks
    model = _trained(training, network, network.blueprint.name, seed)
    accuracy = training.accuracy(training.test_outputs(model, seed))
    assert isinstance(model, WideResidualNetwork)
    features = [_features(training, model, depth) for depth in range(1, len(model.units) + 1)]
    return UnitFeatures(network.blueprint.name, accuracy, tuple(features))


def _run_corrected_features(training: ImageTraining, seed: int) -> CorrectedFeatures:
    """Figures 4 and 11: features of a unit that was the last one to train, and after training all of them."""
    (network,), units = training.configuration.networks, []
    for depth in training.configuration.depths:
        whole = training.build(network.blueprint, seed)
        assert isinstance(whole, WideResidualNetwork)
        shallow = training.truncated(whole, depth, seed)
        training.train(f"depth {depth} only", shallow, network.recipes[0], seed=seed)
        pairs = _weights_up_to(depth, shallow, whole)
        penalty = pull([(after, before.detach()) for before, after in pairs], training.configuration.prox[0])
        training.train(f"depth {depth} all", whole, network.recipes[0], seed=seed, penalty=penalty)
        cosines = [mean_cosine(_floats(before), _floats(after)) for before, after in pairs]
        accuracies = [training.accuracy(training.test_outputs(model, seed)) for model in (shallow, whole)]
        before, after = (_features(training, model, depth) for model in (shallow, whole))
        units.append(CorrectedUnit(depth, before, after, *accuracies, correlation=float(np.mean(cosines))))
    return CorrectedFeatures(network.blueprint.name, tuple(units))


def _weights_up_to(
    depth: int, shallow: WideResidualNetwork, whole: WideResidualNetwork
) -> list[tuple[nn.Parameter, nn.Parameter]]:
    """Pairs of the filters of both networks, of the first units."""
    theirs = dict(whole.named_parameters())
    prefixes = tuple(f"{unit}." for unit in shallow.units[:depth])
    return [
        (weight, theirs[name])
        for name, weight in shallow.named_parameters()
        if name.startswith(prefixes) and weight.ndim >= 2
    ]


def _features(training: ImageTraining, model: WideResidualNetwork, depth: int) -> FeatureImages:
    """As many channels of a unit as the figure shows of its part of the network."""
    blocks = (len(model.units) - 1) // 3
    part = max(0, depth - 2) // blocks
    channels = range(min(training.configuration.channels_shown[part], model.unit_channels[depth - 1]))
    unit = model.units[depth - 1]
    training.tell(f"features of {unit}", training.done)
    steps = training.configuration.ascent_steps
    return visualise_features(
        model, unit, channels, shape=training.images.shape, steps=steps, seed=ASCENT_SEED,
        on_progress=lambda *_: training.deadline.check(),
    )  # fmt: skip


def _floats(weights: torch.Tensor) -> np.ndarray:
    return weights.detach().cpu().numpy().astype(np.float32).copy()


RUNNERS: dict[Measured, Callable[[ImageTraining, int], FigureResult]] = {
    Measured.CORRECTION: _run_measurement,
    Measured.LAYERWISE: run_phases,
    Measured.GAP: _run_measurement,
    Measured.METHODS: _run_methods,
    Measured.FILTERS: _run_filters,
    Measured.FEATURES: _run_features,
    Measured.CORRECTED_FEATURES: _run_corrected_features,
}
