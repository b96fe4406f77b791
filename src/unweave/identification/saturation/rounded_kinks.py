"""How kinks are rounded off: what an activation with affine tails leaves between its two tails."""

from dataclasses import dataclass
from functools import partial

import numpy as np
import scipy  # its parts are loaded when first used
from jaxtyping import Float64

from unweave.activations import Activation
from unweave.arrays import PerNeuron
from unweave.exceptions import InvalidInput
from unweave.identification.candidates import ranked_fits
from unweave.identification.saturation.neurons import FarNeuron, Reading
from unweave.identification.walks.hyperplanes import Hyperplanes, measure_hyperplanes
from unweave.identification.walks.kinks import KinkedLine, KinkSearch
from unweave.identification.walks.lines import Ask, Line


@dataclass(frozen=True, kw_only=True)
class RoundedKinkRules:
    """Where kinks are looked at, and which lengths of weights are tried.

    Args:
        distances: from the hyperplane, in half-widths of the domain: the smallest, by which factor they grow, and how
            many; four per decade of the lengths of weights that a network in standard coordinates has.
        lengths: that are tried first, evenly in their logarithm: from, to, and how many. Chosen: beyond these ends a
            kink looks straight or sharp at all distances.
    """

    distances: tuple[float, float, int] = (0.02, 1.7, 18)
    lengths: tuple[float, float, int] = (0.02, 60.0, 60)

    @property
    def all_distances(self) -> Float64[np.ndarray, "samples"]:
        """The distances."""
        smallest, factor, count = self.distances
        return smallest * factor ** np.arange(count)


RULES = RoundedKinkRules()


@dataclass(frozen=True)
class RoundedKinks:
    """Distance of the function from its tails beside every kink.

    Args:
        distances: from the hyperplane, on its positive side.
        deviations: of the function from the tail there, along the jump of the neuron.
    """

    distances: Float64[np.ndarray, "samples"]
    deviations: Float64[np.ndarray, "neurons samples"]


def measure_rounded_kinks(ask: Ask, walked: KinkedLine, met: Hyperplanes) -> RoundedKinks:
    """Sample the function beside the kinks of a line, 18 queries each."""
    line, distances = walked.line, RULES.all_distances
    if not met.kinks:
        return RoundedKinks(distances, np.empty((0, len(distances))))
    positions = np.array([walked.kinks[k].position for k in met.kinks])
    along = met.normals @ line.direction
    places = positions[:, None] + distances / along[:, None]
    values = ask(line.points(places.ravel())).reshape(*places.shape, -1)
    deviations = np.empty(places.shape)
    for neuron, kink in enumerate(met.kinks):
        tail = walked.pieces[kink + 1]
        jump = met.jumps[neuron]
        # A kink that was read has a piece on either side.
        expected = np.array([tail.at(place) for place in places[neuron]])  # pyright: ignore[reportOptionalMemberAccess]
        deviations[neuron] = (values[neuron] - expected) @ jump / (jump @ jump)
    return RoundedKinks(distances, deviations)


@dataclass(frozen=True)
class RoundedKinkFit:
    """Lengths of the weights behind rounded kinks, for one activation.

    Args:
        activation: the activation.
        lengths: one per neuron.
        signs: 1 where the neuron grows along the line, and -1 where it falls; 1 if that can't be told.
        misfits: root mean square distance from the profile, relative to it.
    """

    activation: Activation
    lengths: PerNeuron
    signs: PerNeuron
    misfits: PerNeuron

    @property
    def typical_misfit(self) -> float:
        """Median over the neurons."""
        return float(np.median(self.misfits)) if len(self.misfits) else np.inf


def fit_rounded_kinks(corners: RoundedKinks, activation: Activation) -> RoundedKinkFit:
    """Fit the distance of the activation from its tail, beyond the argument where its tails meet, to every corner.

    That is ``(g(t) - tail(t)) / (bend length)`` at ``t = corner + length distance``, and for a neuron that falls along
    the line the same at ``t = corner - length distance``. With a reflection law both are the same.

    Assumes: tails of different slopes, as softplus, GELU and SiLU have.
    """
    fits = [_fit_oriented(corners, activation, sign) for sign in ((1.0,) if activation.reflection else (1.0, -1.0))]
    best = np.argmin([fit.misfits for fit in fits], axis=0)
    parts = [np.array([vars(fit)[part] for fit in fits]) for part in ("lengths", "signs", "misfits")]
    return RoundedKinkFit(activation, *(part[best, np.arange(len(best))] for part in parts))


def _fit_oriented(corners: RoundedKinks, activation: Activation, sign: float) -> RoundedKinkFit:
    """Fit neurons that all grow, or all fall, along the line."""
    if activation.tails is None:
        raise InvalidInput(f"rounded kinks need an activation with tails, got {activation}.")
    tail, corner = activation.tails[int(sign > 0)], activation.corner

    def profile(length: float) -> np.ndarray:
        arguments = sign * length * corners.distances + corner
        return (activation(arguments) - tail(arguments)) / (length * activation.bend)

    tried = np.geomspace(*RULES.lengths)
    table = np.array([profile(length) for length in tried])
    lengths, misfits = [], []
    for deviations in corners.deviations:
        best = int(np.argmin(np.sum((table - deviations) ** 2, axis=1)))
        low, high = tried[max(best - 1, 0)], tried[min(best + 1, len(tried) - 1)]
        found = scipy.optimize.minimize_scalar(
            lambda log, seen=deviations: float(np.sum((profile(np.exp(log)) - seen) ** 2)),
            bounds=(np.log(low), np.log(high)),
            method="bounded",
            options={"xatol": 1e-10},
        )
        length = float(np.exp(found.x))
        lengths.append(length)
        size = float(np.linalg.norm(profile(length)))
        # A profile that is flat fits nothing: its misfit is infinite.
        misfits.append(float(np.sqrt(max(float(found.fun), 0.0))) / size if size > 0.0 else np.inf)
    return RoundedKinkFit(activation, np.array(lengths), np.full(len(lengths), sign), np.array(misfits))


@dataclass(frozen=True, kw_only=True)
class KinkReader:
    """Activations with affine tails: affine between rounded kinks.

    Args:
        blur: angle within which a far kink counts as rounded off; chosen: 600 units to either side at the usual
            distance.
        step: of gradients on far lines, relative to the distance of the next kink; chosen: far out larger steps are
            more exact (`KinkSearch`).
        clear_corner: misfit of a rounded kink up to which its neuron is believed; chosen: a fit goes on from there.
        sure_corner: typical misfit up to which no other activation is tried; chosen.
    """

    blur: float = 3e-4
    step: float = 3e-3
    clear_corner: float = 1e-2
    sure_corner: float = 1e-4

    def reads(self, activation: Activation) -> bool:
        """Whether an activation bends from one tail to another one over some distance."""
        return activation.bend != 0.0 and activation.is_curved

    def __call__(
        self, ask: Ask, line: Line, *, noise: float, rounding: float, activations: tuple[Activation, ...]
    ) -> Reading:
        """Find the kinks on a line, their hyperplanes, and how they are rounded off."""
        settings = KinkSearch(noise, rounding, self.blur, self.step)
        walked = settings(ask, line)
        met = measure_hyperplanes(ask, walked, settings)
        corners = measure_rounded_kinks(ask, walked, met)
        fit = ranked_fits(partial(fit_rounded_kinks, corners), activations, clear_misfit=self.sure_corner)[0]
        bend, corner = fit.activation.bend, fit.activation.corner
        neurons = [
            FarNeuron(length * normal, float(length * offset) + corner, jump / (bend * abs(length)))
            for length, normal, offset, jump, misfit in zip(
                fit.signs * fit.lengths, met.normals, met.offsets, met.jumps, fit.misfits, strict=True
            )
            if misfit < self.clear_corner
        ]
        return Reading(len(walked.kinks), neurons, fit.misfits, fit.activation, fit.typical_misfit, finds_jumps=False)
