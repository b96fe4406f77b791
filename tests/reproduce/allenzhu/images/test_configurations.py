import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from unweave.exceptions import InvalidInput
from unweave.explore.feature_correction.image_data import ImageData
from unweave.explore.feature_correction.recipes import Compose
from unweave.reproduce.allenzhu.images.blueprints import AlexNetBlueprint, Blueprint, ResidualBlueprint, VggBlueprint
from unweave.reproduce.allenzhu.images.configurations import FIGURES, Attacker, Measured, figure_configuration
from unweave.reproduce.allenzhu.images.image_sets import digit_images
from unweave.reproduce.allenzhu.images.published import TRAIN_ONLY, PublishedTable, published_table

BLUEPRINTS = [ResidualBlueprint(10, 0.25), VggBlueprint(13, 0.125), AlexNetBlueprint(0.125)]
TABLES = [table for each in FIGURES.values() for table in each.published]


def cifar_like(classes: int) -> ImageData:
    """As many images as CIFAR has, without the memory of CIFAR."""
    train, test = (np.broadcast_to(np.zeros((1, 3, 32, 32), dtype=np.uint8), (n, 3, 32, 32)) for n in (50_000, 10_000))
    labels = np.zeros(50_000, dtype=np.int64), np.zeros(10_000, dtype=np.int64)
    return ImageData(train, labels[0], test, labels[1], tuple(map(str, range(classes))), "made")


@pytest.mark.parametrize("blueprint", BLUEPRINTS, ids=lambda each: each.name)
def test_blueprints_build_what_they_say(blueprint: Blueprint, seed: int) -> None:
    import torch

    drawn = torch.random.get_rng_state()
    one, again, other = (blueprint.build(each, classes=7, shape=(3, 8, 8)) for each in (seed, seed, seed + 1))
    assert torch.equal(torch.random.get_rng_state(), drawn)
    assert len(one.units) == blueprint.units  # type: ignore[arg-type]
    weights = [[each.clone() for each in model.parameters()] for model in (one, again, other)]
    assert all(torch.equal(a, b) for a, b in zip(weights[0], weights[1], strict=True))
    assert not all(torch.equal(a, b) for a, b in zip(weights[0], weights[2], strict=True))
    assert one(torch.rand(2, 3, 8, 8)).shape == (2, 7)


def test_names_are_those_published() -> None:
    names = [ResidualBlueprint(34).name, ResidualBlueprint(22, 10, is_quadratic=True).name, VggBlueprint(19, 4).name]
    assert names == ["ResNet-34", "quadratic WRN-22-10", "VGG19x4"]


def test_plain_data_needs_no_torch() -> None:
    code = "import sys, unweave.reproduce.allenzhu.images.configurations; print('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "False"


def test_missing_torch_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("unweave.extras.find_spec", lambda _: None)
    with pytest.raises(InvalidInput, match=r"pip install 'unweave\[torch\]'"):
        ResidualBlueprint(10).build(0, classes=10, shape=(3, 8, 8))


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_can_be_built_in_miniature(name: str) -> None:
    from torch import nn

    small = figure_configuration(name).scaled(width=0.125, layers=10, epochs=2, images=100)
    assert small.label == "miniature"
    for network in small.networks:
        model = network.blueprint.build(0, classes=10, shape=(3, 8, 8))
        assert isinstance(model, nn.Module)
        assert all(1 <= depth <= network.blueprint.units for depth in small.depths)
        assert {recipe.epochs for recipe in network.recipes} == {2}


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.title)
def test_published_tables_are_complete(table: PublishedTable) -> None:
    assert all(len(row) == len(table.columns) for row in table.rows.values())
    if table.columns == tuple(range(1, 22, 2)):
        # A window of j blocks leaves the first j columns empty and no other.
        gaps = {name: [value is None for value in row].count(True) for name, row in table.rows.items()}
        assert [gaps[name] for name in gaps if name.startswith("fix")] == [0, 1, 2, 3, 4]
        assert all(0 <= value <= 1 for name, row in table.rows.items() if "corr" in name for value in row if value)


def test_the_tables_recipe_is_that_published() -> None:
    clean, robust = figure_configuration("figure-9"), figure_configuration("figure-14-linf")
    recipe = clean.networks[0].recipes[0]
    rates = [recipe.learning_rate_at(epoch) for epoch in (79, 80, 100)]
    np.testing.assert_allclose(rates, [0.1, 0.01, 0.001])
    assert (recipe.epochs, recipe.batch, recipe.weight_decay, recipe.momentum) == (120, 125, 5e-4, 0.9)
    assert (robust.networks[0].recipes[0].epochs, robust.networks[0].recipes[0].milestones) == (100, (70, 85))
    assert clean.depths == tuple(range(1, 12))
    assert clean.windows == (0, 1, 2, 3, 4)


def test_layerwise_figures_try_two_weight_decays() -> None:
    for name in ("figure-6", "figure-13"):
        configuration = figure_configuration(name)
        assert configuration.measured is Measured.LAYERWISE
        assert [recipe.weight_decay for recipe in configuration.networks[0].recipes] == [1e-4, 5e-4]


def test_clean_images_are_normalised_and_attacked_ones_are_not() -> None:
    from unweave.reproduce.allenzhu.images.attacks import LinfPGD, NoisyL2PGD
    from unweave.reproduce.allenzhu.images.augmentation import Cutout, Normalisation, RandomCrop, RandomFlip

    images = digit_images()
    kinds = {}
    for name in ("figure-9", "figure-12", "figure-14-l2", "figure-14-linf"):
        train, test = figure_configuration(name).prepared(images)
        assert isinstance(train, Compose)
        assert isinstance(test, Compose)
        kinds[name] = ([type(each) for each in train.transforms], [type(each) for each in test.transforms])
    assert kinds["figure-9"] == ([RandomCrop, RandomFlip, Normalisation], [Normalisation])
    assert kinds["figure-12"] == ([RandomCrop, RandomFlip, Normalisation, Cutout], [Normalisation])
    assert kinds["figure-14-l2"] == ([RandomCrop, RandomFlip, NoisyL2PGD], [NoisyL2PGD])
    assert kinds["figure-14-linf"] == ([RandomCrop, RandomFlip, LinfPGD], [LinfPGD])


@pytest.mark.parametrize(("name", "steps"), [("figure-14-l2", (4, 20)), ("figure-14-linf", (7, 20))])
def test_attackers_take_more_steps_in_tests(name: str, steps: tuple[int, int]) -> None:
    pair = figure_configuration(name).prepared(digit_images())
    assert tuple(each.transforms[-1].steps for each in pair if isinstance(each, Compose)) == steps  # type: ignore[union-attr]


def test_numbers_are_compared_at_full_size_only() -> None:
    full = figure_configuration("figure-14")
    rows = {TRAIN_ONLY: {1: 40.0, 3: 70.0, 99: 1.0}, "no such row": {1: 0.0}}
    found = full.compared(rows, {TRAIN_ONLY: {5: 90.0}}, cifar_like(10))
    assert [(each.row, each.column, each.published, each.measured) for each in found] == [
        (TRAIN_ONLY, 1, 41.4, 40.0),
        (TRAIN_ONLY, 3, 71.2, 70.0),
        (TRAIN_ONLY, 5, 89.1, 90.0),
    ]
    with pytest.raises(InvalidInput, match="was run as a miniature"):
        full.scaled(width=1).compared(rows, {}, cifar_like(10))
    with pytest.raises(InvalidInput, match="nothing to compare"):
        full.compared(rows, {}, cifar_like(100))
    with pytest.raises(InvalidInput, match="nothing to compare"):
        full.compared(rows, {}, digit_images())


def test_scaling_nothing_is_a_miniature_all_the_same() -> None:
    assert figure_configuration("figure-9").scaled().is_miniature
    assert not figure_configuration("figure-9").is_miniature


def test_scaling_keeps_the_place_of_milestones_and_drops_missing_depths() -> None:
    small = figure_configuration("figure-9").scaled(epochs=12, layers=10, batch=20, seeds=2, prox=(0.1,))
    assert small.networks[0].recipes[0].milestones == (8, 10)
    assert small.networks[0].recipes[0].batch == 20
    assert (small.depths, small.seeds, small.prox) == ((1, 2, 3, 4), 2, (0.1,))
    assert figure_configuration("figure-2").scaled(epochs=10).first_epochs == 4
    assert len(figure_configuration("figure-12").scaled(layers=10).networks) == 2


@pytest.mark.parametrize(
    ("name", "layers", "depths"),
    [("figure-4", 10, (2,)), ("figure-4", 34, (7,)), ("figure-11", 10, (1, 2)), ("figure-11", 34, (4, 7, 10))],
)
def test_features_are_shown_of_units_at_the_same_place(name: str, layers: int, depths: tuple[int, ...]) -> None:
    assert figure_configuration(name).scaled(layers=layers).depths == depths
    with pytest.raises(InvalidInput, match="name at least one unit"):
        figure_configuration(name).scaled(depths=())


def test_scaling_again_keeps_what_was_scaled() -> None:
    once = figure_configuration("figure-9").scaled(images=100, width=0.5, epochs=6, layers=10, batch=20, prox=(0.1,))
    assert once.scaled() == once
    assert once.scaled(seeds=3) == replace(once, seeds=3)


def test_unknown_figures_are_refused() -> None:
    with pytest.raises(InvalidInput, match="use one of figure-1, figure-2"):
        figure_configuration("figure-5")


def test_two_published_entries_by_hand() -> None:
    assert published_table("figure-9").entry("fix <= l-8", 9) == 83.4
    assert published_table("figure-9").entry("fix <= l-8", 7) is None
    assert published_table("figure-14-single").entry("train all", 21) == 95.9
    assert published_table("figure-14-single").entry("train all", 22) is None
    assert replace(figure_configuration("figure-14"), attacker=Attacker.L2).is_normalised is False
