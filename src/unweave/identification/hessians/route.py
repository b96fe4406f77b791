"""Neurons from Hessians: for smooth activations on any domain.

The Hessians of a shallow network are combinations of one rank-one matrix per neuron: measure them,
find their span, the rank-one matrices in it, and read every neuron off its own second derivative.
"""

import itertools
from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np

from unweave.activations import IDENTITY, Activation
from unweave.arrays import packed_size
from unweave.exceptions import BudgetExhausted, StageFailed
from unweave.identification import reasons
from unweave.identification.found import Found
from unweave.identification.hessians.span import Span, SpanSearch, active_frame
from unweave.identification.hessians.starts import ProfileStarts
from unweave.identification.probing import FunctionScale, Probe
from unweave.identification.refiner import Candidate, Refiner, Start
from unweave.identification.routes import HESSIANS, Condition, Decision, Known, Survey, leave, take
from unweave.identification.session import Session
from unweave.networks.network import Network
from unweave.numerics.finite_differences import HessianSample, hessian_queries, measure_hessians
from unweave.numerics.subspace_power import Directions, SubspacePower


@dataclass(frozen=True, kw_only=True)
class OneSided:
    """Settings for activations that bend on one side only, as ELU.

    Args:
        hessians: how many are measured at once: a neuron that bends at half of the points is seen on both sides, with a
            few points beside the place where it ends.
        surplus: answers per parameter that the refinement gets: those beside the Hessians alone left 2 of 20 networks
            of 5 neurons with one that others replaced.
        rounds: how often the refinement goes on.
    """

    hessians: int = 32
    surplus: float = 3.0
    rounds: int = 3


class NothingDetermined(StageFailed):
    """The Hessians show that the answers determine no neurons."""


@dataclass(frozen=True, kw_only=True)
class HessianRoute:
    """Settings of the way through second derivatives.

    Args:
        suits: when it is taken.
        span: how many Hessians are measured.
        hessians_per_input: how many may be measured, at least, without a budget: one per neuron, of three times as many
            neurons as inputs; chosen.
        free_queries: up to which all of them may be, as many as tell neurons apart: enough for 30 inputs; chosen, as
            how many neurons there are shows at the end only.
        starts: how networks are read off profiles.
        power: how directions are found in the span of the Hessians.
        second_look: residual, relative to the spread, up to which a first network is good enough to measure against.
        fewest_atoms: share of the rank that must be found as directions: a rank that noise has raised leaves some that
            do not exist.
        one_sided: what is done for activations that bend on one side only.
        clear_profiles: typical misfit of the profiles up to which neurons were read well, but for a few.
        more_hessians: how many are measured then for a second attempt; 2 of 24 networks of Gaussian neurons needed it.
    """

    suits: Condition
    span: SpanSearch = field(default_factory=SpanSearch)
    hessians_per_input: int = 3
    free_queries: int = 600_000
    starts: ProfileStarts = field(default_factory=ProfileStarts)
    power: SubspacePower = field(default_factory=SubspacePower)
    second_look: float = 0.3
    fewest_atoms: float = 0.5
    one_sided: OneSided = field(default_factory=OneSided)
    clear_profiles: float = 1e-3
    more_hessians: int = 16
    name = HESSIANS
    asks_far = False

    def __call__(self, survey: Survey, known: Known, refiner: Refiner) -> Found:  # noqa: ARG002
        """Find the best network; an affine function is settled."""
        try:
            return self._found(survey, refiner)
        except StageFailed as failure:
            return Found(str(failure), is_conclusive=isinstance(failure, NothingDetermined))

    def _found(self, survey: Survey, refiner: Refiner) -> Found:
        session, probe = survey.session, survey.probe
        given, error = survey.activation, probe.scale.hessian_error
        session.oracle.ledger.allow(self._allowance(probe.oracle.inputs))
        if given is not None and not given.is_smooth:
            return Found(candidate=self._one_sided(survey, refiner))
        with session.stage("measuring Hessians"):
            first = _first_hessians(session, probe, probe.scale, hessians=self.span.first)
            frame = active_frame(first, error=error)
        if frame.shape[1] == 0:
            return _affine(survey, refiner, hessians=self.span.first)
        may_be_one_sided = given is None and self.span.are_one_sided(first, frame, error=error)
        try:
            best = self._attempt(survey, refiner, probe.scale, first)
        except StageFailed:
            if not may_be_one_sided:
                raise
            return Found(candidate=self._one_sided(survey, refiner))
        if not best.explains and (may_be_one_sided or (given is None and not best.is_smooth)):
            with suppress(StageFailed, BudgetExhausted):
                return Found(candidate=min(best, self._one_sided(survey, refiner), key=_error))
        if not best.explains and best.certificate.rms_error <= self.second_look:
            best = self._second_look(survey, refiner, best)
        elif not best.explains and best.start.misfit <= self.clear_profiles:
            # Most neurons were read clearly, and some of them where they hardly bend: other places may show them.
            with suppress(StageFailed, BudgetExhausted):
                with session.stage("measuring Hessians"):
                    more = first.extended(_first_hessians(session, probe, probe.scale, hessians=self.more_hessians))
                best = min(best, self._attempt(survey, refiner, probe.scale, more), key=_error)
        return Found(candidate=best)

    def _allowance(self, inputs: int) -> int:
        """Queries that may be asked without a budget."""
        of_all = int(self.span.surplus.final * packed_size(inputs)) * hessian_queries(inputs)
        return max(self.hessians_per_input * inputs * hessian_queries(inputs), min(of_all, self.free_queries))

    def _one_sided(self, survey: Survey, refiner: Refiner) -> Candidate:
        """Measure so many Hessians that every neuron bends in some of them, and not in others."""
        session, probe = survey.session, survey.probe
        with session.stage("measuring Hessians"):
            first = _first_hessians(session, probe, probe.scale, hessians=self.one_sided.hessians)
        best = self._attempt(survey, refiner, probe.scale, first, surplus=self.one_sided.surplus)
        for _ in range(self.one_sided.rounds):
            if best.explains:
                break
            # Steps are short where answers change sides.
            with session.stage("refining"):
                best = min(best, refiner.again(best, best.network), key=_error)
        return best

    def _attempt(
        self,
        survey: Survey,
        refiner: Refiner,
        scale: FunctionScale,
        first: HessianSample,
        model: Network | None = None,
        *,
        surplus: float = 0.0,
    ) -> Candidate:
        """All stages from the first Hessians to a refined network.

        With a `model`, they are measured against it. `surplus` is how many answers the refinement gets beside those
        that it has, per parameter of the neurons.
        """
        session, probe = survey.session, survey.probe
        with session.stage("measuring Hessians"):
            frame = active_frame(first, error=scale.hessian_error)
            outside = np.mean(first.gradients - first.gradients @ frame @ frame.T, axis=0)
            span = self.span(
                probe.oracle,
                first.along(frame),
                scale,
                session.rng_hessians,
                neurons=survey.neurons,
                model=model,
            )
        session.saw(span.subspace.rank)
        with session.stage("finding directions"):
            directions = self.power(span.subspace, session.rng_power)
            self._check_directions(span, directions)
        with session.stage("reading neurons"):
            starts = self.starts(span, directions, activation=survey.activation, outside=outside)
            likeliest = next(starts)
        with session.stage("refining"):
            refiner.answers.keep(span.sample.points, span.sample.values, are_spread=True)
            if surplus:
                refiner.answers.ask(int(surplus * span.subspace.rank * (probe.oracle.inputs + 2)))
            return refiner.best(itertools.chain([likeliest], starts))

    def _second_look(self, survey: Survey, refiner: Refiner, best: Candidate) -> Candidate:
        """Measure again, against the network found: what it misses shows at larger steps, with less noise."""
        session, probe = survey.session, survey.probe
        difference = probe.scale.of_difference(best.certificate.rms_error)
        try:
            with session.stage("measuring Hessians"):
                first = _first_hessians(session, probe, difference, hessians=self.span.first, model=best.network)
            again = self._attempt(survey, refiner, difference, first, model=best.network)
        except (StageFailed, BudgetExhausted):
            return best
        return min(best, again, key=_error)

    def _check_directions(self, span: Span, directions: Directions) -> None:
        if len(directions.atoms) < max(1.0, self.fewest_atoms * directions.rank):
            is_quadratic = len(directions.atoms) == 0 and directions.rank == 1
            problem = NothingDetermined if is_quadratic else StageFailed
            raise problem(reasons.missing_directions(span.subspace.gap, directions))


def _error(candidate: Candidate) -> float:
    return candidate.certificate.rms_error


def _first_hessians(
    session: Session,
    probe: Probe,
    scale: FunctionScale,
    *,
    hessians: int,
    model: Network | None = None,
) -> HessianSample:
    points = probe.oracle.sample(session.rng_hessians, hessians, margin=2 * scale.hessian_step)
    return measure_hessians(probe.oracle, points, step=scale.hessian_step, model=model)


def _affine(survey: Survey, refiner: Refiner, *, hessians: int) -> Found:
    """No curvature was seen: fit an affine function and let fresh answers judge it."""
    probe = survey.probe
    oracle, answers, noise = probe.oracle, probe.answers, probe.scale.noise
    with survey.session.stage("refining"):
        answers.prepare((oracle.inputs + 1) * oracle.outputs)
        lifted = np.hstack([answers.points, np.ones((len(answers.points), 1))])
        solution = np.linalg.lstsq(lifted, answers.values, rcond=None)[0]
        network = _affine_network(solution[:-1].T, solution[-1], IDENTITY)
        candidate = refiner.judged(Start(network, 0.0))
    if survey.is_in_box and not candidate.explains:
        # Kinks may cut off corners: a later route can start from what is missed.
        return Found(candidate=candidate)
    if survey.bends_far or not candidate.explains:
        raise StageFailed(reasons.hidden_bends(candidate.certificate.rms_error, noise, hessians))
    note = "The answers are those of an affine function on this domain: no hidden neuron is visible, none is reported."
    return Found(candidate=candidate, notes=(note,))


def _affine_network(slope: np.ndarray, offset: np.ndarray, activation: Activation) -> Network:
    """A network without hidden neurons."""
    outputs, inputs = slope.shape
    return Network.shallow(
        weights=np.empty((0, inputs)),
        biases=np.empty(0),
        output_weights=np.empty((outputs, 0)),
        offset=offset,
        activation=activation,
        skip=slope,
    )


def is_smooth(survey: Survey, known: Known) -> Decision:
    """Suit functions without kinks to which no walk has led."""
    if why := known.closes(survey):
        return leave(why)
    if survey.has_kinks and survey.may_walk:
        return leave("the function has kinks, where second derivatives tell nothing.")
    if survey.is_in_box:
        return take("the domain is a box, so that the model may not be asked far outside.")
    if survey.near_only:
        return take("no walk was tried.")
    return take("no walk has led to a network: far out the answers are not constant or affine, or the walk failed.")
