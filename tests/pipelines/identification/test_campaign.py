"""A small campaign: whatever family is drawn, nothing that is claimed is wrong."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[3] / "benchmarks"))
import campaign_disturbed
import campaign_identify
import campaign_planted
from campaigns import Judged, Verdict
from unweave.certificates.certify import Certificate, right_share

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
        # The error up to which answers counts as met was 0.0 where no fresh ones were left.
        (campaign_disturbed.rounded_oddly, 166261301),
        # A kink in a corner: errors were said in the spread of the corners.
        pytest.param(campaign_disturbed.odd_boxes, 147007549, marks=pytest.mark.slow),
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


@pytest.mark.parametrize(
    ("missed", "right", "is_luck"),
    # Chances are .985^299 = 1.1 %, .96^299 = 5e-6 and, with 9 missed, 1.4 % and 2e-9.
    [(0, 0.985, True), (0, 0.96, False), (9, 0.94, True), (9, 0.87, False), (0, 0.5, False)],
)
def test_a_share_is_wrong_if_it_cannot_be_bad_luck(missed: int, right: float, is_luck: bool) -> None:
    certificate = Certificate(
        largest_error=0.0,
        rms_error=0.0,
        fresh_queries=299,
        confidence=0.95,
        coverage=0.99,
        noise=0.0,
        smallest_singular=0.0,
        is_singular_estimated=False,
        radius=1.0,
        isolation=0.0,
    )
    claimed = right_share(299, missed, confidence=0.95)
    assert campaign_identify.was_bad_luck(certificate, right, claimed) is is_luck
    # Whatever fresh answers show, so much is not claimed.
    assert not campaign_identify.was_bad_luck(certificate, right, 0.999)
