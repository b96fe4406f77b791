from dataclasses import replace

import pytest

from late import LateModule
from unweave.reproduce.allenzhu.images.blueprints import AlexNetBlueprint, ResidualBlueprint, VggBlueprint
from unweave.reproduce.allenzhu.images.configurations import FIGURES, figure_configuration

costs = LateModule("unweave.reproduce.allenzhu.images.costs")


def test_multiplications_are_those_published_for_wide_residual_networks() -> None:
    # 5.2 billion multiply-adds are given for WRN-28-10 and images of 32 x 32 pixels.
    assert costs.multiplications(ResidualBlueprint(28, 10, widens_stem=False)) == pytest.approx(5.2e9, rel=0.02)


def test_multiplications_by_hand() -> None:
    # Width 1/16: one channel, then one of 8 x 8, two of 4 x 4 and four of 2 x 2 pixels.
    convolutions = 27 * 64 + 2 * 9 * 64 + (9 * 2 + 9 * 4 + 2) * 16 + (9 * 8 + 9 * 16 + 8) * 4
    assert costs.multiplications(ResidualBlueprint(10, 1 / 16), shape=(3, 8, 8)) == convolutions + 4 * 10


@pytest.mark.parametrize("blueprint", [ResidualBlueprint(34), VggBlueprint(13), AlexNetBlueprint()])
def test_fewer_units_cost_less(blueprint: ResidualBlueprint | VggBlueprint | AlexNetBlueprint) -> None:
    counts = [costs.multiplications(blueprint, depth=depth) for depth in range(1, blueprint.units + 1)]
    assert counts == sorted(counts)
    assert counts[-1] == costs.multiplications(blueprint)


def test_the_timed_network_costs_what_was_published() -> None:
    full = figure_configuration("figure-12")
    networks, both = costs.cost_of(replace(full, tangent=())), costs.cost_of(full)
    # 4 x 10 networks, and 10 tangent kernels with whitening and 10 without.
    assert (networks.trainings, both.trainings) == (40, 60)
    # Ten models each of WRN-16-10 and WRN-22-10, twice; [allenzhu] has 2.5 to 3.5 hours per model.
    assert 80 < networks.gpu_hours < 140
    # It has 20.5 hours per tangent kernel, of another GPU.
    assert 10 < (both.gpu_hours - networks.gpu_hours) / 20 < 30


def test_attacks_cost_their_steps() -> None:
    clean, l2, linf = (costs.cost_of(figure_configuration(f"figure-14{end}")) for end in ("", "-l2", "-linf"))
    assert clean.trainings == l2.trainings == linf.trainings
    # 100 instead of 120 epochs; 9 and 8 passes instead of one.
    assert l2.gpu_hours / clean.gpu_hours == pytest.approx(9 * 100 / 120)
    assert linf.gpu_hours / clean.gpu_hours == pytest.approx(8 * 100 / 120)


@pytest.mark.parametrize("name", FIGURES)
def test_miniatures_are_cheap(name: str) -> None:
    full = figure_configuration(name)
    small = full.scaled(width=0.5, layers=10, epochs=10, images=5_000, seeds=1)
    assert costs.cost_of(small).gpu_hours < costs.cost_of(full).gpu_hours / 20
