"""The experiments of [allenzhu] on images, one configuration per figure, as plain data.

`figure_configuration("figure-9")` is the experiment at its published size, for GPUs; its `scaled` is a miniature
of it, whose numbers are not compared with published ones. Depths count units: the first convolution is unit 1 and every
residual block is one more, so that depth t + 1 holds ``2 t + 1`` convolutions.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from unweave.exceptions import InvalidInput, entry_named
from unweave.explore.feature_correction.image_data import ImageData
from unweave.explore.feature_correction.recipes import Compose, Recipe
from unweave.explore.feature_correction.torch_extra import need_torch
from unweave.reproduce.allenzhu.images.blueprints import (
    AlexNetBlueprint,
    Blueprint,
    ResidualBlueprint,
    VggBlueprint,
)
from unweave.reproduce.allenzhu.images.published import PublishedTable, published_table

if TYPE_CHECKING:
    from unweave.explore.feature_correction.recipes import BatchTransform

CIFAR_IMAGES = (50_000, 10_000)
CIFAR_SHAPE = (3, 32, 32)
CIFAR_CLASSES = {"CIFAR-10": 10, "CIFAR-100": 100}


class Measured(StrEnum):
    """What a figure shows."""

    CORRECTION = "feature correction"
    LAYERWISE = "layer-wise against joint training"
    GAP = "information gap"
    METHODS = "accuracy of methods"
    FILTERS = "filters of the first layer"
    FEATURES = "features of every unit"
    CORRECTED_FEATURES = "features before and after correction"


class Attacker(StrEnum):
    """Who moves the images in training and in tests."""

    NOBODY = "nobody"
    L2 = "l2(0.5, 0.12)"
    LINF = "l-infinity 6/255"


# Steps of projected gradient ascent, in training and in tests.
ATTACK_STEPS = {Attacker.L2: (4, 20), Attacker.LINF: (7, 20)}


@dataclass(frozen=True)
class NetworkPlan:
    """A network and how it is trained; with several recipes all is done with each of them, and none is chosen."""

    blueprint: Blueprint
    recipes: tuple[Recipe, ...]


# By names of rows and columns of published tables; accuracies in percent.
Measurements = Mapping[str, Mapping[int | str, float]]


@dataclass(frozen=True)
class Difference:
    """One published number beside ours; accuracies in percent."""

    table: str
    row: str
    column: int | str
    published: float
    measured: float


@dataclass(frozen=True)
class FigureConfiguration:
    """One experiment.

    Attributes:
        name: such as "figure-9".
        datasets: on which [allenzhu] shows it.
        depths: in units; empty for all.
        windows: units thawed below a depth.
        prox: strengths of the pull of "train all"; of several the better one counts, on images kept out of training.
        seeds: repetitions.
        first_epochs: of the phase in which only the first layer trains, of Figure 2.
        channels_shown: how many channels of each part of a residual network are visualised.
        ascent_steps: of visualisation.
        published: published tables to compare with at full size.
        images: of training at most; None for all.
        tangent: networks whose tangent kernels are trained, too, with and without whitening.
        is_whitened: whether images are whitened in place of normalised.
        is_miniature: whether anything was made smaller than published.
    """

    name: str
    measured: Measured
    networks: tuple[NetworkPlan, ...]
    datasets: tuple[str, ...]
    depths: tuple[int, ...] = ()
    windows: tuple[int, ...] = ()
    prox: tuple[float, ...] = ()
    seeds: int = 5
    has_cutout: bool = False
    attacker: Attacker = Attacker.NOBODY
    first_epochs: int = 0
    channels_shown: tuple[int, ...] = (16, 24, 40)
    ascent_steps: int = 2_000
    published: tuple[PublishedTable, ...] = ()
    images: int | None = None
    tangent: tuple[NetworkPlan, ...] = ()
    is_whitened: bool = False
    is_miniature: bool = False

    @property
    def label(self) -> str:
        """What has to stand beside every result."""
        return "miniature" if self.is_miniature else "published size"

    @property
    def is_normalised(self) -> bool:
        """Images are normalised unless an attacker needs them within [0, 1]."""
        return self.attacker is Attacker.NOBODY

    def scaled(
        self,
        *,
        width: float | None = None,
        layers: int | None = None,
        epochs: int | None = None,
        batch: int | None = None,
        images: int | None = None,
        seeds: int | None = None,
        depths: tuple[int, ...] | None = None,
        prox: tuple[float, ...] | None = None,
        ascent_steps: int | None = None,
    ) -> "FigureConfiguration":
        """The experiment at another size, labelled a miniature.

        Args:
            width: factor on channels in place of the published one; 0.5 gives residual networks of 8, 16, 32 channels.
            layers: of residual networks (10, 16, 22, ...) in place of the published number.
            epochs: of all trainings; milestones keep their place.
            batch: images per step; few images need small batches, or there are few steps.
            images: of training, and as many of test, drawn at random.
            depths: in units. If this is not given, those that a shallower network does not have are left out, and units
                whose features are shown keep their place in proportion.
            prox: strengths of the pull; short trainings need stronger ones.

        What is not given stays as it is, also when an experiment is scaled again.

        Raises:
            InvalidInput: if no depth is left for a figure that shows features of some depths.
        """
        resized = (_resized(each, width, layers, epochs, batch) for each in self.networks)
        # Networks that differed in width or depth alone may be the same now.
        networks = tuple(dict.fromkeys(resized))
        tangent = tuple(_resized(each, width, layers, epochs, batch) for each in self.tangent)
        whole = max(each.recipes[0].epochs for each in self.networks)
        return replace(
            self,
            networks=networks,
            tangent=tangent,
            first_epochs=self.first_epochs if epochs is None else max(1, round(self.first_epochs * epochs / whole)),
            images=self.images if images is None else images,
            seeds=self.seeds if seeds is None else seeds,
            depths=self._depths_of(networks) if depths is None else self._check_depths(depths),
            prox=self.prox if prox is None else prox,
            ascent_steps=self.ascent_steps if ascent_steps is None else ascent_steps,
            is_miniature=True,
        )

    def _depths_of(self, networks: tuple[NetworkPlan, ...]) -> tuple[int, ...]:
        """Depths for networks that may be shallower than they were."""
        before, after = (max(each.blueprint.units for each in plans) for plans in (self.networks, networks))
        if self.measured is Measured.CORRECTED_FEATURES:
            return tuple(sorted({max(1, round(depth * after / before)) for depth in self.depths}))
        return tuple(depth for depth in self.depths if depth <= after)

    def _check_depths(self, depths: tuple[int, ...]) -> tuple[int, ...]:
        if not depths and self.measured is Measured.CORRECTED_FEATURES:
            raise InvalidInput(f"{self.name} shows features of some depths, got none: name at least one unit.")
        return depths

    def prepared(self, images: ImageData) -> "tuple[BatchTransform | None, BatchTransform | None]":
        """What is done to batches of training, and of tests."""
        need_torch()
        from unweave.reproduce.allenzhu.images.attacks import LinfPGD, NoisyL2PGD
        from unweave.reproduce.allenzhu.images.augmentation import (
            Cutout,
            Normalisation,
            RandomCrop,
            RandomFlip,
            ZcaWhitening,
        )

        # 4 pixels of 32, as usual for CIFAR, and fewer for smaller images.
        train: list[BatchTransform] = [RandomCrop(max(1, images.shape[1] // 8)), RandomFlip()]
        test: list[BatchTransform] = []
        if self.is_normalised:
            normalisation = (ZcaWhitening if self.is_whitened else Normalisation).of(images.as_floats()[0])
            train.append(normalisation)
            test.append(normalisation)
        if self.has_cutout:
            train.append(Cutout())
        if self.attacker is not Attacker.NOBODY:
            attack = NoisyL2PGD if self.attacker is Attacker.L2 else LinfPGD
            for transforms, steps in zip((train, test), ATTACK_STEPS[self.attacker], strict=True):
                transforms.append(attack(steps=steps))
        return Compose(tuple(train)), Compose(tuple(test)) if test else None

    def compared(self, singles: Measurements, ensembles: Measurements, images: ImageData) -> tuple[Difference, ...]:
        """Put published numbers beside measured ones.

        Args:
            singles: of single models.
            ensembles: of averaged answers; only these are put beside tables of ensembles.
            images: on which they were measured.

        Raises:
            InvalidInput: for a miniature, for other images than the published ones, or if this figure has no table.
        """
        if self.is_miniature:
            raise InvalidInput(f"{self.name} was run as a miniature: only a run at full size can be compared.")
        tables = [table for table in self.published if is_published_data(images, table.dataset)]
        if not tables:
            wanted = ", ".join(table.title for table in self.published) or "no numbers of this figure"
            raise InvalidInput(f"[allenzhu] has {wanted}; these images are {images.source}: nothing to compare.")
        return tuple(
            Difference(table.title, row, column, published, value)
            for table in tables
            for row, values in (ensembles if table.is_ensemble else singles).items()
            for column, value in values.items()
            if (published := table.entry(row, column)) is not None
        )


def is_published_data(images: ImageData, dataset: str) -> bool:
    """Whether images have the number, shape and classes of a published dataset."""
    counts = (len(images.train_labels), len(images.test_labels))
    return (counts, images.shape, images.classes) == (CIFAR_IMAGES, CIFAR_SHAPE, CIFAR_CLASSES[dataset])


def figure_configuration(name: str) -> FigureConfiguration:
    """The experiment of a figure, at its published size.

    Raises:
        InvalidInput: if there is none of this name.
    """
    return entry_named(name, FIGURES, kind="configuration")


def _resized(
    plan: NetworkPlan, width: float | None, layers: int | None, epochs: int | None, batch: int | None
) -> NetworkPlan:
    recipes = [replace(each, batch=batch or each.batch).shortened(epochs or each.epochs) for each in plan.recipes]
    return NetworkPlan(plan.blueprint.resized(width=width, layers=layers), tuple(recipes))


_CLEAN = Recipe(epochs=120, learning_rate=0.1, milestones=(80, 100))
_ROBUST = Recipe(epochs=100, learning_rate=0.1, milestones=(70, 85))
_RELU = Recipe(epochs=140, learning_rate=0.1, milestones=(80, 100, 120), decay=0.2)
_QUADRATIC = Recipe(epochs=140, learning_rate=0.02, milestones=(80, 100, 120), decay=0.3)
# Of the tangent kernel, which Adam trains.
_TANGENT = Recipe(200, 1e-3, momentum=0.0, weight_decay=0.0, batch=50, milestones=(140, 170), decay=0.2)
_ALEXNET = Recipe(epochs=200, learning_rate=0.01, batch=128)
_LAYERWISE = (replace(_CLEAN, weight_decay=1e-4), _CLEAN)
_VANILLA = ResidualBlueprint(34, 5, widens_stem=False)
_BOTH = ("CIFAR-10", "CIFAR-100")
# Blocks 0 to 10 of the tables, and how far below them blocks are thawed.
_TABLE_DEPTHS, _TABLE_WINDOWS, _TABLE_PROX = tuple(range(1, 12)), (0, 1, 2, 3, 4), (5e-4, 7e-4)


def _table(name: str, dataset: str, attacker: Attacker, *published: str) -> FigureConfiguration:
    return FigureConfiguration(
        name,
        Measured.CORRECTION,
        (NetworkPlan(_VANILLA, (_CLEAN if attacker is Attacker.NOBODY else _ROBUST,)),),
        (dataset,),
        depths=_TABLE_DEPTHS,
        windows=_TABLE_WINDOWS,
        prox=_TABLE_PROX,
        attacker=attacker,
        published=tuple(map(published_table, published)),
    )


def _layerwise(name: str, *blueprints: Blueprint) -> FigureConfiguration:
    networks = tuple(NetworkPlan(blueprint, _LAYERWISE) for blueprint in blueprints)
    return FigureConfiguration(name, Measured.LAYERWISE, networks, _BOTH, has_cutout=True)


def _corrected_features(name: str, depths: tuple[int, ...]) -> FigureConfiguration:
    # [allenzhu] does not say which of its blocks it shows, nor how many channels of them.
    return FigureConfiguration(
        name,
        Measured.CORRECTED_FEATURES,
        (NetworkPlan(_VANILLA, (_ROBUST,)),),
        ("CIFAR-10",),
        depths=depths,
        prox=_TABLE_PROX[:1],
        seeds=1,
        attacker=Attacker.L2,
        channels_shown=(16, 16, 16),
    )


_CONFIGURATIONS = (
    FigureConfiguration(
        "figure-1",
        Measured.FEATURES,
        (NetworkPlan(ResidualBlueprint(34, reads_every_unit=True), (_ROBUST,)),),
        ("CIFAR-10",),
        seeds=1,
        attacker=Attacker.L2,
    ),
    FigureConfiguration(
        "figure-2",
        Measured.FILTERS,
        (NetworkPlan(AlexNetBlueprint(), (_ALEXNET,)),),
        ("CIFAR-10",),
        seeds=1,
        first_epochs=80,
    ),
    FigureConfiguration(
        "figure-3", Measured.GAP, (NetworkPlan(ResidualBlueprint(34, 10), (_CLEAN,)),), _BOTH, seeds=10
    ),
    _corrected_features("figure-4", (7,)),
    # Widths of the published curves did not survive; 1 and 4 are examples.
    _layerwise("figure-6", *(VggBlueprint(19, w) for w in (1, 4)), *(ResidualBlueprint(34, w) for w in (1, 4))),
    _table("figure-9", "CIFAR-100", Attacker.NOBODY, "figure-9"),
    _table("figure-10", "CIFAR-100", Attacker.NOBODY, "figure-9"),
    _corrected_features("figure-11", (4, 7, 10)),
    FigureConfiguration(
        "figure-12",
        Measured.METHODS,
        (
            *(NetworkPlan(ResidualBlueprint(layers, 10), (_RELU,)) for layers in (16, 22)),
            *(
                NetworkPlan(ResidualBlueprint(layers, 10, is_quadratic=True, reads_every_unit=True), (_QUADRATIC,))
                for layers in (16, 22)
            ),
        ),
        _BOTH,
        seeds=10,
        tangent=(NetworkPlan(ResidualBlueprint(10, 10), (_TANGENT,)),),
        has_cutout=True,
        published=tuple(published_table(f"figure-12-{dataset.lower()}") for dataset in _BOTH),
    ),
    _layerwise("figure-13", *(VggBlueprint(13, w) for w in (1, 4)), *(ResidualBlueprint(22, w) for w in (1, 4))),
    _table("figure-14", "CIFAR-10", Attacker.NOBODY, "figure-14-single", "figure-14-ensemble"),
    _table("figure-14-l2", "CIFAR-10", Attacker.L2, "figure-14-l2"),
    _table("figure-14-linf", "CIFAR-10", Attacker.LINF, "figure-14-linf"),
)
FIGURES: dict[str, FigureConfiguration] = {each.name: each for each in _CONFIGURATIONS}
