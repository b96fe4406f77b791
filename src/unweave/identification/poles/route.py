"""Neurons from poles: for steep tanh and sigmoid neurons where no line leads far away."""

from dataclasses import dataclass, field

from unweave.activations import TANH, base_of
from unweave.certificates.claims import counted
from unweave.exceptions import StageFailed
from unweave.identification.found import Found
from unweave.identification.poles.search import PoleSearch
from unweave.identification.refiner import Refiner
from unweave.identification.routes import POLE_WALK, Condition, Decision, Known, Survey, leave, take


@dataclass(frozen=True, kw_only=True)
class PoleWalk:
    """Settings of the way along chords of the domain.

    Args:
        suits: when it is taken.
        search: how neurons are found.
    """

    suits: Condition
    search: PoleSearch = field(default_factory=PoleSearch)
    name = POLE_WALK
    asks_far = False

    def __call__(self, survey: Survey, known: Known, refiner: Refiner) -> Found:  # noqa: ARG002
        """Find the best network."""
        try:
            return Found(candidate=self.search(survey, refiner))
        except StageFailed as failure:
            return Found(str(failure), is_tentative=True)


@dataclass(frozen=True, kw_only=True)
class IsLevelInParts:
    """Suit functions that are nearly level at most places and rise in between, as steep neurons make them.

    Args:
        level_slope: typical change of the answers over a half-width of the domain, going by their slopes, relative to
            their spread, below which they are level; chosen: in an even function it is about one.
    """

    level_slope: float = 0.05

    def __call__(self, survey: Survey, known: Known) -> Decision:
        """Look at random places, if poles may be read at all."""
        if why := _without_poles(survey, known):
            return leave(why)
        if not survey.has_kinks or not survey.flatness.slope < self.level_slope:
            return leave("the answers do not rise between levels.")
        return take("the answers are nearly level at most places and rise in between.")


@dataclass(frozen=True, kw_only=True)
class HasSteepNeurons:
    """Suit functions without kinks that show a steep neuron on a chord: Hessians at random places hardly meet it.

    Args:
        search: how chords are asked and read. The answers on this one are kept.
    """

    search: PoleSearch = field(default_factory=PoleSearch)

    def __call__(self, survey: Survey, known: Known) -> Decision:
        """Look at one chord, if poles may be read at all."""
        if why := _without_poles(survey, known):
            return leave(why)
        if survey.has_kinks or POLE_WALK in known.tried:
            return leave("the function has kinks, or poles were read already.")
        with survey.session.stage("probing the answers"):
            steep = self.search.steep_neurons(survey)
        if steep == 0:
            return leave("a chord through the domain shows no neuron that saturates on most of it.")
        return take(f"a chord through the domain shows {counted(steep)} that saturate on most of it.")


def was_not_explained(survey: Survey, known: Known) -> Decision:
    """Suit functions that another route has not explained."""
    if why := _without_poles(survey, known):
        return leave(why)
    if not known.tried or known.tried[-1] == POLE_WALK:
        return leave("no other route was tried.")
    return take(f"the function is not explained by: {', '.join(dict.fromkeys(known.tried))}.")


def _without_poles(survey: Survey, known: Known) -> str:
    """Say why poles can't be read; empty if they may be."""
    if why := known.closes(survey):
        return why
    if known.first_layer is not None:
        return "a first layer is known."
    if not survey.may_walk:
        return "walks are switched off."
    if not survey.near_only:
        return "inputs may be large, and neurons are read far away."
    if survey.activation is not None and base_of(survey.activation) != TANH:
        return f"{survey.activation} is no tanh in other units."
    return "" if survey.has_fine_answers else "the answers are too noisy for it."
