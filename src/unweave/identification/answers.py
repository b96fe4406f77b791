"""The answers that were paid for: those that fits may see, fresh ones that judge, and trials where things may hide."""

from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float64

from unweave.activations import Activation
from unweave.arrays import PerPoint, PointMask, Points, Values, Vector
from unweave.exceptions import BudgetExhausted, OracleError
from unweave.identification import corners
from unweave.identification.telling_points import most_telling
from unweave.networks.network import Network
from unweave.oracles.oracle import Box
from unweave.oracles.views import StandardOracle


@dataclass(frozen=True, kw_only=True)
class Asking:
    """How many answers fits and certificates get, and where they are asked. Distances are in half-widths of the domain.

    Args:
        surplus: answers per parameter in the refinement; chosen: two equations per unknown. 40 planted networks were
            all identified from 1.2 on, with hardly fewer queries.
        spread_surplus: of these, how many must be spread over the domain: on a few lines or near each other they count
            less. A little more than one equation per unknown.
        fresh_share: fresh answers per parameter in a certificate; chosen: a sixth of all answers.
        fewest_fresh: they show, with a confidence of 95 %, what fills a sixth of the domain (``0.05^(1 / 16) = 0.83``),
            which is enough to choose among networks; `Examination` asks more before one is called identified.
        most_fresh: they show what fills 0.15 % of it.
        face_points: on faces of all dimensions of a box, beside its vertices: they show what fills 3 % of the faces.
        climbs: vertices of a box with too many of them from which neighbouring ones are looked at, where answers and
            network differ most; chosen, as are the next two.
        flips: coordinates that are flipped in a round of such a climb, at most.
        rounds: of a climb. A neuron that adds up over all coordinates needs one, a second one shows that it has ended.
        far_trials: how far out points are tried, where the domain has no end; chosen: ten times as far again and again.
            At 1e5 an answer near a hyperplane has five digits fewer.
        far_points: as many each. A hyperplane at a tenth of the distance has 46 % of the directions behind it, so that
            ten of them miss it in 0.2 % of the cases.
        kinks: where a network is tried at its kinks.
        telling_share: answers that show a neuron bend, per number of a neuron: three equations per unknown.
        telling_argument: how far its argument must go over them: there tanh has reached 99 % of its limit.
        telling_spread: standard deviation of its argument below which they are too close together: a third of that of
            arguments spread evenly over `telling_argument`.
        farthest: up to which neurons that bend outside of the domain are looked for; chosen: answers there have terms
            a hundred times as large, and two digits fewer.
        largest_stretch: how much farther than its scale fit points may be drawn where the domain has no end, so that
            neurons bend over them; chosen. Neurons that are flat there differ in polynomials of high degree only,
            and least squares is ill-conditioned.
        long_neurons: quantile of the lengths of weights that sets the stretch: a tenth may be longer.
        at_once: numbers in one batch of fresh points: 32 MB.
        sample: places that tell which share of the answers will show a neuron bend, to one percent, and among which
            those are chosen that tell most.
        same_hyperplane: difference up to which hyperplanes were asked around before; a wrong guess costs answers only.
    """

    surplus: float = 2.0
    spread_surplus: float = 1.1
    fresh_share: float = 0.4
    fewest_fresh: int = 16
    most_fresh: int = 2_000
    face_points: int = 100
    climbs: int = 4
    flips: int = 64
    rounds: int = 3
    far_trials: tuple[float, ...] = (3.0, 30.0, 300.0, 3e3, 3e4)
    far_points: int = 10
    kinks: corners.KinkTrials = field(default_factory=corners.KinkTrials)
    telling_share: float = 3.0
    telling_argument: float = 2.5
    telling_spread: float = 0.5
    farthest: float = 100.0
    largest_stretch: float = 10.0
    long_neurons: float = 0.9
    at_once: int = 4_000_000
    sample: int = 2_048
    same_hyperplane: float = 0.01

    def telling_arguments(
        self, activation: Activation, arguments: np.ndarray, share: float, wanted: int, rng: np.random.Generator
    ) -> Float64[np.ndarray, "missing"]:
        """Arguments at which a neuron should be asked, if a share of those in a sample say too little about it."""
        if activation.homogeneity:
            before, after = np.count_nonzero(arguments < 0), np.count_nonzero(arguments > 0)
            missing = wanted - int(share * min(before, after))
            side = -1.0 if before < after else 1.0
            return side * np.abs(rng.standard_normal(max(missing, 0)))
        near = arguments[np.abs(arguments) < self.telling_argument]
        if share * len(near) >= wanted and np.std(near) > self.telling_spread:
            return np.empty(0)
        return rng.uniform(-self.telling_argument, self.telling_argument, wanted)


ASKING = Asking()


class AnswerPool:
    """All answers in standard coordinates: those that may be fitted, and fresh ones that never are."""

    def __init__(
        self,
        oracle: StandardOracle,
        rng_fit: np.random.Generator,
        rng_fresh: np.random.Generator,
        *,
        asking: Asking = ASKING,
    ) -> None:
        self.oracle, self._asking = oracle, asking
        self._rng_fit, self._rng_fresh = rng_fit, rng_fresh
        self.points, self.values = np.empty((0, oracle.inputs)), np.empty((0, oracle.outputs))
        self._spread_out, self._stretch, self._longest_stretch = 0, 1.0, asking.largest_stretch
        self._excited: list[tuple[Vector, float]] = []
        self.fresh_points, self.fresh_values = self.points, self.values
        # How many networks the fresh answers have judged: the more, the likelier one of them was lucky.
        self.judged = 0
        self.trial_points, self.trial_values = self.points, self.values
        self._waiting_trials: Points | None = None
        # The network that neighbouring vertices were asked for.
        self._climbed: Network | None = None
        # How far out trials were answered, where the domain has no end.
        self.reach = 0.0

    def in_units(self, oracle: StandardOracle, offset: np.ndarray, size: np.ndarray) -> "AnswerPool":
        """The same answers in the units of another oracle of the same domain, ``offset + size`` times as large."""
        other = AnswerPool(oracle, self._rng_fit, self._rng_fresh, asking=self._asking)
        other.points, other.fresh_points = self.points, self.fresh_points
        other.values, other.fresh_values = offset + size * self.values, offset + size * self.fresh_values
        other.trial_points, other.trial_values = self.trial_points, offset + size * self.trial_values
        other.judged, other._waiting_trials, other.reach = self.judged, self._waiting_trials, self.reach
        other._spread_out, other._stretch, other._excited = self._spread_out, self._stretch, self._excited
        other._longest_stretch = self._longest_stretch
        return other

    def keep(self, points: Points, values: Values, *, are_spread: bool) -> None:
        """Keep answers that another stage has asked for."""
        self.points = np.concatenate([self.points, self.oracle.as_asked(points)])
        self.values = np.concatenate([self.values, values])
        self._spread_out += len(points) if are_spread else 0

    def ask(self, count: int) -> None:
        """Ask `count` random points of the domain."""
        points = self._sample(count)
        try:
            values = self.oracle.query(points)
        except OracleError:
            if self._stretch == 1.0:
                raise
            # Models need not answer so far out.
            self._stretch, self._longest_stretch = 1.0, 1.0
            points = self._sample(count)
            values = self.oracle.query(points)
        self.keep(points, values, are_spread=True)

    def prepare(self, parameters: int, *, narrowest: int | None = None) -> None:
        """Ask what a fit of so many parameters still needs, and what its certificate still needs.

        An answer tells as many numbers as there are outputs, or as the narrowest layer on the way has neurons.
        """
        per_answer = parameters / min(self.oracle.outputs, narrowest or self.oracle.outputs)
        asking = self._asking
        missing = max(
            asking.surplus * per_answer - len(self.points), asking.spread_surplus * per_answer - self._spread_out
        )
        if missing > 0:
            self.ask(int(np.ceil(missing)))
        self._prepare_fresh(per_answer)

    def prepare_fresh(self, parameters: int) -> None:
        """Ask what a certificate of so many parameters still needs."""
        self._prepare_fresh(parameters / self.oracle.outputs)

    def _prepare_fresh(self, per_answer: float) -> None:
        asking = self._asking
        self.ask_fresh(int(np.clip(asking.fresh_share * per_answer, asking.fewest_fresh, asking.most_fresh)))

    def ask_fresh(self, count: int) -> None:
        """Ask fresh points of the domain until there are so many."""
        while (missing := count - len(self.fresh_points)) > 0:
            points = self.oracle.sample(self._rng_fresh, min(missing, self._asking.at_once // self.oracle.inputs + 1))
            values = self.oracle.query(points)
            self.fresh_points = np.concatenate([self.fresh_points, self.oracle.as_asked(points)])
            self.fresh_values = np.concatenate([self.fresh_values, values])

    def give_up_fresh(self) -> None:
        """Let fits see the fresh answers: a network was changed because of them, so that they can't judge it."""
        self.keep(self.fresh_points, self.fresh_values, are_spread=True)
        self.fresh_points, self.fresh_values = self.fresh_points[:0], self.fresh_values[:0]

    def renew_fresh(self) -> None:
        """Let fits see the fresh answers, once as many others were asked.

        Raises:
            BudgetExhausted: if the budget does not allow that; the fresh answers stay what they are.
        """
        count = len(self.fresh_points)
        self.ask_fresh(2 * count)
        others = self.fresh_points[count:], self.fresh_values[count:]
        self.fresh_points, self.fresh_values = self.fresh_points[:count], self.fresh_values[:count]
        self.give_up_fresh()
        self.fresh_points, self.fresh_values = others

    def ask_trials(self, most: int | None = None) -> bool:
        """Ask where something may hide, in several calls; say whether there was any left.

        In a box that is at vertices and faces, elsewhere far from the centre. What is asked here is not fitted, and not
        drawn from the domain as fresh answers are.
        """
        if not self.is_box:
            return self._ask_far_trials()
        if self._waiting_trials is None:
            inputs, rng = self.oracle.inputs, self._rng_fresh.spawn(1)[0]
            faces = corners.face_points(inputs, self._asking.face_points, rng)
            self._waiting_trials = np.concatenate([corners.vertices(inputs, rng), faces])
        points, self._waiting_trials = np.split(self._waiting_trials, [most or len(self._waiting_trials)])
        try:
            return self._try(points)
        except BudgetExhausted:
            self._waiting_trials = np.concatenate([points, self._waiting_trials])
            raise

    def _ask_far_trials(self) -> bool:
        """Ask farther and farther out, as far as the model answers."""
        rng, asking, before = self._rng_fresh.spawn(1)[0], self._asking, self.reach
        for far in asking.far_trials:
            if far > before and not self._try(far * self.oracle.sample(rng, asking.far_points)):
                break
            self.reach = far
        return self.reach > before

    def climb_from_vertices(self, network: Network) -> bool:
        """Ask at vertices where a network is worse and worse; say whether there was anything to ask.

        Where a box has too many vertices, what hides below the tolerance at random ones is larger at others.
        """
        if not self.is_box or self.oracle.inputs <= corners.VERTICES.most_inputs or network is self._climbed:
            return False
        self._climbed = network

        def difference(points: Points) -> PerPoint:
            self._try(points)
            return np.max(np.abs(self.trial_values[-len(points) :] - network(points)), axis=1)

        # A neuron whose second kink is missing, or another one like it, shows where the first one is far behind.
        weights = network.layers[0].weights
        extremes = np.where(weights < 0.0, -1.0, 1.0)
        self._try(np.concatenate([extremes, -extremes]))
        # Coordinates of narrow boxes are rounded to a millionth of their sides.
        asking, is_vertex = self._asking, np.all(np.abs(self.trial_points) > 1.0 - 1e-5, axis=1)
        starts, values = np.sign(self.trial_points[is_vertex]), self.trial_values[is_vertex]
        heights = np.max(np.abs(values - network(starts)), axis=1)
        worst, rng = np.argsort(-heights)[: asking.climbs], self._rng_fresh.spawn(1)[0]
        corners.climb(difference, starts[worst], heights[worst], flips=asking.flips, rounds=asking.rounds, rng=rng)
        return True

    def ask_trials_on_kinks(self, network: Network, radius: float) -> None:
        """Ask where each neuron of a network has its kinks: a second one close by shows there."""
        rng, inputs = self._rng_fresh.spawn(1)[0], self.oracle.inputs
        if not network.layers[0].activation.kinks:
            return
        places = self._asking.kinks(radius)
        points, _ = corners.beside_kinks(
            network, *places, sample=lambda count: self.oracle.sample(rng, count), is_box=self.is_box
        )
        if not self._try(points) and not self.is_box:
            # Kinks may be where the model does not answer.
            self._try(points[np.linalg.norm(points, axis=1) <= np.sqrt(inputs) + 3.0])

    def _try(self, points: Points) -> bool:
        """Ask trial points, if there are any and the model answers there."""
        if len(points) == 0:
            return False
        try:
            values = self.oracle.query(points)
        except OracleError:
            if self.is_box:
                raise
            # Models need not answer far from the centre.
            return False
        self.trial_points = np.concatenate([self.trial_points, self.oracle.as_asked(points)])
        self.trial_values = np.concatenate([self.trial_values, values])
        return True

    @property
    def is_box(self) -> bool:
        """Whether the domain is a box."""
        return isinstance(self.oracle.oracle.domain, Box)

    @property
    def are_corners_tried(self) -> bool:
        """Whether no vertex and no point of a face is left that should be tried in a box."""
        return self._waiting_trials is not None and len(self._waiting_trials) == 0

    @property
    def fresh(self) -> tuple[Points, Values]:
        """Fresh points with their answers."""
        return self.fresh_points, self.fresh_values

    @property
    def trials_in_domain(self) -> tuple[Points, Values]:
        """Trial points that lie where the certificate speaks of, with their answers: those of a box."""
        count = len(self.trial_points) if self.is_box else 0
        return self.trial_points[:count], self.trial_values[:count]

    @property
    def unseen(self) -> tuple[Values, Float64[np.ndarray, "with_trials outputs"]]:
        """Fresh answers that no fit has seen, and these with the trials, in the oracle's units without their offset."""
        fresh = self.fresh_values if len(self.fresh_values) else self.values
        return fresh * self.oracle.size, np.concatenate([fresh, self.trials_in_domain[1]]) * self.oracle.size

    def adopt_trials(self, chosen: PointMask) -> None:
        """Let fits see some of the trial answers."""
        self.keep(self.trial_points[chosen], self.trial_values[chosen], are_spread=False)

    def stretch(self, network: Network) -> None:
        """Draw later fit points so far out that most neurons bend over them; only where the domain has no end."""
        hidden = network.layers[0]
        if isinstance(self.oracle.oracle.domain, Box) or not hidden.neurons or hidden.activation.is_piecewise_linear:
            return
        # The long neurons set the limit: among points that are too far apart few would meet their bend.
        asking = self._asking
        argument = float(np.quantile(np.linalg.norm(hidden.weights, axis=1), asking.long_neurons))
        self._stretch = float(np.clip(asking.telling_argument / max(argument, 1e-300), 1.0, self._longest_stretch))

    def _sample(self, count: int) -> Points:
        return self._stretch * self.oracle.sample(self._rng_fit, count)

    def excite(self, network: Network) -> None:
        """Ask around neurons that bend outside the domain, or hardly inside: no answer tells of them otherwise.

        In a box that is where a kink cuts off a corner, or in the slab of a steep neuron. Neurons that are very far
        away are left alone.
        """
        hidden, asking = network.layers[0], self._asking
        planned = max(asking.surplus * network.parameters / self.oracle.outputs, self._spread_out)
        wanted = int(asking.telling_share * (self.oracle.inputs + 2))
        # What the answers of the refinement will tell of a neuron is known before they are asked.
        sample = self._sample(asking.sample)
        for weights, bias in zip(hidden.weights, hidden.biases, strict=True):
            length = float(np.linalg.norm(weights))
            reach = asking.farthest * length
            if length == 0.0 or abs(bias) > reach or reach < asking.telling_argument:
                continue
            arguments = sample @ weights + bias
            targets = asking.telling_arguments(
                hidden.activation, arguments, planned / asking.sample, wanted, self._rng_fit
            )
            slab = np.inf if hidden.activation.homogeneity else 0.5 / length
            if len(targets) == 0 or self._is_excited(weights / length, bias / length, within=slab):
                continue
            if self.is_box:
                if hidden.activation.homogeneity:
                    side = np.sign(targets[0])
                    points = corners.points_beyond(side * weights, side * bias, len(targets), self._rng_fit)
                else:
                    sample_on = self.oracle.sample(self._rng_fit, len(targets))
                    points = corners.points_on(weights, bias - targets, sample_on, is_box=True)
                if len(points):
                    self.keep(points, self.oracle.query(points), are_spread=False)
                continue
            points = self.oracle.sample(self._rng_fit, len(targets))
            moves = targets * (length if hidden.activation.homogeneity else 1.0) - (points @ weights + bias)
            points = points + (moves / length**2)[:, None] * weights
            try:
                values = self.oracle.query(points)
            except OracleError:
                # Models need not answer outside the domain: other answers must tell of this neuron.
                continue
            self.keep(points, values, are_spread=False)

    def _is_excited(self, normal: Vector, offset: float, *, within: float) -> bool:
        """Whether a hyperplane was asked around before, up to this distance; if not, remember that it is now."""
        same = self._asking.same_hyperplane
        seen = any(
            np.linalg.norm(normal - np.sign(normal @ other) * other) < min(same, within)
            and abs(offset - np.sign(normal @ other) * distance) < min(same * (1.0 + abs(offset)), within)
            for other, distance in self._excited
        )
        if not seen:
            self._excited.append((normal, offset))
        return seen

    def _candidates(self, network: Network) -> Points:
        """Draw places that may tell more about a network; in a box in the corners that its kinks cut off, too."""
        sample, hidden = self._sample(self._asking.sample), network.layers[0]
        if not self.is_box or not hidden.activation.homogeneity or not hidden.neurons:
            return sample
        beyond = corners.points_beyond_each(hidden.weights, hidden.biases, self._asking.sample, self._rng_fit)
        return np.concatenate([sample, beyond])

    def ask_more(self, network: Network) -> None:
        """Ask once more as many answers as there are parameters, half of them where the fit knows least."""
        count = int(np.ceil(network.parameters / self.oracle.outputs))
        telling = most_telling(network, self.points, self._candidates(network), count // 2)
        if len(telling):
            self.keep(telling, self.oracle.query(telling), are_spread=False)
        self.ask(count - len(telling))
