"""Identify a network from queries: choose a way to its neurons, refine, judge.

Every stage hands one frozen object to the next. A mathematical failure ends the run with an outcome
and a reason, never with a wrong network.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from unweave.activations import RELU, STEP, Activation
from unweave.certificates.diagnostics import network_quality
from unweave.exceptions import BudgetExhausted, OracleError, StageFailed
from unweave.identification import reasons
from unweave.identification.hessians.route import HessianRoute
from unweave.identification.kinks.route import KinkRoute
from unweave.identification.peeling.route import DeepRoute
from unweave.identification.plateaus.route import PlateauRoute, is_constant_at_the_centre, is_constant_in_parts
from unweave.identification.plateaus.search import LowestLayerSearch
from unweave.identification.refiner import Candidate, Judge
from unweave.identification.relu_layers.route import ReluLayersRoute
from unweave.identification.relu_layers.search import looks_shallow
from unweave.identification.saturation.route import FarRoute
from unweave.identification.saturation.tails import FarBehaviour, FarLook, look_far
from unweave.identification.session import Probe, Progress, Run
from unweave.numerics.network_fit import LevenbergMarquardt
from unweave.numerics.subspace_power import SubspacePower
from unweave.oracles.domains import Box
from unweave.oracles.noise import LINE_POINTS
from unweave.oracles.oracle import Oracle
from unweave.result import Outcome, Result
from unweave.threads import limited_threads

Route = Callable[[Run, Probe, Judge], Candidate | Result]

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
        run = Run(oracle, rng, progress or (lambda *_: None), activation=self.activation, neurons=self.neurons)
        with limited_threads():
            try:
                return self._identify(run)
            except StageFailed as failure:
                return run.finish(Outcome.NOT_IDENTIFIED, str(failure))
            except BudgetExhausted as failure:
                if run.first_layer is not None:
                    reason = f"{run.first_layer.reason} The budget is too small for more: {failure}"
                    return run.finish(Outcome.PARTLY_IDENTIFIED, reason)
                return run.finish(Outcome.NOT_IDENTIFIED, f"the budget is too small: {failure}")

    def _identify(self, run: Run) -> Result:
        with run.stage("probing the answers"):
            probe = run.probe()
        judge = Judge(probe.answers, self.refine, probe.scale.noise)
        best: tuple[Candidate, str] | None = None
        failure: StageFailed | OracleError | None = None
        for route in self._routes(run, probe):
            try:
                result = route(run, probe, judge)
            except StageFailed as reason:
                run.notes.append(f"The {run.route} ended without a network: {reason}")
                failure = failure or reason
                continue
            except OracleError as problem:
                if isinstance(route, HessianRoute):
                    raise
                run.notes.append(
                    f"The model does not answer far from the centre, so no {run.route} was made: {problem}"
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
                best = result, run.route
            if result.explains:
                break
        if run.first_layer is not None and (best is None or not best[0].explains):
            return run.finish(Outcome.PARTLY_IDENTIFIED, run.first_layer.reason)
        if best is None:
            raise failure or StageFailed("no way to the neurons of this function is known.")
        candidate, run.route = best
        return _judged(run, candidate)

    def _routes(self, run: Run, probe: Probe) -> Iterator[Route]:
        """The ways to the neurons, best first; the next one is tried if one fails."""
        may_leave = self.walks and not isinstance(run.oracle.domain, Box) and run.activation in (None, STEP, RELU)
        if may_leave and (run.activation == STEP or self._is_constant_in_parts(run, probe)):
            run.choose(PlateauRoute.name, "the answers are constant around every place that was looked at.")
            yield PlateauRoute()
            if run.first_layer is not None and run.first_layer.standard.activation == RELU:
                run.choose(KinkRoute.name, "the answers bend where they leave the plateau.")
                yield KinkRoute()
                run.route = PlateauRoute.name
            if run.first_layer is not None:
                return
        if run.activation == STEP:
            return
        yield from self._routes_of_slopes(run, probe)
        if may_leave and run.first_layer is None and is_constant_at_the_centre(run, probe):
            run.choose(PlateauRoute.name, "nothing explains the answers, which are constant around the centre.")
            yield PlateauRoute(LowestLayerSearch(homes=0))

    def _is_constant_in_parts(self, run: Run, probe: Probe) -> bool:
        """Whether answers change nowhere nearby, first on the lines that have told the noise."""
        lines = np.split(probe.answers.values[: 2 * LINE_POINTS], 2)
        if all(np.any(np.ptp(line, axis=0) > 0.0) for line in lines):
            return False
        with run.stage("probing the answers"):
            return is_constant_in_parts(run, probe)

    def _routes_of_slopes(self, run: Run, probe: Probe) -> Iterator[Route]:
        """The ways that need activations with slopes."""
        far = self._look_far(run, probe)
        if far is not None and far.behaviour is FarBehaviour.JUMPS and FarRoute(far).suits(run.activation):
            run.choose(FarRoute.name, f"inputs may be large, and far out the answers are {far.behaviour.value}.")
            yield FarRoute(far)
        has_looked, has_kinks = self._look_for_kinks(run, probe)
        if has_kinks and self.walks:
            if self._has_bent_kinks(run, probe):
                run.choose(ReluLayersRoute.name, "kinks bend where they meet others: there is a second layer of them.")
                yield ReluLayersRoute()
                if run.first_layer is not None:
                    return
            run.choose(KinkRoute.name, "the function is straight nearby and bent farther away, as kinks make it.")
            yield KinkRoute()
        if run.first_layer is not None:
            run.choose(DeepRoute.name, "the jumps far out are not those of single neurons: there are layers above.")
            yield DeepRoute(self.power)
            return
        if far is not None and far.behaviour is FarBehaviour.KINKS:
            run.bends_far = True
            if not has_kinks and FarRoute(far).suits(run.activation):
                run.choose(FarRoute.name, f"inputs may be large, and far out the answers are {far.behaviour.value}.")
                yield FarRoute(far)
                run.choose(KinkRoute.name, "far out the answers have kinks that are not rounded off.")
                yield KinkRoute()
        if has_kinks and self.walks:
            return
        run.choose(HessianRoute.name, self._why_hessians(run))
        yield HessianRoute(self.power)
        if not has_looked and self.walks and run.has_kinks(probe):
            run.choose(KinkRoute.name, "the Hessians do not explain a function that is straight nearby.")
            yield KinkRoute()

    def _look_for_kinks(self, run: Run, probe: Probe) -> tuple[bool, bool]:
        """Whether kinks were looked for, and whether there are some."""
        if run.activation is not None:
            return True, run.activation.is_piecewise_linear
        scale = probe.scale
        if scale.is_straight or scale.roughness > SMOOTH_ROUGHNESS or scale.second < 1e3 * scale.noise:
            with run.stage("probing the answers"):
                return True, run.has_kinks(probe)
        return False, False

    def _has_bent_kinks(self, run: Run, probe: Probe) -> bool:
        """Whether parallel lines meet other kinks, which those of a shallow network do not."""
        if isinstance(run.oracle.domain, Box) or run.oracle.inputs == 1:
            return False
        try:
            with run.stage("probing the answers"):
                return not looks_shallow(run, probe)
        except (OracleError, StageFailed):
            return False

    def _look_far(self, run: Run, probe: Probe) -> FarLook | None:
        if not self.walks or isinstance(run.oracle.domain, Box) or run.oracle.inputs == 1:
            return None
        try:
            with run.stage("probing the answers"):
                return look_far(probe, run.rng_walk)
        except OracleError as problem:
            run.notes.append(f"The model does not answer far from the centre, so no far path was walked: {problem}")
            return None

    def _why_hessians(self, run: Run) -> str:
        if isinstance(run.oracle.domain, Box):
            return "the domain is a box, which excludes far paths."
        if run.oracle.inputs == 1 or not self.walks:
            return "no path was walked."
        return "no walk has led to a network: far out the answers are not constant or affine, or the walk failed."


def _judged(run: Run, best: Candidate) -> Result:
    run.diagnostics += [*best.start.checks, *network_quality(best.network, best.certificate)]
    outcome, reason = reasons.outcome_of(best)
    if not best.explains and run.oracle.ledger.left < best.network.parameters:
        run.notes.append("The budget was used up before anything else could be tried: raise it.")
    if outcome is Outcome.NOT_IDENTIFIED:
        return run.finish(outcome, reason)
    if run.neurons is not None and best.network.widths[0] != run.neurons:
        run.notes.append(reasons.other_width(best.network.widths[0], run.neurons))
    network = reasons.as_delivered(best, run.activation)
    if run.activation is not None and network.layers[0].activation != run.activation:
        run.notes.append(f"The answers are not those of a {run.activation} network without an affine part.")
    if network.skip is not None and network.layers[0].activation.reflected_slope != 0.0:
        run.notes.append(
            "This activation leaves the signs of neurons open up to an affine part: the network carries one (skip)."
        )
    return run.finish(outcome, reason, network, best.certificate)
