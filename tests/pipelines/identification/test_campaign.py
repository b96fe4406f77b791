"""A small campaign: whatever family is drawn, nothing that is claimed is wrong."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[3] / "benchmarks"))
import campaign_disturbed
import campaign_identify
import campaign_planted
from campaigns import Judged, Verdict

HONEST = {Verdict.RIGHT, Verdict.PARTLY_RIGHT, Verdict.HONEST_NO}
# Families whose trials take seconds are left to the benchmark.
QUICK = [
    campaign_planted.ordinary,
    campaign_planted.kinked_in_a_box,
    campaign_disturbed.no_network,
    campaign_disturbed.odd_units,
    campaign_disturbed.few_digits,
    campaign_disturbed.small_budget,
    campaign_disturbed.badly_behaved,
    campaign_disturbed.with_a_bump,
    campaign_disturbed.hash_noise,
    campaign_disturbed.exploding,
    campaign_disturbed.constant_output,
]


@pytest.mark.parametrize("number", [0, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("plant", QUICK, ids=lambda plant: plant.__name__)
def test_no_claim_is_wrong(plant: campaign_planted.Plant, number: int, seed: int) -> None:
    judged = campaign_identify.judge(plant)(2 * seed + number)
    assert judged.verdict in HONEST, judged.detail


@pytest.mark.parametrize(
    ("plant", "seed"),
    [
        # The rounding of answers far from the centre was left out of the radius.
        (campaign_planted.one_input, 217178368),
        # Answers with few digits were affine, or right on most of the domain.
        (campaign_disturbed.few_digits, 5),
        (campaign_disturbed.few_digits, 17),
        (campaign_disturbed.few_digits, 56),
        # Roundings of two outputs to different digits were two rows of steps.
        pytest.param(campaign_disturbed.few_digits, 199786347, marks=pytest.mark.slow),
        # A radius of a half made the tolerance for signs larger than one.
        (campaign_disturbed.few_digits, 5021),
        # Answers that rounding leaves constant on 96 % of the domain were affine there: also in test_claims.py.
        pytest.param(campaign_disturbed.few_digits, 48424432, marks=pytest.mark.slow),
        # A neuron hid in an output that was rounded to a constant.
        (campaign_disturbed.few_digits, 266491230),
        # The fit of one of many jumps ran away, and singular values of what is not finite were asked for.
        (campaign_planted.many_slabs, 163367021),
        # Places behind a jump were asked for outside of a box that is far from zero.
        (campaign_disturbed.odd_boxes, 206470548),
        # A third hyperplane was read between two that are 1e-5 apart.
        (campaign_planted.near_duplicates, 243450378),
        # A bump fills 0.4 % of the domain: less than is claimed.
        (campaign_planted.uneven_weights, 69391092),
        # Both sides of a place where answers switch were asked for, one of them outside of the box.
        (campaign_disturbed.few_digits, 56199995),
        # Two kinks were taken for one.
        (campaign_planted.near_duplicates, 7005),
    ],
)
def test_what_was_wrong_once_is_not_wrong_again(plant: campaign_planted.Plant, seed: int) -> None:
    judged = campaign_identify.judge(plant)(seed)
    assert judged.verdict in HONEST, judged.detail


@pytest.mark.slow
@pytest.mark.parametrize("plant", campaign_identify.PLANTS, ids=lambda plant: plant.__name__)
def test_no_claim_of_any_family_is_wrong(plant: campaign_planted.Plant) -> None:
    for seed in range(4):
        judged = campaign_identify.judge(plant)(seed)
        assert judged.verdict in HONEST, judged.detail


def test_a_wrong_claim_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The judge sees a network that is a thousandth off."""
    right = campaign_identify.unweave.identify

    def off(*args: object, **options: object) -> object:
        found = right(*args, **options)  # pyright: ignore[reportArgumentType]
        assert found.network is not None
        output = found.network.layers[-1]
        layers = (*found.network.layers[:-1], campaign_identify.replace(output, biases=output.biases + 1e-3))
        return campaign_identify.replace(found, network=campaign_identify.Network(layers, found.network.skip))

    monkeypatch.setattr(campaign_identify.unweave, "identify", off)
    judged: Judged = campaign_identify.judge(campaign_planted.ordinary)(3)
    assert judged.verdict is Verdict.WRONG
