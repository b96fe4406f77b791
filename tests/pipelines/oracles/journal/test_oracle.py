"""Calls of `identify` that end in the middle go on from their journal."""

from pathlib import Path

import numpy as np
import pytest

import unweave
from unweave.exceptions import OracleFailed, TransportFailed
from unweave.networks.network import Network
from unweave.networks.planted import general_network
from unweave.oracles.journal.store import JournalFile
from unweave.reports.json import as_document

INPUTS = 4
PROBES = 8


class Model:
    """Answer as a network does, and raise after so many points until it is mended."""

    def __init__(self, network: Network, after: int, trouble: BaseException) -> None:
        self.asked = 0
        self._network, self.most, self._trouble = network, after, trouble

    def __call__(self, points: np.ndarray) -> np.ndarray:
        if self.asked + len(points) > self.most:
            raise self._trouble
        self.asked += len(points)
        return self._network(points)


@pytest.mark.each_value
@pytest.mark.parametrize(
    ("trouble", "raised"),
    [(RuntimeError("out of order"), OracleFailed), (KeyboardInterrupt(), KeyboardInterrupt)],
)
@pytest.mark.parametrize("after", [40, 150])
def test_what_was_paid_for_is_not_asked_again(
    after: int, trouble: BaseException, raised: type[BaseException], tmp_path: Path
) -> None:
    """audit B7: an exception in the model, or Ctrl-C, in the middle of a run; the same call goes on."""
    network = general_network(np.random.default_rng(3), inputs=INPUTS, neurons=3)
    whole = unweave.identify(network, journal=tmp_path / "whole.sqlite").require()
    model, journal = Model(network, after, trouble), tmp_path / "run.sqlite"
    with pytest.raises(raised):
        unweave.identify(model, inputs=INPUTS, journal=journal)
    file = JournalFile(journal, is_read=True)
    assert sum(map(file.count, file.models())) == model.asked - PROBES > 0
    model.most = 10**9
    found = unweave.identify(model, inputs=INPUTS, journal=journal).require()
    assert model.asked == whole.queries + PROBES
    assert found.queries == whole.queries
    assert as_document(found)["network"] == as_document(whole)["network"]


def test_a_function_may_say_that_the_way_to_its_model_has_failed() -> None:
    """Else what it raises is taken for a property of the model, which may have no value far out."""

    def model(points: np.ndarray) -> np.ndarray:
        if np.max(np.abs(points)) > 20.0:
            raise TransportFailed("the service is away")
        return np.tanh(points).sum(axis=1)

    with pytest.raises(TransportFailed, match="the service is away"):
        unweave.identify(model, inputs=INPUTS)
