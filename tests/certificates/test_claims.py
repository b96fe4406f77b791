"""What may be claimed on which evidence: verdicts that change when one of it is missing."""

from dataclasses import replace

import numpy as np
import pytest

from unweave.certificates.certify import Certificate, coverage_of, fresh_needed, right_share
from unweave.certificates.claims import IMITATED_CORNERS, IMITATED_ERROR, IMITATED_SHARE, ClaimRules
from unweave.certificates.evidence import Evidence
from unweave.result import Outcome

RULES = ClaimRules()
CERTIFICATE = Certificate(
    largest_error=3e-15,
    rms_error=1e-15,
    fresh_queries=299,
    confidence=0.95,
    coverage=coverage_of(299, confidence=0.95),
    noise=1e-16,
    smallest_singular=1.0,
    is_singular_estimated=False,
    radius=1e-12,
    isolation=0.1,
)
EVIDENCE = Evidence(
    network="3 neurons of relu", certificate=CERTIFICATE, floor=1e-15, limit=1e-14, tolerance=4e-14, explains=True
)


def test_all_evidence_makes_a_network_identified() -> None:
    outcome, reason = RULES(EVIDENCE)
    assert outcome is Outcome.IDENTIFIED
    assert "less than 1.0e-14 of their spread on average could still hide" in reason
    assert "fills less than 1% of the domain" in reason


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({}, "whatever bends outside of the domain"),
        ({"reach": 3e4}, "whatever bends farther out than 30000 times the reach of the domain"),
        ({"is_box": True}, "without reaching any of all vertices"),
    ],
)
def test_it_is_named_what_could_hide_where_nothing_was_tried(change: dict[str, object], words: str) -> None:
    assert words in RULES(replace(EVIDENCE, **change))[1]  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    ("change", "outcome", "words"),
    [
        ({"is_complete": False}, Outcome.PARTLY_IDENTIFIED, "of the spread) on at least 99%"),
        ({"is_constant": True}, Outcome.PARTLY_IDENTIFIED, "constant on at least 99%"),
        ({"missed": 3}, Outcome.PARTLY_IDENTIFIED, "of the spread) on at least 97.4%"),
        ({"missed_trials": 3}, Outcome.PARTLY_IDENTIFIED, "What is missing there"),
        ({"missed": 280}, Outcome.NOT_IDENTIFIED, "no network of the known kinds"),
        ({"missed": 3, "is_constant": True}, Outcome.PARTLY_IDENTIFIED, "of the spread) on at least 97.4%"),
        (
            {"missed": 3, "is_constant": True, "is_rounded": True},
            Outcome.NOT_IDENTIFIED,
            "constant up to rounding, but 3 others are not",
        ),
        ({"limit": 0.2, "floor": 0.05}, Outcome.NOT_IDENTIFIED, "nothing is identified above 0.1"),
        ({"limit": 0.2, "unit_excess": 1e13}, Outcome.NOT_IDENTIFIED, "changes 1.0e+13 times less"),
        ({"limit": 3.0, "unit_excess": 5.0}, Outcome.NOT_IDENTIFIED, "too rough or noisy"),
        ({"certificate": replace(CERTIFICATE, radius=1.5)}, Outcome.PARTLY_IDENTIFIED, "within a relative 1.5e+00"),
        ({"certificate": replace(CERTIFICATE, radius=np.inf)}, Outcome.PARTLY_IDENTIFIED, "not pinned down"),
        (
            {"explains": False, "certificate": replace(CERTIFICATE, rms_error=1e-6)},
            Outcome.PARTLY_IDENTIFIED,
            "left unexplained",
        ),
    ],
)
def test_whatever_is_missing_makes_the_word_smaller(change: dict[str, object], outcome: Outcome, words: str) -> None:
    found, reason = RULES(replace(EVIDENCE, **change))  # pyright: ignore[reportArgumentType]
    assert found is outcome
    assert words in reason


def test_a_contradiction_comes_first() -> None:
    _, reason = RULES(replace(EVIDENCE, contradiction="5 neurons were given and 3 are visible."))
    assert reason.startswith("5 neurons were given and 3 are visible. 3 neurons of relu;")


def test_vertices_are_named_in_a_box() -> None:
    boxed = replace(EVIDENCE, is_box=True)
    assert "all vertices" in RULES(boxed)[1]
    drawn = replace(boxed, drawn_vertices=4_096, certificate=replace(CERTIFICATE, trials=4_196))
    assert "4196 vertices and points of faces" in RULES(drawn)[1]
    assert "less than 0.07% of all vertices" in RULES(drawn)[1]


@pytest.mark.parametrize("candidates", [1, 4])
@pytest.mark.parametrize("coverage", [0.95, 0.99])
def test_as_many_fresh_points_are_asked_as_the_coverage_needs(coverage: float, candidates: int) -> None:
    needed = fresh_needed(coverage, confidence=0.95, candidates=candidates)
    assert coverage_of(needed, confidence=0.95, candidates=candidates) >= coverage
    assert coverage_of(needed - 1, confidence=0.95, candidates=candidates) < coverage


def test_the_share_that_is_right_holds_as_often_as_it_says() -> None:
    rng = np.random.default_rng(0)
    truth, fresh, trials = 0.97, 120, 4_000
    missed = rng.binomial(fresh, 1 - truth, trials)
    claimed = np.array([right_share(fresh, int(k), confidence=0.95) for k in missed])
    assert np.mean(claimed <= truth) >= 0.95
    # The bound is not so cautious that it says nothing.
    assert np.mean(claimed) > truth - 0.06


def test_a_student_that_is_pinned_down_is_identified_as_any_other_network() -> None:
    student = replace(EVIDENCE, is_student=True, fresh_errors=(1e-15,) * 299)
    assert RULES(student) == RULES(EVIDENCE)
    assert RULES.certificate(student) == CERTIFICATE


IMITATION = replace(
    EVIDENCE,
    network="20 neurons of tanh",
    certificate=replace(CERTIFICATE, rms_error=1e-7, radius=np.inf, isolation=0.0),
    explains=False,
    is_student=True,
    fresh_errors=(1e-7,) * 298 + (3e-7,),
)


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"explains": True},
        {"explains": True, "certificate": replace(CERTIFICATE, radius=1.5)},
        {"explains": True, "certificate": CERTIFICATE, "is_complete": False},
        {"explains": True, "certificate": CERTIFICATE, "missed_trials": 1},
    ],
    ids=str,
)
def test_neurons_of_other_students_are_not_claimed(change: dict[str, object]) -> None:
    evidence = replace(IMITATION, **change)  # pyright: ignore[reportArgumentType]
    outcome, reason = RULES(evidence)
    assert outcome is Outcome.PARTLY_IDENTIFIED
    assert "answers like the model to 6.0e-07 of the spread on at least 99% of the domain" in reason
    assert "not claimed to be the model's" in reason
    assert not RULES.certificate(evidence).is_isolated


def test_a_student_that_misses_answers_is_not_shown() -> None:
    poor = replace(IMITATION, certificate=replace(CERTIFICATE, rms_error=1e-3), fresh_errors=(1e-3,) * 299)
    outcome, reason = RULES(poor)
    assert outcome is Outcome.NOT_IDENTIFIED
    assert "no network of the known kinds" in reason


def test_a_student_is_not_claimed_in_a_unit_that_nobody_knows() -> None:
    """The campaign: a kink in a corner; the spread of corners was 17 times that of the domain."""
    evidence = replace(IMITATION, is_box=True, trial_error=2.0, changes_rarely=True)
    outcome, reason = RULES(evidence)
    assert outcome is Outcome.NOT_IDENTIFIED
    assert "all fresh answers are constant up to rounding, but others" in reason
    assert not RULES.imitation_checks(evidence)
    assert RULES.imitation_checks(replace(evidence, changes_rarely=False))


def test_a_student_that_misses_a_corner_is_claimed_for_the_rest() -> None:
    errors = (1e-14,) * 297 + (0.1,) * 2
    cornered = replace(
        IMITATION, certificate=replace(CERTIFICATE, rms_error=8e-3), fresh_errors=errors, is_box=True, trial_error=0.4
    )
    outcome, reason = RULES(cornered)
    assert outcome is Outcome.PARTLY_IDENTIFIED
    assert "up to 8.0e-01 at vertices" in reason
    checks = {check.name: check.value for check in RULES.imitation_checks(cornered)}
    assert checks == {
        IMITATED_SHARE: right_share(299, 2, confidence=0.95),
        IMITATED_ERROR: RULES.partly_explained,
        IMITATED_CORNERS: 0.8,
    }


def test_nothing_is_claimed_about_vertices_that_were_not_all_asked() -> None:
    cut_short = replace(IMITATION, is_box=True, trial_error=0.0, are_corners_tried=False)
    outcome, reason = RULES(cut_short)
    assert outcome is Outcome.PARTLY_IDENTIFIED
    assert "to an unknown error at vertices and faces of the box" in reason
    assert IMITATED_CORNERS not in {check.name for check in RULES.imitation_checks(cut_short)}


def test_a_small_residual_is_said_of_the_answers_that_show_it() -> None:
    """Sixteen answers in the middle of a box do not speak for its corners."""
    seen = replace(CERTIFICATE, rms_error=1e-8, largest_error=3e-8, fresh_queries=16, coverage=0.829)
    weak = replace(EVIDENCE, certificate=seen, explains=False, fresh_errors=(1e-8, 2e-8))
    outcome, reason = RULES(weak)
    assert outcome is Outcome.PARTLY_IDENTIFIED
    assert "answers like the model to 6.0e-08 of the spread on at least 82.9% of the domain" in reason
    assert "at 16 fresh points is 1.0e-08" in reason
    assert "may be larger at other places" in reason


def test_a_corner_that_is_missed_does_not_spoil_what_is_said_of_the_domain() -> None:
    """The largest error of a certificate is that of vertices, too, which are spoken of apart."""
    seen = replace(CERTIFICATE, rms_error=1e-8, largest_error=1.4, fresh_queries=3)
    errors = (1e-8, 2e-8, 3e-8)
    weak = replace(EVIDENCE, certificate=seen, explains=False, fresh_errors=errors, is_box=True, trial_error=1.4)
    _, reason = RULES(weak)
    assert "answers like the model to 6.0e-08 of the spread" in reason
    assert "up to 2.8e+00 at vertices and faces of the box" in reason


class TestRoundedAnswers:
    """What is said of a network that meets rounded answers, and is not confirmed by the places where they switch."""

    coarse = replace(CERTIFICATE, rms_error=1e-3, largest_error=2e-3, radius=np.inf, isolation=0.0)

    @pytest.mark.parametrize("is_student", [False, True])
    def test_nothing_is_right_about_a_network_that_they_contradict(self, is_student: bool) -> None:
        evidence = replace(EVIDENCE, certificate=self.coarse, explains=False, limit=1e-2, floor=1e-3, is_refuted=True)
        outcome, reason = RULES(replace(evidence, is_student=is_student, fresh_errors=(1e-3,) * 299))
        assert outcome is Outcome.NOT_IDENTIFIED
        assert "they do not switch from one number to the next where it says so" in reason

    @pytest.mark.parametrize(("crossings", "words"), [(59, "59 places where they switch"), (0, "no exact values")])
    def test_a_network_that_they_do_not_confirm_is_not_said_to_miss_answers(self, crossings: int, words: str) -> None:
        certificate = replace(self.coarse, crossings=crossings)
        evidence = replace(EVIDENCE, certificate=certificate, limit=1e-2, floor=1e-3, is_student=True)
        outcome, reason = RULES(replace(evidence, fresh_errors=(1e-3,) * 299))
        assert outcome is Outcome.NOT_IDENTIFIED
        assert words in reason
        assert "misses fresh answers" not in reason


def test_neurons_that_leave_a_little_unexplained_are_not_claimed() -> None:
    """Two of tanh are nearly one of arctan, and nearly three of tanh one of which is weak: answers do not tell."""
    weak = replace(EVIDENCE, certificate=replace(CERTIFICATE, rms_error=1e-8), explains=False, fresh_errors=(1e-8,))
    assert RULES.is_imitation(weak)
    assert RULES(weak)[1].endswith("are not claimed to be the model's.")
    assert not RULES.certificate(weak).is_isolated
    assert not RULES.is_imitation(replace(weak, certificate=replace(CERTIFICATE, rms_error=1e-4)))
    assert RULES(replace(weak, network="an affine function"))[1].startswith("an affine function answers like")
