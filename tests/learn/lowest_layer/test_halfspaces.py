from dataclasses import replace

import numpy as np
import pytest

from unweave.activations import STEP
from unweave.learn.lowest_layer.evidence import FaceEvidence, LowestLayerEvidence
from unweave.learn.lowest_layer.halfspaces import HalfspaceUnion, _Candidate
from unweave.learn.lowest_layer.layer import ThresholdLayer
from unweave.result import Outcome, Verdict

LAYER = ThresholdLayer(np.eye(1, 2), np.zeros(1), np.full(1, np.nan), STEP)
FACES = FaceEvidence(np.zeros(1), 0.1, 0.1, 0.1, 0.0, False, 1.0, np.full(1, 50.0), 0.1, 0.1)


def candidate(wrong: int, outcome: Outcome) -> _Candidate:
    """One of 1,000 held-out labels, the first so many of them wrong."""
    faces = replace(FACES, disagreement=wrong / 1_000)
    return _Candidate(LAYER, True, 1.0 * (np.arange(1_000) < wrong), np.zeros(1), outcome, faces, ())


@pytest.mark.parametrize(("wrong", "outcome"), [(105, Outcome.PARTLY_IDENTIFIED), (130, Outcome.NOT_IDENTIFIED)])
def test_a_claim_is_withdrawn_if_held_out_labels_contradict_it(wrong: int, outcome: Outcome) -> None:
    claim, smooth = candidate(wrong, Outcome.PARTLY_IDENTIFIED), candidate(100, Outcome.NOT_IDENTIFIED)
    best = HalfspaceUnion(LowestLayerEvidence())._preferred([claim], [smooth])
    assert best.outcome is outcome
    assert best.wrong.sum() == (wrong if outcome is Outcome.PARTLY_IDENTIFIED else 100)
    assert (best.diagnostics[-1].verdict is Verdict.FAIL) == (outcome is Outcome.NOT_IDENTIFIED)


def test_chance_does_not_replace_what_was_chosen() -> None:
    smooth, near, better = (candidate(wrong, Outcome.NOT_IDENTIFIED) for wrong in (100, 98, 80))
    search = HalfspaceUnion(LowestLayerEvidence())
    assert search._preferred([near], [smooth]) is smooth
    assert search._preferred([better], [smooth]) is better
