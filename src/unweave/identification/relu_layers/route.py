"""Two hidden layers of relu, as one of the ways to the neurons: found by kinks, judged like every other network."""

from dataclasses import dataclass, field, replace

import numpy as np
from jaxtyping import Float64

from unweave.exceptions import StageFailed
from unweave.identification.refiner import Candidate, Refiner, Start
from unweave.identification.relu_layers.first_layer import OUTER
from unweave.identification.relu_layers.search import TwoLayerSearch
from unweave.identification.session import FirstLayer, Probe, Session
from unweave.identification.walks.kinks import KinkedLine, KinkSearch
from unweave.identification.walks.lines import far_line
from unweave.oracles.views import in_oracle_units, layer_in_oracle_units
from unweave.result import Outcome, Result, at_least

# Share of bends that two parallel lines through a shallow network have in common, with a margin for bends beyond
# their ends; and how much farther from the centre the second line is.
SHALLOW_SHARE = 0.75
PARALLEL = 10.0


@dataclass(frozen=True)
class TwoLayerKinkWalk:
    """Settings of the way through two layers of kinks.

    Args:
        search: how the layers are found.
    """

    search: TwoLayerSearch = field(default_factory=TwoLayerSearch)
    name = TwoLayerSearch.name

    def __call__(self, session: Session, probe: Probe, refiner: Refiner) -> Candidate | Result:
        """The network, or what is known of it.

        Raises:
            StageFailed: if nothing, or the first layer only, was found; the run then knows it.
        """
        with session.stage("walking along kinks"):
            found = self.search(session, probe)
        if found.network is None:
            if found.first_layer is not None:
                layer = layer_in_oracle_units(found.first_layer, probe.oracle)
                session.first_layer = FirstLayer(found.first_layer, layer, found.reason)
            raise StageFailed(found.reason)
        if found.network.parameters > refiner.refine.deep_limit:
            reason = f"{found.reason} The network is too large for a certificate on its parameters."
            return session.finish(Outcome.PARTLY_IDENTIFIED, reason, in_oracle_units(found.network, probe.oracle))
        with session.stage("refining"):
            candidate = refiner(Start(found.network, found.fresh_error, found.checks))
        if found.outcome is not Outcome.IDENTIFIED:
            # The judge can't know of neurons that no input switches off.
            delivered = in_oracle_units(candidate.network, candidate.units)
            return session.finish(found.outcome, found.reason, delivered, candidate.certificate)
        return candidate


def looks_shallow(session: Session, probe: Probe) -> bool:
    """Whether a piecewise linear function bends alike on two parallel lines, as shallow networks do.

    Costs about ten queries per kink on two lines, whatever the number of inputs.

    Raises:
        StageFailed: if it is not piecewise linear.

    Assumes: the domain has no end, and there are two inputs at least.
    """
    near = far_line(probe.oracle.inputs, session.rng_walk, radius=float(np.sqrt(probe.oracle.inputs)), outer=OUTER)
    # Far apart, so that most upper neurons are met on one side by the one and on the other by the other.
    far = replace(near, base=-PARALLEL * near.base, unit=PARALLEL * near.unit)
    settings = KinkSearch(noise=probe.scale.noise, rounding=probe.rounding)
    share = share_of_common_bends(settings(probe.oracle.query, near), settings(probe.oracle.query, far))
    session.diagnostics.append(
        at_least(
            "share of bends that two parallel lines have in common",
            share,
            SHALLOW_SHARE,
            "neurons of a shallow network bend all parallel lines alike: there are further layers",
            weak=0.0,
        )
    )
    return share >= SHALLOW_SHARE


# Bends are the same if they differ by this share of the largest one.
SAME_BEND = 1e-6


def share_of_common_bends(one: KinkedLine, other: KinkedLine) -> float:
    """Share of the bends on a line that a parallel one has as well: about 1 for shallow networks.

    Where the lines have different numbers of bends, the share of the larger number; 1 if there are none.
    """
    first, second = _bends(one), _bends(other)
    if len(first) == 0 or len(second) == 0:
        return float(len(first) == len(second))
    distances = np.max(np.abs(first[:, None] - second[None]), axis=2)
    allowed = SAME_BEND * max(float(np.max(np.abs(first))), float(np.max(np.abs(second))))
    common = np.count_nonzero(np.min(distances, axis=1) <= allowed)
    return float(common / max(len(first), len(second)))


def _bends(walked: KinkedLine) -> Float64[np.ndarray, "kinks outputs"]:
    """Changes of slope at the kinks that were resolved."""
    pairs = zip(walked.kinks, walked.pieces, walked.pieces[1:], strict=False)
    bends = [after.slope - before.slope for kink, before, after in pairs if kink.is_resolved and before and after]
    outputs = len(bends[0]) if bends else 1
    return np.array(bends).reshape(-1, outputs)
