"""Identify a network from queries: choose a way to its neurons, refine, judge.

Every stage hands one frozen object to the next. A mathematical failure ends the run with an outcome
and a reason, never with a wrong network.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from unweave.activations import RELU, STEP, Activation, base_of
from unweave.certificates.diagnostics import network_quality
from unweave.exceptions import BudgetExhausted, OracleError, StageFailed
from unweave.identification import reasons
from unweave.identification.hessians.route import HessianRoute
from unweave.identification.kinks.route import KinkWalk
from unweave.identification.peeling.route import LayerPeeling
from unweave.identification.plateaus.route import PlateauWalk, is_constant_at_the_centre, is_constant_in_parts
from unweave.identification.plateaus.search import LowestLayerSearch
from unweave.identification.refiner import Candidate, Refiner
from unweave.identification.relu_layers.route import TwoLayerKinkWalk, looks_shallow
from unweave.identification.saturation.route import SaturationWalk, TailBehaviour, Tails, measure_tails
from unweave.identification.session import Probe, Progress, Session
from unweave.networks.network import Network
from unweave.networks.symmetries import express
from unweave.numerics.network_fit import LevenbergMarquardt
from unweave.numerics.subspace_power import SubspacePower
from unweave.oracles.oracle import LINE_POINTS, Box, Oracle
from unweave.oracles.views import in_oracle_units
from unweave.result import Outcome, Result
from unweave.threads import limited_threads

Route = Callable[[Session, Probe, Refiner], Candidate | Result]

# Relative change of second differences between two fine steps above which kinks are looked for.
SMOOTH_ROUGHNESS = 0.2


@dataclass(frozen=True)
class Identifier:
    """Settings of the query pipeline.

    Args:
        activation: the activation, if it is known.
        neurons: the number of neurons, if it is known.
        walks: whether neurons may be read off along paths; if not, Hessians are the only way.
        power: how directions are found in the span of the Hessians.
        refine: how the network is refined.
    """

    activation: Activation | None = None
    neurons: int | None = None
    walks: bool = True
    power: SubspacePower = field(default_factory=SubspacePower)
    refine: LevenbergMarquardt = field(default_factory=LevenbergMarquardt)

    def __call__(self, oracle: Oracle, *, seed: int = 0, progress: Progress | None = None) -> Result:
        """Recover the network behind `oracle`, or say why that is not possible."""
        rng = np.random.default_rng(seed)
        session = Session(oracle, rng, progress or (lambda *_: None), activation=self.activation, neurons=self.neurons)
        with limited_threads():
            try:
                return self._identify(session)
            except StageFailed as failure:
                return session.finish(Outcome.NOT_IDENTIFIED, str(failure))
            except BudgetExhausted as failure:
                if session.first_layer is not None:
                    reason = f"{session.first_layer.reason} The budget is too small for more: {failure}"
                    return session.finish(Outcome.PARTLY_IDENTIFIED, reason)
                return session.finish(Outcome.NOT_IDENTIFIED, f"the budget is too small: {failure}")

    def _identify(self, session: Session) -> Result:
        with session.stage("probing the answers"):
            probe = session.probe()
        refiner = Refiner(probe.answers, self.refine, probe.scale.noise)
        best: tuple[Candidate, str] | None = None
        failure: StageFailed | OracleError | None = None
        for route in self._routes(session, probe):
            try:
                result = route(session, probe, refiner)
            except StageFailed as reason:
                session.notes.append(f"The {session.route} ended without a network: {reason}")
                failure = failure or reason
                continue
            except OracleError as problem:
                if isinstance(route, HessianRoute):
                    raise
                session.notes.append(
                    f"The model does not answer far from the centre, so no {session.route} was made: {problem}"
                )
                # A model that fails on the only way there is has failed, and is not unidentifiable.
                failure = failure or problem
                continue
            except BudgetExhausted:
                if best is None:
                    raise
                break
            if isinstance(result, Result):
                return result
            if best is None or result.certificate.rms_error < best[0].certificate.rms_error:
                best = result, session.route
            if result.explains:
                break
        if session.first_layer is not None and (best is None or not best[0].explains):
            return session.finish(Outcome.PARTLY_IDENTIFIED, session.first_layer.reason)
        if best is None:
            raise failure or StageFailed("no way to the neurons of this function is known.")
        candidate, session.route = best
        return _judged(session, candidate)

    def _routes(self, session: Session, probe: Probe) -> Iterator[Route]:
        """The ways to the neurons, best first; the next one is tried if one fails."""
        may_leave = (
            self.walks and not isinstance(session.oracle.domain, Box) and session.activation in (None, STEP, RELU)
        )
        if may_leave and (session.activation == STEP or self._is_constant_in_parts(session, probe)):
            session.choose(PlateauWalk.name, "the answers are constant around every place that was looked at.")
            yield PlateauWalk()
            if session.first_layer is not None and session.first_layer.standard.activation == RELU:
                session.choose(KinkWalk.name, "the answers bend where they leave the plateau.")
                yield KinkWalk()
                session.route = PlateauWalk.name
            if session.first_layer is not None:
                return
        if session.activation == STEP:
            return
        yield from self._routes_of_slopes(session, probe)
        if may_leave and session.first_layer is None and is_constant_at_the_centre(session, probe):
            session.choose(PlateauWalk.name, "nothing explains the answers, which are constant around the centre.")
            yield PlateauWalk(LowestLayerSearch(homes=0))

    def _is_constant_in_parts(self, session: Session, probe: Probe) -> bool:
        """Whether answers change nowhere nearby, first on the lines that have told the noise."""
        lines = np.split(probe.answers.values[: 2 * LINE_POINTS], 2)
        if all(np.any(np.ptp(line, axis=0) > 0.0) for line in lines):
            return False
        with session.stage("probing the answers"):
            return is_constant_in_parts(session, probe)

    def _routes_of_slopes(self, session: Session, probe: Probe) -> Iterator[Route]:
        """The ways that need activations with slopes."""
        far = self._measure_tails(session, probe)
        if far is not None and far.behaviour is TailBehaviour.JUMPS and SaturationWalk(far).suits(session.activation):
            session.choose(
                SaturationWalk.name, f"inputs may be large, and far out the answers are {far.behaviour.value}."
            )
            yield SaturationWalk(far)
        has_looked, has_kinks = self._look_for_kinks(session, probe)
        if has_kinks and self.walks:
            if self._has_bent_kinks(session, probe):
                session.choose(
                    TwoLayerKinkWalk.name, "kinks bend where they meet others: there is a second layer of them."
                )
                yield TwoLayerKinkWalk()
                if session.first_layer is not None:
                    return
            session.choose(KinkWalk.name, "the function is straight nearby and bent farther away, as kinks make it.")
            yield KinkWalk()
        if session.first_layer is not None:
            session.choose(
                LayerPeeling.name, "the jumps far out are not those of single neurons: there are layers above."
            )
            yield LayerPeeling(self.power)
            return
        if far is not None and far.behaviour is TailBehaviour.KINKS:
            session.bends_far = True
            if not has_kinks and SaturationWalk(far).suits(session.activation):
                session.choose(
                    SaturationWalk.name, f"inputs may be large, and far out the answers are {far.behaviour.value}."
                )
                yield SaturationWalk(far)
                session.choose(KinkWalk.name, "far out the answers have kinks that are not rounded off.")
                yield KinkWalk()
        if has_kinks and self.walks:
            return
        session.choose(HessianRoute.name, self._why_hessians(session))
        yield HessianRoute(self.power)
        if not has_looked and self.walks and session.has_kinks(probe):
            session.choose(KinkWalk.name, "the Hessians do not explain a function that is straight nearby.")
            yield KinkWalk()

    def _look_for_kinks(self, session: Session, probe: Probe) -> tuple[bool, bool]:
        """Whether kinks were looked for, and whether there are some."""
        if session.activation is not None:
            return True, session.activation.is_piecewise_linear
        scale = probe.scale
        if scale.is_straight or scale.roughness > SMOOTH_ROUGHNESS or scale.second < 1e3 * scale.noise:
            with session.stage("probing the answers"):
                return True, session.has_kinks(probe)
        return False, False

    def _has_bent_kinks(self, session: Session, probe: Probe) -> bool:
        """Whether parallel lines meet other kinks, which those of a shallow network do not."""
        if isinstance(session.oracle.domain, Box) or session.oracle.inputs == 1:
            return False
        try:
            with session.stage("probing the answers"):
                return not looks_shallow(session, probe)
        except (OracleError, StageFailed):
            return False

    def _measure_tails(self, session: Session, probe: Probe) -> Tails | None:
        if not self.walks or isinstance(session.oracle.domain, Box) or session.oracle.inputs == 1:
            return None
        try:
            with session.stage("probing the answers"):
                return measure_tails(probe, session.rng_walk)
        except OracleError as problem:
            session.notes.append(f"The model does not answer far from the centre, so no far path was walked: {problem}")
            return None

    def _why_hessians(self, session: Session) -> str:
        if isinstance(session.oracle.domain, Box):
            return "the domain is a box, which excludes far paths."
        if session.oracle.inputs == 1 or not self.walks:
            return "no path was walked."
        return "no walk has led to a network: far out the answers are not constant or affine, or the walk failed."


def _judged(session: Session, best: Candidate) -> Result:
    session.diagnostics += [*best.start.checks, *network_quality(best.network, best.certificate)]
    outcome, reason = reasons.outcome_of(best)
    if not best.explains and session.oracle.ledger.left < best.network.parameters:
        session.notes.append("The budget was used up before anything else could be tried: raise it.")
    if outcome is Outcome.NOT_IDENTIFIED:
        return session.finish(outcome, reason)
    if session.neurons is not None and best.network.widths[0] != session.neurons:
        session.notes.append(reasons.other_width(best.network.widths[0], session.neurons))
    network = as_delivered(best, session.activation)
    if session.activation is not None and network.layers[0].activation != session.activation:
        session.notes.append(f"The answers are not those of a {session.activation} network without an affine part.")
    if network.skip is not None and network.layers[0].activation.reflected_slope != 0.0:
        session.notes.append(
            "This activation leaves the signs of neurons open up to an affine part: the network carries one (skip)."
        )
    return session.finish(outcome, reason, network, best.certificate)


def as_delivered(candidate: Candidate, activation: Activation | None) -> Network:
    """The network in the oracle's units, written with the activation that was asked for where it can be."""
    network = in_oracle_units(candidate.network, candidate.units)
    if activation is None or any(base_of(activation) != base_of(each) for each in network.activations[:-1]):
        return network
    return express(network, activation)
