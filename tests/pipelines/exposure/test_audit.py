"""Audits through the door: budgets, counts, outcomes and honest lines."""

import math
from dataclasses import replace

import numpy as np
import pytest

import unweave
from plants import Counted
from unweave.exposure.answers import FORMS
from unweave.exposure.result import REFERENCES, Audit, Exposure, duration
from unweave.networks.planted import general_network
from unweave.result import Outcome

TRUTH = general_network(np.random.default_rng(1), inputs=5, neurons=4, outputs=2)


def test_fine_answers_give_the_network_away_and_labels_do_not() -> None:
    model = Counted(TRUTH)
    found = unweave.audit(model, inputs=5, rate=10.0, max_batch=20, price_per_1000=2.0)
    outcomes = {each.form: each.outcome for each in found.exposures}
    assert list(outcomes) == [form.name for form in FORMS]
    for form in ("full precision", "float32", "6 decimals", "probabilities"):
        assert outcomes[form] is Outcome.IDENTIFIED, form
    assert outcomes["top-1"] is Outcome.NOT_IDENTIFIED
    labels = next(each for each in found.exposures if each.form == "top-1")
    assert "class labels" in labels.reason
    assert found.is_complete
    assert found.queries == model.asked, "every query is counted once"
    full = found.exposures[0]
    assert full.parameters == TRUTH.parameters
    assert full.queries / 20 <= full.requests <= full.queries, "requests are filled with 20 queries at most"
    assert found.waiting(full.requests) == full.requests / 10.0
    assert found.price(full.queries) == full.queries / 500.0
    assert found.verdict.startswith("Exposed: ")
    assert dict(found.defences)["rounding to float32"].startswith("Does not stop it")
    assert dict(found.defences)["labels only"].startswith("Stopped Unweave")
    assert "requests of up to 20 points" in dict(found.defences)["rate limit"]


def test_the_rate_counts_requests_and_batches_fill_them() -> None:
    """One point per request takes as many requests as queries; what is asked stays the same."""
    singly, together, as_usual = (
        unweave.audit(TRUTH, forms=["full precision"], rate=2.0, **settings)
        for settings in ({"max_batch": 1}, {"max_batch": 10**6}, {})
    )
    assert singly.exposures[0].requests == singly.exposures[0].queries == together.exposures[0].queries
    assert together.exposures[0].requests <= as_usual.exposures[0].requests < singly.exposures[0].requests
    assert as_usual.max_batch == 1000
    seconds = duration(singly.exposures[0].queries / 2.0)
    assert f"{seconds} at the rate limit" in singly.verdict
    assert seconds in dict(singly.defences)["rate limit"]
    assert "One request per second" in dict(replace(singly, rate=None).defences)["rate limit"]


@pytest.mark.parametrize("budget", [65, 100, 500, 900])
def test_the_budget_holds_for_the_whole(budget: int) -> None:
    model = Counted(TRUTH)
    found = unweave.audit(model, inputs=5, budget=budget)
    assert found.queries == model.asked <= budget
    assert not found.is_complete
    assert any("budget" in each.reason for each in found.exposures)
    assert all(each.reason for each in found.exposures)


def test_the_budget_of_an_oracle_holds_too() -> None:
    oracle = unweave.CallableOracle(TRUTH, inputs=5, budget=700)
    oracle.query(np.zeros((100, 5)))
    found = unweave.audit(oracle)
    assert found.queries + 100 == oracle.ledger.sent <= 700


def test_the_time_holds_for_the_whole() -> None:
    found = unweave.audit(TRUTH, seconds=1e-3)
    assert not found.is_complete
    assert found.exposures[-1].reason == "the time was over before."


def test_the_same_seed_gives_the_same_audit_and_boxes_are_kept() -> None:
    def answer(points: np.ndarray) -> np.ndarray:
        assert np.max(np.abs(points)) <= 1.0
        return TRUTH(points)

    once, again = (
        unweave.audit(answer, inputs=5, domain=unweave.Box(-1.0, 1.0), forms=["full precision", "noise 1e-6"], seed=3)
        for _ in range(2)
    )
    assert [replace(each, seconds=0.0) for each in once.exposures] == [
        replace(each, seconds=0.0) for each in again.exposures
    ]
    assert [each.form for each in once.exposures] == ["full precision", "noise 1e-6"]


def test_a_model_of_labels_or_probabilities_is_not_asked_for_them_again() -> None:
    found = unweave.audit(lambda points: np.argmax(TRUTH(points), axis=1), inputs=5)
    assert [each.outcome for each in found.exposures] == [Outcome.NOT_IDENTIFIED, *[None] * (len(FORMS) - 1)]
    assert found.is_complete
    assert found.verdict.startswith("Not given away")


def test_labels_that_are_all_the_same_are_no_copy() -> None:
    found = unweave.audit(lambda points: TRUTH(points)[:, :1] - 1e3, inputs=5, forms=["top-1"])
    (labels,) = found.exposures
    assert "constant" in labels.reason
    assert not labels.is_copied
    assert "copy" not in found.verdict


def test_rounding_far_from_zero_is_seen() -> None:
    """Box far from zero, and answers with a large offset."""
    found = unweave.audit(
        lambda points: 1e5 + TRUTH(points - 1e5),
        inputs=5,
        domain=unweave.Box(1e5 - 1.0, 1e5 + 1.0),
        forms=["full precision", "top-1"],
    )
    assert [each.outcome is None for each in found.exposures] == [False, False]


@pytest.mark.usefixtures("without_type_checks")
@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"forms": ["seven decimals"]}, "forms of answers out of"),
        ({"forms": "top-1"}, "forms of answers out of"),
        ({"forms": []}, "forms of answers out of"),
        ({"rate": 0.0}, "rate to be a positive number"),
        ({"rate": math.inf}, "rate to be a positive number"),
        ({"price_per_1000": -1.0}, "price_per_1000 to be a positive number"),
        ({"seconds": 0}, "seconds to be a positive number"),
        ({"max_batch": 0}, "max_batch to be a whole number"),
        ({"max_batch": 2.5}, "max_batch to be a whole number"),
        ({"seed": -1}, "seed of at least 0"),
        ({"budget": 63}, "budget of more than 64"),
        ({"inputs": None}, "inputs"),
    ],
)
def test_wrong_use_is_told_before_a_query(settings: dict, words: str) -> None:
    model = Counted(TRUTH)
    with pytest.raises(unweave.InvalidInput, match=words):
        unweave.audit(model, **({"inputs": 5} | settings))
    assert model.asked == 0


def test_a_model_that_fails_is_no_model_that_hides() -> None:
    def fail(points: np.ndarray) -> np.ndarray:
        raise RuntimeError(f"no answer at {len(points)} points")

    with pytest.raises(unweave.OracleError, match="no answer"):
        unweave.audit(fail, inputs=5)


def exposure(form: str, outcome: Outcome | None, **fields: object) -> Exposure:
    return replace(Exposure(form, "", form, outcome, "why."), **fields)


def test_verdicts_never_promise_safety() -> None:
    hidden = exposure("4 decimals", Outcome.NOT_IDENTIFIED)
    assert "no proof" in Audit((hidden,), 64).verdict
    assert "Not known" in Audit((hidden, exposure("top-1", None, is_cut_short=True)), 64).verdict
    copied = exposure("4 decimals", Outcome.PARTLY_IDENTIFIED, error=1e-5, radius=math.inf)
    assert "copy of the function" in Audit((copied,), 64).verdict
    assert "not the function" in dict(Audit((copied,), 64).defences)["4 decimals"]
    assert "no proof" in dict(Audit((hidden,), 64).defences)["4 decimals"]


def test_times_are_written_for_people() -> None:
    assert [duration(each) for each in (3.0, 150.0, 7_200.0, 172_800.0)] == [
        "3.0 seconds", "2.5 minutes", "2.0 hours", "2.0 days",
    ]  # fmt: skip


def test_catalogues_are_named() -> None:
    assert {"ML05:2023", "AML.T0024", "AML.T0024.002"} <= {each.entry for each in REFERENCES}
