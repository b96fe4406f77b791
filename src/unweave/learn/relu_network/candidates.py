"""Relu networks that may be behind samples, finished and judged on rows that no fit has seen."""

from dataclasses import dataclass, field, replace

import numpy as np
from jaxtyping import Bool

from unweave.activations import RELU
from unweave.arrays import PerPoint, Points, Values, root_mean_square
from unweave.learn.relu_network.evidence import ResidualStructure, ResidualTest, StandardErrors, standard_errors
from unweave.learn.relu_network.finish import FinishedRelu, ReluFinish
from unweave.learn.relu_network.missing_neurons import RareNeurons
from unweave.learn.relu_network.units import (
    equivalent_signs,
    flip_columns,
    in_inputs,
    resolve_relu_signs,
    unit_parameters,
    unknowns_of,
    with_neurons,
)
from unweave.networks.network import Network
from unweave.networks.symmetries import reflect
from unweave.numerics.binary_systems import BinarySystem
from unweave.samples.hermite.inputs import Coordinates


@dataclass(frozen=True, kw_only=True)
class Thinning:
    """How neurons that a network of exact labels does not need are left out.

    Args:
        same_plane: hyperplanes that differ by less are one, in entries of ``(w, b)`` with unit weights. Those of 2,536
            planted networks were found to 5e-14; the margin is for kinks that few rows pass.
        no_weight: neurons of less than this share of the largest output weight are none: the error that
            `CandidateRules.exact_elsewhere` allows.
    """

    same_plane: float = 1e-7
    no_weight: float = 1e-9

    def __call__(self, network: Network) -> Network:
        """The same function without neurons of no weight, and with one neuron per hyperplane.

        ``a relu(t) + a' relu(-t) = (a + a') relu(t) - a' t``: the rest goes into the affine part.
        """
        directions, biases, output_weights = unit_parameters(network)
        slope = np.zeros(network.inputs) if network.skip is None else network.skip[0].copy()
        offset, heights = network.layers[1].biases.copy(), output_weights.copy()
        planes = np.column_stack([directions, biases])
        kept = np.ones(len(heights), dtype=bool)
        for first in range(len(heights)):
            for second in range(first + 1, len(heights)):
                same, opposite = (np.max(np.abs(planes[first] - sign * planes[second])) for sign in (1.0, -1.0))
                if kept[first] and kept[second] and min(same, opposite) <= self.same_plane:
                    kept[second] = False
                    if opposite < same:
                        slope -= heights[second] * directions[first]
                        offset -= heights[second] * biases[first]
                    heights[first] += heights[second]
        kept &= np.abs(heights) > self.no_weight * np.max(np.abs(heights), initial=0.0)
        return Network.shallow(directions[kept], biases[kept], heights[None, kept], offset, RELU, slope[None])


@dataclass(frozen=True, kw_only=True)
class Visibility:
    """When a neuron stands out from noise.

    Args:
        standard_errors: of its output weight at least: chance exceeds four, for a normal error, in 6e-5 of all cases.
        rows_per_number: rows beyond its kink, on the side that has fewer, for every number of it. Fewer follow any of
            their labels: with as many as numbers they are met exactly, and one outlier of the noise makes a neuron of
            its own.
        largest_angle: standard error of its direction, in radians, from which on that is not known: at half a radian it
            reaches the angle below which neurons may be taken for one.
    """

    standard_errors: float = 4.0
    rows_per_number: float = 3.0
    largest_angle: float = 0.5

    def rest_on_enough(self, network: Network, points: Points) -> Bool[np.ndarray, "neurons"]:
        """Whether enough of the rows lie on either side of the kink of every neuron."""
        hidden = network.layers[0]
        beyond = np.count_nonzero(hidden.preactivations(points) > 0.0, axis=0)
        fewer = np.minimum(beyond, len(points) - beyond)
        return fewer >= self.rows_per_number * (hidden.inputs + 2)


@dataclass(frozen=True, kw_only=True)
class CandidateRules:
    """Limits that decide what is made of a candidate.

    Args:
        residuals: the test whether a candidate leaves noise.
        exact_elsewhere: largest error of exact labels on rows that no fit has seen, relative to the spread of the
            labels. 5,636 planted networks had 5e-14 at most; the margin is for kinks that few rows pass.
        roundings: of the labels that are allowed beside that, where they are far from zero; chosen.
        rounded_away: share of the spread that these may be: labels with larger ones have no digits to be met; chosen.
        even_noise: noise whose median is a smaller share of its root mean square is none: most rows are met, and some
            are not. It is 0.67 for normal noise and 0.44 for Student's t with three degrees of freedom; half of that.
        visible: when a neuron stands out from noise.
        thinning: how neurons that exact labels do not need are left out.
        screening_rows: that decide whether a start deserves a fit to all of them; chosen, for the time.
    """

    residuals: ResidualTest = field(default_factory=ResidualTest)
    exact_elsewhere: float = 1e-9
    roundings: float = 16.0
    rounded_away: float = 1e-2
    even_noise: float = 0.2
    visible: Visibility = field(default_factory=Visibility)
    thinning: Thinning = field(default_factory=Thinning)
    screening_rows: int = 30_000

    def allowed(self, spread: float, size: float) -> float:
        """Largest error that counts as none, for labels of this standard deviation and root mean square."""
        rounding = self.roundings * float(np.finfo(float).eps) * size
        is_small = spread == 0.0 or rounding <= self.rounded_away * spread
        return self.exact_elsewhere * spread + (rounding if is_small else 0.0)


@dataclass(frozen=True, eq=False)
class Rows:
    """Samples in coordinates in which inputs and labels are of size one.

    Args:
        points: the inputs.
        labels: one per point.
    """

    points: Points
    labels: PerPoint

    @property
    def values(self) -> Values:
        """The labels as a column, as networks give them."""
        return self.labels[:, None]

    def residuals(self, network: Network) -> PerPoint:
        """Labels minus what the network says."""
        return self.labels - network(self.points)[:, 0]


@dataclass(frozen=True, eq=False)
class JudgedNetwork:
    """A finished network and what rows that no fit has seen say about it.

    Args:
        start: the network that moments gave.
        network: after finishing.
        finished: how.
        is_exact: whether it meets labels of unseen rows up to rounding.
        exact_share: share of the fitted rows that it meets up to rounding.
        evenness: median of what it leaves of the fitted labels in units of the root mean square: 0.67 for normal noise.
        noise: root mean square of what it leaves of the fitted labels, corrected for its parameters.
        largest_left: the largest that it leaves of a fitted label.
        structure: whether what it leaves is noise; None where nothing is left, or before it is tested.
        errors: standard errors of its parameters by this noise.
        is_seen: neurons that stand out from the noise.
        open_signs: neurons whose sign is open.
        unseen_error: root mean square error on unseen rows.
        rows: how many it was fitted to.
        rules: that it was judged by.
    """

    start: Network
    network: Network
    finished: FinishedRelu
    is_exact: bool
    exact_share: float
    evenness: float
    noise: float
    largest_left: float
    structure: ResidualStructure | None
    errors: StandardErrors
    is_seen: Bool[np.ndarray, "neurons"]
    open_signs: Bool[np.ndarray, "neurons"]
    unseen_error: float
    rows: int
    rules: CandidateRules

    @property
    def neurons(self) -> int:
        """Number of its neurons."""
        return self.network.widths[0]

    def has_all_of(self, start: Network) -> bool:
        """Whether it has all neurons that a start has, and all stand out from the noise."""
        return self.neurons >= start.widths[0] and bool(np.all(self.is_seen))

    @property
    def explains(self) -> bool:
        """Whether nothing but noise is left of the labels.

        Noise spoils all of them. Where most are met exactly, the others tell of a neuron that is missing.
        """
        is_noisy = self.exact_share <= 0.5 and self.structure is not None and self.structure.is_noise
        is_noisy = is_noisy and self.evenness >= self.rules.even_noise
        return self.is_exact or is_noisy

    @property
    def is_good(self) -> bool:
        """Whether nothing speaks against it."""
        return self.explains and bool(np.all(self.is_seen))


@dataclass(frozen=True, kw_only=True)
class Finishing:
    """How starts are finished and judged.

    Args:
        finish: fits the network of the moments to the rows.
        rare: looks for neurons that bend at few rows.
        rules: limits that decide what is made of a candidate.
    """

    finish: ReluFinish = field(default_factory=ReluFinish)
    rare: RareNeurons = field(default_factory=RareNeurons)
    rules: CandidateRules = field(default_factory=CandidateRules)


@dataclass(frozen=True, eq=False)
class Finisher:
    """Finishes starts on some rows and judges them on others.

    Args:
        fitted: rows to fit.
        unseen: rows to choose by.
        coordinates: those of the rows.
        settings: of the fit, and of what is made of it.
    """

    fitted: Rows
    unseen: Rows
    coordinates: Coordinates
    settings: Finishing

    def screened(self, start: Network, rng: np.random.Generator) -> JudgedNetwork:
        """The same as a call for starts that deserve it; for others what some of the rows say about them."""
        return self._completed_if_promising(self._on_few_rows()(start, rng), rng)

    def with_all_neurons(self, start: Network, rng: np.random.Generator, *, below: float) -> JudgedNetwork | None:
        """What `screened` gives if that is good, has all neurons of the start and leaves less noise than `below`.

        None as soon as it can't be. A neuron that does not stand out is left out, or speaks against the network; so
        what is left of the labels is tested, which takes longest, only where all neurons stand out.
        """
        few = self._on_few_rows()
        measured = few._measured(start, rng)
        if measured.exact_share > 0.5:
            found = self._completed_if_promising(few._with_seen(few._tested(measured, rng), rng), rng)
            return found if found.has_all_of(start) and found.noise < below and found.is_good else None
        if not measured.has_all_of(start):
            return None
        is_whole = measured.rows == len(self.fitted.labels)
        whole = measured if is_whole else replace(self._measured(measured.network, rng), start=start)
        is_lost = not (whole.has_all_of(start) and whole.noise < below)
        if is_lost or not (is_whole or few._tested(measured, rng).is_good):
            return None
        tested = self._tested(whole, rng)
        return tested if tested.is_good else None

    def _on_few_rows(self) -> "Finisher":
        most = self.settings.rules.screening_rows
        return replace(self, fitted=Rows(self.fitted.points[:most], self.fitted.labels[:most]))

    def _completed_if_promising(self, candidate: JudgedNetwork, rng: np.random.Generator) -> JudgedNetwork:
        # Neurons that bend at few rows leave most of the others exact.
        is_promising = candidate.is_good or candidate.exact_share > 0.5
        return self.completed(candidate, rng) if is_promising else candidate

    def completed(self, candidate: JudgedNetwork, rng: np.random.Generator) -> JudgedNetwork:
        """A candidate fitted to all rows, if it was fitted to some."""
        if candidate.rows == len(self.fitted.labels) or candidate.neurons == 0:
            return candidate
        return replace(self(candidate.network, rng), start=candidate.start)

    def __call__(self, start: Network, rng: np.random.Generator) -> JudgedNetwork:
        """The best network near a start; without neurons that do not stand out, if it is as good without them."""
        return self._with_seen(self._once(start, rng), rng)

    def _with_seen(self, candidate: JudgedNetwork, rng: np.random.Generator) -> JudgedNetwork:
        if np.all(candidate.is_seen) or not np.any(candidate.is_seen):
            return candidate
        fewer = replace(self._once(with_neurons(candidate.network, candidate.is_seen), rng), start=candidate.start)
        return fewer if fewer.is_good else candidate

    def _once(self, start: Network, rng: np.random.Generator) -> JudgedNetwork:
        return self._tested(self._measured(start, rng), rng)

    def _measured(self, start: Network, rng: np.random.Generator) -> JudgedNetwork:
        """The best network near a start, before what it leaves is tested."""
        points, values = self.fitted.points, self.fitted.values
        finished = self.settings.finish(start, points, values)
        if 0.5 < finished.exact_share < 1.0:
            more = self.settings.rare(finished.network, points, values, rng)
            if more.widths != finished.network.widths:
                again = self.settings.finish(more, points, values)
                finished = again if again.exact_share > finished.exact_share else finished
        if finished.is_exact:
            fewer = self.settings.rules.thinning(finished.network)
            if fewer.widths != finished.network.widths:
                again = self.settings.finish(fewer, points, values)
                finished = again if again.is_exact else finished
        if finished.exact_share <= 0.5:
            # Behind noise a neuron that hardly a row passes follows the noise there, and nothing bounds it elsewhere.
            kept = self.settings.rules.visible.rest_on_enough(finished.network, points)
            if not np.all(kept):
                return replace(self._measured(with_neurons(finished.network, kept), rng), start=start)
        return self._untested(start, _signed(finished, self.settings.finish.exact_sign_tol), finished)

    def judged(
        self, start: Network, network: Network, finished: FinishedRelu, rng: np.random.Generator
    ) -> JudgedNetwork:
        """What unseen rows say about a network."""
        return self._tested(self._untested(start, network, finished), rng)

    def _tested(self, measured: JudgedNetwork, rng: np.random.Generator) -> JudgedNetwork:
        """The same with the test whether noise is all that is left of the labels, if anything is."""
        if measured.is_exact:
            return measured
        structure = self.settings.rules.residuals(measured.network, self.fitted.points, self.fitted.values, rng)
        return replace(measured, structure=structure)

    def _untested(self, start: Network, network: Network, finished: FinishedRelu) -> JudgedNetwork:
        size = max(root_mean_square(self.fitted.labels), np.finfo(float).tiny)
        left = self.fitted.residuals(network)
        freedom = max(len(left) - unknowns_of(network), 1)
        noise = float(np.sqrt(np.sum(left**2) / freedom))
        unseen = self.unseen.residuals(network)
        allowed = self.settings.rules.allowed(float(np.std(self.fitted.labels)), size)
        is_exact = bool(np.max(np.abs(unseen)) <= allowed) and noise <= allowed
        errors = standard_errors(
            network, self.fitted.points, self.fitted.values, noise=noise, coordinates=self.coordinates
        )
        share = float(np.mean(np.abs(left) <= self.settings.finish.exact * size))
        open_signs = _open_signs(network, finished, is_exact=is_exact, relative_tol=self.settings.finish.exact_sign_tol)
        return JudgedNetwork(
            start=start,
            network=network,
            finished=finished,
            is_exact=is_exact,
            exact_share=share,
            evenness=float(np.median(np.abs(left))) / max(root_mean_square(left), np.finfo(float).tiny),
            noise=noise,
            largest_left=float(np.max(np.abs(left))),
            structure=None,
            errors=errors,
            is_seen=self.seen(network, errors, is_exact=is_exact),
            open_signs=open_signs,
            unseen_error=root_mean_square(unseen),
            rows=len(left),
            rules=self.settings.rules,
        )

    def seen(self, network: Network, errors: StandardErrors, *, is_exact: bool) -> Bool[np.ndarray, "neurons"]:
        """Which neurons stand out from the noise, and rest on enough rows if there is any."""
        rules = self.settings.rules.visible
        is_seen = errors.seen(
            in_inputs(network, self.coordinates), needed=rules.standard_errors, largest_angle=rules.largest_angle
        )
        return is_seen if is_exact else is_seen & rules.rest_on_enough(network, self.fitted.points)


def _signed(finished: FinishedRelu, relative_tol: float) -> Network:
    """Signs for a network that is exact and still has a slope.

    Where several choices of signs leave neither slope nor offset, one of them; where none does, but one leaves no
    slope, that one: the network has an offset of its own.
    """
    network = finished.network
    if network.skip is None or not finished.is_exact or network.widths[0] == 0:
        return network
    columns = flip_columns(network)
    target = -np.append(network.skip[0], network.layers[1].biases)
    choices = BinarySystem(columns, target, relative_tol * float(np.linalg.norm(columns))).solutions()
    if len(choices.residuals) and choices.residuals[0] <= 1.0:
        flipped = reflect(network, 0, choices.vectors[0])
        return Network((flipped.layers[0], replace(flipped.layers[1], biases=np.zeros(1))))
    found = resolve_relu_signs(network, relative_tol=relative_tol, has_offset=True)
    return found.network if found.solutions == 1 else network


def _open_signs(
    network: Network, finished: FinishedRelu, *, is_exact: bool, relative_tol: float
) -> Bool[np.ndarray, "neurons"]:
    if network.widths[0] == 0:
        return np.zeros(0, dtype=bool)
    if network.skip is None:
        # The theorem: flips of a set with sum a w = 0 and sum a b = 0 give the same function.
        return (
            equivalent_signs(network, relative_tol=relative_tol).open_signs if is_exact else finished.signs.open_signs
        )
    return np.ones(network.widths[0], dtype=bool)
