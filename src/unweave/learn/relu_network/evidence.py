"""Evidence on a fitted relu network: whether what it leaves is noise, and standard errors of its parameters.

Noise can't be predicted. So residuals are regressed on features that a missing or wrong neuron would show in, and an F
test tells whether they explain more than chance does. What a small change of the network would explain as well is taken
out before, so that rows which the network was fitted to may be used: they are many, and only many show a small part.
The test is made once more with large residuals cut off: a few rows between a kink and its true place may outweigh the
rest, while noise that does not depend on the inputs does not depend on them when it is cut off either.

In a fixed activation pattern the network is linear in ``u_i = a_i w_i`` and ``c_i = a_i b_i``, so their covariance is
``sigma^2 (J^T J)^-1``, and to first order ``da = <w, du>``, ``dw = (1 - w w^T) du / a``, ``db = (dc - b da) / a``.
"""

from dataclasses import dataclass

import numpy as np
import scipy  # its parts are loaded when first used
from jaxtyping import Bool, Float64

from unweave.arrays import Atoms, PerNeuron, Points, Values
from unweave.learn.relu_network.pattern_fit import BLOCK_NUMBERS, PatternSystem, pattern_system
from unweave.learn.relu_network.units import unit_parameters
from unweave.networks.network import Network
from unweave.result import Diagnostic, at_least
from unweave.samples.hermite.inputs import Coordinates


@dataclass(frozen=True)
class ResidualStructure:
    """The F test of residuals.

    Args:
        chance: probability that noise looks as structured as this, in one of both tests.
        statistic: mean square that the features explain, relative to that which they leave.
        explained: share of the residuals' variance that the features explain, corrected for their number.
        noticeable: a neuron that the network lacks would have been noticed, with the power of the test, if what it adds
            beside affine functions has this root mean square: the largest one that is needed for neurons planted in
            many places.
        features: number of features.
        rows: number of residuals.
        levels: chances below which noise is no explanation any more, and below which there is doubt.
    """

    chance: float
    statistic: float
    explained: float
    noticeable: float
    features: int
    rows: int
    levels: tuple[float, float]

    @property
    def is_noise(self) -> bool:
        """Whether noise explains the residuals."""
        return self.chance >= self.levels[0]

    @property
    def is_doubtful(self) -> bool:
        """Whether noise hardly does: nothing is claimed to be complete then."""
        return self.chance < self.levels[1]

    def diagnostic(self) -> Diagnostic:
        """The test as a checked assumption."""
        return at_least(
            "chance that noise leaves residuals with such a structure",
            self.chance,
            self.levels[1],
            f"the network does not explain all of the labels: what it leaves depends on the inputs (F = "
            f"{self.statistic:.3g}, {100 * self.explained:.2g} % of its variance); look for more neurons",
            weak=self.levels[0],
        )


@dataclass(frozen=True, kw_only=True)
class ResidualTest:
    """Settings of the F test of residuals. Kinks are in standard deviations of the inputs.

    Args:
        false_alarm: chance below which noise is no explanation any more. A fit looks at fifteen networks at most, so
            that noise is taken for neurons in less than one of 50,000 fits.
        doubt: chance below which nothing is called complete; chosen: one of a thousand right networks loses a claim.
        power: probability with which a missing neuron has to be noticed; customary.
        kinks: along the direction of every neuron. They are so close that together they explain 95 % of the bend of
            any neuron in between, calculated for Gaussian inputs.
        outer_kink: along every coordinate, on both sides, for neurons that bend rarely: one row in 22 is beyond.
        most_squared: coordinates whose products are features: 210 products; chosen, for the time that features take.
        random_neurons: in random places, for directions that no found neuron has; chosen, as above.
        rows_per_feature: with fewer, features are left out; chosen: the variance comes from seven eighths of the rows.
        most_rows: rows that are used; chosen, for the time.
        plants: neurons that are planted at random to see what would be noticed, as many again near those that were
            found: the most hidden one of 96 is more hidden than 95 % of all places, with a confidence of 99 %
            (``0.95^96 = 0.007``).
        outermost: kinks of these. Beyond, 2 % of the rows tell of a neuron.
        resolution: angle between neurons that may be taken for one where labels have noise, so that none is planted
            nearer to one that was found; chosen, and said with every claim.
        independent: eigenvalues of normalised features below this share of the largest belong to a dependence. Rounding
            leaves features times 2e-16, so 1e-12 for all features that there may be; a hundred times that.
        rounding: share of a sum of squares that is rounding: that of 400,000 terms is about 1e-13; ten times that.
        cut: where large residuals are cut off, in units of the median size: of normal noise that is at 1.3 standard
            deviations, and costs a tenth of the power; chosen.
    """

    false_alarm: float = 1e-6
    doubt: float = 1e-3
    power: float = 0.95
    kinks: tuple[float, ...] = (-2.2, -1.4, -0.7, 0.0, 0.7, 1.4, 2.2)
    outer_kink: float = 1.7
    most_squared: int = 20
    random_neurons: int = 64
    rows_per_feature: int = 8
    most_rows: int = 400_000
    plants: int = 48
    outermost: float = 2.0
    resolution: float = float(np.radians(30.0))
    independent: float = 1e-10
    rounding: float = 1e-12
    cut: float = 2.0

    def __call__(self, network: Network, points: Points, values: Values, rng: np.random.Generator) -> ResidualStructure:
        """Test whether what a network leaves depends on the inputs.

        Args:
            network: shallow relu network with one output.
            points: in coordinates in which they are about standard.
            values: the labels there.
            rng: for the places of random neurons.

        Assumes: independent noise of one variance. Where some rows have more noise than others, alarms are likelier.
        """
        points, values = points[: self.most_rows], values[: self.most_rows]
        rows, levels = len(points), (self.false_alarm, self.doubt)
        feature_map = _FeatureMap.of(network, points.shape[1], rng, self, most=rows // self.rows_per_feature)
        plants = _Plants.of(network, points.shape[1], rng, self)
        tangent, count = feature_map.tangent, feature_map.count
        residuals = self._both(values - network(points))
        gram, products = np.zeros((count, count)), np.zeros((count, 2))
        planted, sizes = np.zeros((count, plants.count)), np.zeros(plants.count)
        step = max(1, BLOCK_NUMBERS // count)
        for first in range(0, rows, step):
            block = slice(first, first + step)
            features = feature_map(points[block])
            gram += features.T @ features
            products += features.T @ residuals[block]
            values_of_plants = plants(points[block])
            planted += features.T @ values_of_plants
            sizes += np.sum(values_of_plants**2, axis=0)
        squares = np.sum(residuals**2, axis=0)
        known, bases = self._explained(gram[:tangent, :tangent], products[:tangent])
        every, totals = self._explained(gram, products)
        extra, left = every - known, squares - totals
        if extra < 1 or rows <= every + 1:
            return ResidualStructure(1.0, 1.0, 0.0, np.inf, max(extra, 0), rows, levels)
        if np.any(left <= self.rounding * squares):
            # Nothing but rounding is left: the features explain all, which noise never allows.
            return ResidualStructure(0.0, np.inf, 1.0, 0.0, extra, rows, levels)
        variances = left / (rows - every)
        statistics = (totals - bases) / extra / variances
        shares = 1.0 - variances / ((squares - bases) / (rows - known))
        worst, variance = int(np.argmax(statistics)), float(variances[0])
        # One of two tests, which nearly agree, has this chance with half the level.
        chance = min(2.0 * float(scipy.stats.f.sf(statistics[worst], extra, rows - every)), 1.0)
        affine = slice(tangent - points.shape[1] - 1, tangent)
        bends = sizes - self._explained(gram[affine, affine], planted[affine])[1]
        shown = self._explained(gram, planted)[1] - self._explained(gram[:tangent, :tangent], planted[:tangent])[1]
        # A planted neuron of weight a has noncentrality ``a^2 shown / variance``; one that shows nowhere may be any.
        is_shown = shown > self.rounding * sizes
        hidden = np.max(np.where(is_shown, bends, np.inf) / np.where(is_shown, shown, 1.0))
        noticeable = float(np.sqrt(self._needed(extra, rows - every) * variance * hidden / rows))
        statistic, share = float(statistics[worst]), float(shares[worst])
        return ResidualStructure(chance, statistic, share, noticeable, extra, rows, levels)

    def _both(self, residuals: Float64[np.ndarray, "points 1"]) -> Float64[np.ndarray, "points 2"]:
        """Residuals, and the same with large ones cut off."""
        sizes = np.abs(residuals[residuals != 0.0])
        limit = self.cut * float(np.median(sizes)) if len(sizes) else 0.0
        return np.hstack([residuals, np.clip(residuals, -limit, limit)])

    def _needed(self, features: int, freedom: int) -> float:
        """Noncentrality with which the first of both tests has a chance below `doubt` with the probability `power`."""
        level = scipy.stats.f.isf(self.doubt / 2.0, features, freedom) * features

        def missed(noncentrality: float) -> float:
            return float(scipy.stats.ncx2.cdf(level, features, noncentrality)) - (1.0 - self.power)

        return float(scipy.optimize.root_scalar(missed, bracket=(1e-3, 4.0 * level + 100.0)).root)

    def _explained(self, gram: Float64[np.ndarray, "features features"], products: np.ndarray) -> tuple:
        """Count independent features, and give the sum of squares that they explain of every column of products."""
        if not len(gram):
            return 0, 0.0
        scale = np.sqrt(np.maximum(np.diag(gram), np.finfo(float).tiny))
        eigenvalues, vectors = np.linalg.eigh(gram / np.outer(scale, scale))
        kept = eigenvalues > self.independent * eigenvalues[-1]
        parts = vectors[:, kept].T @ (products.T / scale).T
        return int(kept.sum()), np.sum((parts.T**2 / eigenvalues[kept]).T, axis=0)


@dataclass(frozen=True, eq=False)
class _Plants:
    """Neurons of weight one in many places, of which it is asked whether they would have been noticed.

    Args:
        directions: random ones, and some near those of the network: a neuron beside another one hides best.
        kinks: where they bend, in standard deviations.
    """

    directions: Float64[np.ndarray, "plants inputs"]
    kinks: Float64[np.ndarray, "plants"]

    @classmethod
    def of(cls, network: Network, inputs: int, rng: np.random.Generator, test: ResidualTest) -> "_Plants":
        found = unit_parameters(network)[0]
        drawn = rng.standard_normal((test.plants, inputs))
        drawn /= np.linalg.norm(drawn, axis=1, keepdims=True)
        kinks = rng.uniform(-test.outermost, test.outermost, len(drawn))
        if len(found):
            near = found[rng.integers(len(found), size=test.plants)] + rng.uniform(0.5, 1.0, (test.plants, 1)) * drawn
            drawn = np.vstack([drawn, near / np.linalg.norm(near, axis=1, keepdims=True)])
            kinks = rng.uniform(-test.outermost, test.outermost, len(drawn))
            apart = np.max(np.abs(drawn @ found.T), axis=1) < np.cos(test.resolution)
            if apart.any():
                drawn, kinks = drawn[apart], kinks[apart]
        return cls(drawn, kinks)

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self.kinks)

    def __call__(self, points: Points) -> Float64[np.ndarray, "points plants"]:
        """Values of all of them."""
        return np.maximum(points @ self.directions.T - self.kinks, 0.0)


@dataclass(frozen=True, eq=False)
class _FeatureMap:
    """Features of points: first what changes of the network's parameters do, then what is tested.

    Args:
        directions: unit weights of the network.
        biases: for these.
        random: unit weights of random neurons.
        places: their kinks.
        squared: coordinates whose products are features.
        count: features that are used; the most telling come first, because few rows allow few only.
        test: says where kinks are.
    """

    directions: Atoms
    biases: PerNeuron
    random: Float64[np.ndarray, "random inputs"]
    places: Float64[np.ndarray, "random"]
    squared: int
    count: int
    test: ResidualTest

    @classmethod
    def of(
        cls, network: Network, inputs: int, rng: np.random.Generator, test: ResidualTest, *, most: int
    ) -> "_FeatureMap":
        directions, biases, _ = unit_parameters(network)
        random = rng.standard_normal((test.random_neurons, inputs))
        random /= np.linalg.norm(random, axis=1, keepdims=True)
        squared = min(inputs, test.most_squared)
        extra = inputs * 2 + len(test.kinks) * len(biases) + squared * (squared + 1) // 2 + test.random_neurons
        tangent = (len(biases) + 1) * (inputs + 1)
        count = min(tangent + extra, max(tangent + 1, most))
        return cls(directions, biases, random, rng.choice(test.kinks, test.random_neurons), squared, count, test)

    @property
    def tangent(self) -> int:
        """Features that belong to changes of the network and of an affine part."""
        return (len(self.biases) + 1) * (self.directions.shape[1] + 1)

    def __call__(self, points: Points) -> Float64[np.ndarray, "points features"]:
        """All features of some points."""
        along = points @ self.directions.T
        lifted = np.column_stack([points, np.ones(len(points))])
        left, right = np.triu_indices(self.squared)
        columns = [
            *((along[:, [k]] + bias > 0.0) * lifted for k, bias in enumerate(self.biases)),
            lifted,
            *(np.maximum(along - place, 0.0) for place in self.test.kinks),
            np.maximum(points - self.test.outer_kink, 0.0),
            np.maximum(-points - self.test.outer_kink, 0.0),
            np.maximum(points @ self.random.T - self.places, 0.0),
            points[:, left] * points[:, right],
        ]
        return np.column_stack(columns)[:, : self.count]


def weakest_bend(network: Network, points: Points) -> float:
    """Root mean square of what the weakest neuron adds beside affine functions; infinite without neurons."""
    if not network.widths[0]:
        return np.inf
    lifted = np.linalg.qr(np.column_stack([points, np.ones(len(points))]))[0]
    hidden, output = network.layers
    bent = np.maximum(hidden.preactivations(points), 0.0) * output.weights[0]
    return float(np.min(np.sqrt(np.mean((bent - lifted @ (lifted.T @ bent)) ** 2, axis=0))))


def exact_resolution(network: Network, points: Points, *, confidence: float, band: float) -> float:
    """Angle between two neurons above which some row lies between their kinks, with this confidence.

    Between kinks that are an angle apart lie ``density sqrt(2 / pi) angle`` of the rows; where there is none, two
    neurons are one on all of them, and exact labels cannot tell.

    Args:
        network: shallow relu network.
        points: the rows.
        confidence: of the claim.
        band: half width of the band around a kink in which the density of rows is counted.
    """
    if not network.widths[0]:
        return 0.0
    hidden = network.layers[0]
    lengths = np.linalg.norm(hidden.weights, axis=1)
    distances = np.abs(hidden.preactivations(points)) / np.where(lengths > 0.0, lengths, 1.0)
    density = np.count_nonzero(distances < band, axis=0) / (2 * band)
    rarest = max(float(np.min(density)), 1.0)
    return float(min(-np.log(1.0 - confidence) / (np.sqrt(2.0 / np.pi) * rarest), np.pi))


@dataclass(frozen=True, eq=False)
class StandardErrors:
    """Of unit weights, biases and output weights; infinite where the samples determine nothing.

    Args:
        weights: of every entry of the unit weights.
        biases: of the biases that belong to unit weights.
        output_weights: of the output weights that belong to unit weights.
    """

    weights: Atoms
    biases: PerNeuron
    output_weights: PerNeuron

    @property
    def angles(self) -> PerNeuron:
        """Standard error of every direction."""
        return np.linalg.norm(self.weights, axis=1)

    def seen(self, network: Network, *, needed: float, largest_angle: float) -> Bool[np.ndarray, "neurons"]:
        """Which neurons have output weights of so many standard errors, and directions known to this angle."""
        outgoing = np.abs(unit_parameters(network)[2])
        return (outgoing > needed * self.output_weights) & (self.angles < largest_angle)


def standard_errors(
    network: Network, points: Points, values: Values, *, noise: float, coordinates: Coordinates
) -> StandardErrors:
    """Standard errors of a network that least squares has fitted to labels with this noise.

    Args:
        network: shallow relu network with one output, in the given coordinates.
        points: where it was fitted, in these coordinates.
        values: the labels there.
        noise: standard deviation of one label.
        coordinates: errors are told for the inputs that these are coordinates of.
    """
    return errors_by_system(network, pattern_system(network, points, values), noise=noise, coordinates=coordinates)


def errors_by_system(
    network: Network, system: PatternSystem, *, noise: float, coordinates: Coordinates
) -> StandardErrors:
    """The same for normal equations that were summed over the rows before."""
    directions, biases, output_weights = unit_parameters(network)
    neurons, inputs = directions.shape
    inverse, is_determined = system.inverse()
    axes, origin = coordinates.axes, coordinates.origin
    # Slopes and constants for the inputs: u' = A u, c' = c - <u', origin>.
    to_inputs = np.block([[axes, np.zeros((len(axes), 1))], [-(axes.T @ origin)[None], np.ones((1, 1))]])
    original, shifted = coordinates.pulled_back(directions, biases)
    lengths = np.linalg.norm(original, axis=1)
    weights, heights, places = original / lengths[:, None], output_weights * lengths, shifted / lengths
    errors = np.empty((neurons, len(axes) + 2))
    for k in range(neurons):
        block = slice(k * (inputs + 1), (k + 1) * (inputs + 1))
        if not np.all(is_determined[block]):
            errors[k] = np.inf
            continue
        own = noise**2 * to_inputs @ inverse[block, block] @ to_inputs.T
        w, a, b = weights[k], heights[k], places[k]
        height = np.append(w, 0.0)
        turn = np.column_stack([np.eye(len(w)) - np.outer(w, w), np.zeros(len(w))]) / a
        shift = (np.append(np.zeros(len(w)), 1.0) - b * height) / a
        change = np.vstack([turn, shift, height])
        errors[k] = np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", change, own, change), 0.0))
    return StandardErrors(errors[:, :-2], errors[:, -2], errors[:, -1])
