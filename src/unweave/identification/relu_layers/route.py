"""Two hidden layers of relu, as one of the ways to the neurons: found by kinks, judged like every other network."""

from dataclasses import dataclass, field, replace

import numpy as np
from jaxtyping import Float64

from unweave.exceptions import BudgetExhausted, OracleError, StageFailed
from unweave.identification.found import FirstLayer, Found, Settled
from unweave.identification.probing import Probe
from unweave.identification.refiner import Refiner, Start
from unweave.identification.relu_layers.first_layer import FirstReluLayerSearch
from unweave.identification.relu_layers.search import TwoLayerSearch
from unweave.identification.routes import Condition, Decision, Known, Survey, leave, take
from unweave.identification.session import Session
from unweave.identification.walks.kinks import KinkedLine, KinkSearch
from unweave.identification.walks.lines import far_line
from unweave.oracles.views import in_oracle_units, layer_in_oracle_units
from unweave.result import Outcome, at_least


@dataclass(frozen=True, kw_only=True)
class TwoLayerKinkWalk:
    """Settings of the way through two layers of kinks.

    Args:
        suits: when it is taken.
        search: how the layers are found.
    """

    suits: Condition
    search: TwoLayerSearch = field(default_factory=TwoLayerSearch)
    name = "kink walk through two layers"
    asks_far = True

    def __call__(self, survey: Survey, known: Known, refiner: Refiner) -> Found:
        """Find the network, or its first layer; if one is known already, no other route goes on from it."""
        try:
            found = self._found(survey, refiner)
        except StageFailed as failure:
            found = Found(str(failure))
        except (BudgetExhausted, OracleError) as problem:
            found = Found(stopped=problem)
        if found.first_layer is not None or known.first_layer is None:
            return found
        return replace(found, first_layer=replace(known.first_layer, is_last=True))

    def _found(self, survey: Survey, refiner: Refiner) -> Found:
        session, oracle = survey.session, survey.probe.oracle
        with session.stage("walking along kinks"):
            found = self.search(session, survey.probe)
        if found.network is None:
            if found.first_layer is None:
                return Found(found.reason)
            layer = layer_in_oracle_units(found.first_layer, oracle)
            return Found(found.reason, first_layer=FirstLayer(found.first_layer, layer, found.reason))
        if found.network.parameters > refiner.refine.deep.limit:
            reason = f"{found.reason} The network is too large for a certificate on its parameters."
            network = in_oracle_units(found.network, oracle)
            return Found(settled=Settled(Outcome.PARTLY_IDENTIFIED, reason, network))
        with session.stage("refining"):
            candidate = refiner(Start(found.network, found.fresh_error, found.checks))
        if found.outcome is Outcome.IDENTIFIED:
            return Found(candidate=candidate)
        # The refiner can't know of neurons that no input switches off.
        network = in_oracle_units(candidate.network, candidate.units)
        certificate = candidate.with_delivered_radius().certificate
        return Found(settled=Settled(found.outcome, found.reason, network, certificate))


@dataclass(frozen=True)
class KinksBend:
    """Suit functions whose kinks bend where they meet others: there is a second layer of them.

    Args:
        shallow_share: share of bends that two parallel lines through a shallow network have in common, with a margin
            for bends beyond their ends.
        parallel: how much farther from the centre the second of the two lines is; chosen: so far apart that most upper
            neurons are met on one side by the one and on the other by the other.
        outer: angle at which they end, as for first layers.
    """

    shallow_share: float = 0.75
    parallel: float = 10.0
    outer: float = FirstReluLayerSearch.outer

    def __call__(self, survey: Survey, known: Known) -> Decision:
        """Compare two parallel lines, if there are kinks."""
        if why := known.closes(survey):
            return leave(why)
        if not survey.has_kinks:
            return leave("no kinks were seen in the first answers.")
        if survey.near_only:
            return leave(survey.near_only)
        try:
            with survey.session.stage("probing the answers"):
                is_shallow = self.looks_shallow(survey.session, survey.probe)
        except (OracleError, StageFailed) as problem:
            return leave(f"the lines that would tell could not be searched: {problem}")
        if is_shallow:
            return leave("all parallel lines bend alike, as those through one hidden layer do.")
        return take("kinks bend where they meet others: there is a second layer of them.")

    def looks_shallow(self, session: Session, probe: Probe) -> bool:
        """Whether a piecewise linear function bends alike on two parallel lines, as shallow networks do.

        Costs about ten queries per kink on two lines, whatever the number of inputs.

        Raises:
            StageFailed: if it is not piecewise linear.

        Assumes: the domain has no end, and there are two inputs at least.
        """
        near = far_line(
            probe.oracle.inputs, session.rng_walk, radius=float(np.sqrt(probe.oracle.inputs)), outer=self.outer
        )
        far = replace(near, base=-self.parallel * near.base, unit=self.parallel * near.unit)
        settings = KinkSearch(noise=probe.scale.noise, rounding=probe.rounding)
        share = share_of_common_bends(settings(probe.oracle.query, near), settings(probe.oracle.query, far))
        session.diagnostics.append(
            at_least(
                "share of bends that two parallel lines have in common",
                share,
                self.shallow_share,
                "neurons of a shallow network bend all parallel lines alike: there are further layers",
                weak=0.0,
            )
        )
        return share >= self.shallow_share


def share_of_common_bends(one: KinkedLine, other: KinkedLine, *, same_bend: float = 1e-6) -> float:
    """Share of the bends on a line that a parallel one has as well: about 1 for shallow networks.

    Where the lines have different numbers of bends, the share of the larger number; 1 if there are none.

    Args:
        one: a line.
        other: parallel to it.
        same_bend: difference up to which bends are the same, as a share of the largest one. 7,522 common bends of
            planted shallow networks differed by 7e-11 at most, and the few that had no partner by 8e-3 at least.
    """
    first, second = _bends(one), _bends(other)
    if len(first) == 0 or len(second) == 0:
        return float(len(first) == len(second))
    distances = np.max(np.abs(first[:, None] - second[None]), axis=2)
    allowed = same_bend * max(float(np.max(np.abs(first))), float(np.max(np.abs(second))))
    common = np.count_nonzero(np.min(distances, axis=1) <= allowed)
    return float(common / max(len(first), len(second)))


def _bends(walked: KinkedLine) -> Float64[np.ndarray, "kinks outputs"]:
    """Changes of slope at the kinks that were resolved."""
    pairs = zip(walked.kinks, walked.pieces, walked.pieces[1:], strict=False)
    bends = [after.slope - before.slope for kink, before, after in pairs if kink.is_resolved and before and after]
    outputs = len(bends[0]) if bends else 1
    return np.array(bends).reshape(-1, outputs)
