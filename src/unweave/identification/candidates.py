"""Which activation it is, if none is given: fits of all that may be, the usual ones first."""

from collections.abc import Callable, Iterable
from typing import Protocol, TypeVar, runtime_checkable

from unweave.activations import Activation


@runtime_checkable
class Fit(Protocol):
    """Neurons that were fitted with one activation."""

    @property
    def typical_misfit(self) -> float:
        """Median misfit over the neurons, relative."""
        ...


AnyFit = TypeVar("AnyFit", bound=Fit)


def ranked_fits(
    fit: Callable[[Activation], AnyFit],
    activations: Iterable[Activation],
    *,
    clear_misfit: float,
    believed_gain: float = 0.1,
) -> list[AnyFit]:
    """Fit activations, best first; those that are tried late only if no usual one fits clearly.

    Late ones count only where they fit clearly better than all usual ones, which keep their order: so that a new
    activation costs the others nothing, and is not chosen for how it fits noise.

    Args:
        fit: gives the fit of one activation.
        activations: those that may be it.
        clear_misfit: typical misfit up to which an activation is clearly the right one.
        believed_gain: share of the best misfit of the usual ones below which a late one is believed instead; chosen:
            fits of noise differ by far less than ten times.
    """

    def misfit(found: Fit) -> float:
        return found.typical_misfit

    activations = tuple(activations)
    usual = sorted((fit(each) for each in activations if not each.is_tried_late), key=misfit)
    if usual and misfit(usual[0]) <= clear_misfit:
        return usual
    late = sorted((fit(each) for each in activations if each.is_tried_late), key=misfit)
    return [*(each for each in late if not usual or misfit(each) < believed_gain * misfit(usual[0])), *usual]
