"""What an experiment will cost: trainings, and GPU hours by the timing of [allenzhu, App. A]; needs torch."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import nn

from unweave.explore.feature_correction.plan import Plan, Training
from unweave.reproduce.allenzhu.images.blueprints import Blueprint, ResidualBlueprint
from unweave.reproduce.allenzhu.images.configurations import (
    ATTACK_STEPS,
    CIFAR_CLASSES,
    CIFAR_IMAGES,
    CIFAR_SHAPE,
    Attacker,
    FigureConfiguration,
    Measured,
    NetworkPlan,
)

# [allenzhu, App. A] times 140 epochs of WRN-22-10 at 3 hours of a V100; others are taken to run at the same speed.
TIMED_NETWORK, TIMED_EPOCHS, TIMED_HOURS = ResidualBlueprint(22, 10), 140, 3.0
# Both Gaussian starts of the Euclidean attacker climb.
ATTACK_TRIALS = {Attacker.L2: 2, Attacker.LINF: 1}


@dataclass(frozen=True)
class ExperimentCost:
    """Of one experiment.

    Attributes:
        trainings: how many networks are trained.
        gpu_hours: of a V100, for training alone; frozen layers are counted as if they trained.
    """

    trainings: int
    gpu_hours: float


def cost_of(configuration: FigureConfiguration, dataset: str = "CIFAR-10") -> ExperimentCost:
    """The cost of an experiment on one of the published datasets, or on as many of its images as it takes."""
    classes = CIFAR_CLASSES[dataset]
    images = min(configuration.images or CIFAR_IMAGES[0], CIFAR_IMAGES[0])
    timed = TIMED_HOURS / (TIMED_EPOCHS * CIFAR_IMAGES[0] * multiplications(TIMED_NETWORK, classes=classes))
    trainings, hours = 0, 0.0
    for network in configuration.networks:
        lengths = _lengths(configuration, network)
        epochs = sum(recipe.epochs for recipe in network.recipes)
        work = sum(multiplications(network.blueprint, classes=classes, depth=length) for length in lengths)
        trainings += len(lengths) * len(network.recipes)
        hours += timed * epochs * images * work * _passes(configuration.attacker)
    for network in configuration.tangent:
        # With and without whitening, and a derivative along a direction of its own for every class.
        count = 2 * configuration.seeds
        work = classes * multiplications(network.blueprint, classes=classes)
        trainings += count
        hours += timed * network.recipes[0].epochs * images * count * work
    return ExperimentCost(trainings, hours)


def multiplications(
    blueprint: Blueprint, *, classes: int = 10, depth: int | None = None, shape: tuple[int, int, int] = CIFAR_SHAPE
) -> int:
    """Products of weights and activations for one image; of the first ``depth`` units alone if that is given."""
    by_unit = _multiplications_by_unit(blueprint, classes, shape)
    return sum(by_unit) - sum(by_unit[blueprint.units if depth is None else depth : blueprint.units])


@lru_cache(maxsize=64)
def _multiplications_by_unit(blueprint: Blueprint, classes: int, shape: tuple[int, int, int]) -> tuple[int, ...]:
    """One number per unit, and a last one for all that is no part of a unit; nothing is computed but shapes."""
    with torch.device("meta"):
        model = blueprint.build(0, classes=classes, shape=shape).eval()
        names: Sequence[str] = getattr(model, "units", ())
        totals = [0] * (len(names) + 1)

        def counting(place: int) -> Callable[[nn.Module, object, torch.Tensor], None]:
            def count(module: nn.Module, _: object, output: torch.Tensor) -> None:
                weight = module.weight
                assert isinstance(weight, torch.Tensor)
                totals[place] += output[0].numel() * weight[0].numel()

            return count

        for name, module in model.named_modules():
            inside = [place for place, unit in enumerate(names) if f"{name}.".startswith(f"{unit}.")]
            if isinstance(module, nn.Conv2d | nn.Linear):
                module.register_forward_hook(counting(inside[0] if inside else -1))
        with torch.no_grad():
            model(torch.zeros((1, *shape)))
    return tuple(totals)


def _passes(attacker: Attacker) -> int:
    """Forward and backward passes per step of training."""
    if attacker is Attacker.NOBODY:
        return 1
    return 1 + ATTACK_TRIALS[attacker] * ATTACK_STEPS[attacker][0]


def _lengths(configuration: FigureConfiguration, network: NetworkPlan) -> list[int]:
    """Units of the model in every training with one recipe."""
    units, seeds = network.blueprint.units, range(configuration.seeds)
    depths = configuration.depths or tuple(range(1, units + 1))
    if configuration.measured is Measured.CORRECTED_FEATURES:
        return [length for depth in depths for length in (depth, units)]
    if configuration.measured in (Measured.METHODS, Measured.FEATURES, Measured.FILTERS):
        return [units for _ in seeds]
    if configuration.measured is Measured.LAYERWISE:
        # Two ways, which share the first phase.
        return [length for _ in seeds for length in (1, *2 * tuple(range(2, max(depths) + 1)))]
    plan = Plan(units, depths, configuration.windows, configuration.prox, tuple(seeds), has_layerwise=False)
    trainings: tuple[Training, ...] = plan.trainings()
    return [training.length for training in trainings]
