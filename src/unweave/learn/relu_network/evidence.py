"""Evidence on a fitted relu network: whether what it leaves is noise, and standard errors of its parameters.

Noise can't be predicted. So residuals are regressed on features that a missing or wrong neuron would show in, and an F
test tells whether they explain more than chance does. What a small change of the network would explain as well is taken
out before, so that rows which the network was fitted to may be used: they are many, and only many show a small part.

In a fixed activation pattern the network is linear in ``u_i = a_i w_i`` and ``c_i = a_i b_i``, so their covariance is
``sigma^2 (J^T J)^-1``, and to first order ``da = <w, du>``, ``dw = (1 - w w^T) du / a``, ``db = (dc - b da) / a``.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float64
from scipy import stats
from scipy.optimize import root_scalar

from unweave.arrays import Points, Values
from unweave.learn.relu_network.pattern_fit import LEAST_EIGENVALUE, pattern_system
from unweave.learn.relu_network.units import unit_parameters
from unweave.networks.network import Network
from unweave.result import Diagnostic, at_least
from unweave.samples.hermite.inputs import Coordinates

# Eigenvalues of normalised features below this share of the largest: one of them depends on the others.
INDEPENDENT = 1e-10
# Sums of squares below this share of the whole are rounding.
ROUNDING = 1e-12
# Rows per feature: with fewer the test has little power.
ROWS_PER_FEATURE = 8
# Rows that are used at most, and numbers of a block of their features.
MOST_ROWS, BLOCK_NUMBERS = 400_000, 2**22
# Kinks along the direction of every neuron, in standard deviations; the outer ones are for neurons that bend rarely.
KINKS = (-2.2, -1.4, -0.7, 0.0, 0.7, 1.4, 2.2)
# Kinks along every coordinate, on both sides.
OUTER_KINK = 1.7
# Coordinates whose products are features.
MOST_SQUARED = 20
# Neurons in random places, for directions that no found neuron has.
RANDOM_NEURONS = 64
# Neurons that are planted at random to see what would be noticed, as many again near those that were found; with kinks
# up to so many standard deviations from the mean. Beyond, 2 % of the samples tell of a neuron.
PLANTS, OUTERMOST = 48, 2.0
# Neurons that are nearer to each other than this angle may be taken for one where labels have noise, so that none is
# planted nearer to one that was found; chosen, and said.
RESOLUTION = float(np.radians(30.0))
# Probability with which a planted neuron has to be noticed; customary.
POWER = 0.95
# Rows that measure how much a neuron bends; half width of the band in which the density of rows at a kink is counted.
BEND_ROWS, DENSITY_BAND = 20_000, 0.25
# Chance below which noise is no explanation any more, and below which there is doubt.
FALSE_ALARM, DOUBT = 1e-6, 1e-3
# A neuron is seen if its output weight is this many standard errors, and its direction is known to this angle.
SEEN, LARGEST_ANGLE = 4.0, 0.5


@dataclass(frozen=True)
class ResidualStructure:
    """The F test of residuals.

    Args:
        chance: probability that noise looks as structured as this.
        statistic: mean square that the features explain, relative to that which they leave.
        explained: share of the residuals' variance that the features explain, corrected for their number.
        noticeable: a neuron that the network lacks would have been noticed, with `POWER`, if what it adds beside affine
            functions has this root mean square: the largest one that is needed for neurons planted in many places.
        features: number of features.
        rows: number of residuals.
    """

    chance: float
    statistic: float
    explained: float
    noticeable: float
    features: int
    rows: int

    @property
    def is_noise(self) -> bool:
        """Whether noise explains the residuals."""
        return self.chance >= FALSE_ALARM

    @property
    def is_doubtful(self) -> bool:
        """Whether noise hardly does: nothing is claimed to be complete then."""
        return self.chance < DOUBT

    def diagnostic(self) -> Diagnostic:
        """The test as a checked assumption."""
        return at_least(
            "chance that noise leaves residuals with such a structure",
            self.chance,
            DOUBT,
            f"the network does not explain all of the labels: what it leaves depends on the inputs (F = "
            f"{self.statistic:.3g}, {100 * self.explained:.2g} % of its variance); look for more neurons",
            weak=FALSE_ALARM,
        )


def residual_structure(network: Network, points: Points, values: Values, rng: np.random.Generator) -> ResidualStructure:
    """Test whether what a network leaves depends on the inputs.

    Args:
        network: shallow relu network with one output.
        points: in coordinates in which they are about standard.
        values: the labels there.
        rng: for the places of random neurons.

    Assumes: independent noise of one variance. Where some rows have more noise than others, alarms are likelier.
    """
    points, values = points[:MOST_ROWS], values[:MOST_ROWS]
    rows = len(points)
    feature_map = _FeatureMap.of(network, points.shape[1], rng, most=rows // ROWS_PER_FEATURE)
    plants = _Plants.of(network, points.shape[1], rng)
    tangent, count = feature_map.tangent, feature_map.count
    gram, products, square = np.zeros((count, count)), np.zeros(count), 0.0
    planted, sizes = np.zeros((count, plants.count)), np.zeros(plants.count)
    step = max(1, BLOCK_NUMBERS // count)
    for first in range(0, rows, step):
        block = slice(first, first + step)
        features = feature_map(points[block])
        residuals = (values[block] - network(points[block]))[:, 0]
        gram += features.T @ features
        products += features.T @ residuals
        values_of_plants = plants(points[block])
        planted += features.T @ values_of_plants
        sizes += np.sum(values_of_plants**2, axis=0)
        square += float(residuals @ residuals)
    known, base = _explained(gram[:tangent, :tangent], products[:tangent])
    every, total = _explained(gram, products)
    extra, left = every - known, square - total
    if extra < 1 or rows <= every + 1:
        return ResidualStructure(1.0, 1.0, 0.0, np.inf, max(extra, 0), rows)
    if left <= ROUNDING * square:
        # Nothing but rounding is left: the features explain all, which noise never allows.
        return ResidualStructure(0.0, np.inf, 1.0, 0.0, extra, rows)
    variance = left / (rows - every)
    statistic = (total - base) / extra / variance
    share = 1.0 - variance / ((square - base) / (rows - known))
    chance = float(stats.f.sf(statistic, extra, rows - every))
    affine = slice(tangent - points.shape[1] - 1, tangent)
    bends = sizes - _explained(gram[affine, affine], planted[affine])[1]
    shown = _explained(gram, planted)[1] - _explained(gram[:tangent, :tangent], planted[:tangent])[1]
    # A planted neuron of weight a has the noncentrality ``a^2 shown / variance``; one that shows nowhere may be any.
    shares = np.max(np.where(shown > ROUNDING * sizes, bends, np.inf) / np.where(shown > ROUNDING * sizes, shown, 1.0))
    noticeable = float(np.sqrt(_needed(extra, rows - every) * variance * shares / rows))
    return ResidualStructure(chance, statistic, share, noticeable, extra, rows)


def _needed(features: int, freedom: int) -> float:
    """Noncentrality with which an F test has a chance below `DOUBT` with the probability `POWER`."""
    level = stats.f.isf(DOUBT, features, freedom) * features

    def missed(noncentrality: float) -> float:
        return float(stats.ncx2.cdf(level, features, noncentrality)) - (1.0 - POWER)

    return float(root_scalar(missed, bracket=(1e-3, 4.0 * level + 100.0)).root)


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
    def of(cls, network: Network, inputs: int, rng: np.random.Generator) -> "_Plants":
        found = unit_parameters(network)[0]
        drawn = rng.standard_normal((PLANTS, inputs))
        drawn /= np.linalg.norm(drawn, axis=1, keepdims=True)
        kinks = rng.uniform(-OUTERMOST, OUTERMOST, len(drawn))
        if len(found):
            near = found[rng.integers(len(found), size=PLANTS)] + rng.uniform(0.5, 1.0, (PLANTS, 1)) * drawn
            drawn = np.vstack([drawn, near / np.linalg.norm(near, axis=1, keepdims=True)])
            kinks = rng.uniform(-OUTERMOST, OUTERMOST, len(drawn))
            apart = np.max(np.abs(drawn @ found.T), axis=1) < np.cos(RESOLUTION)
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


def _explained(gram: Float64[np.ndarray, "features features"], products: np.ndarray) -> tuple:
    """Number of independent features, and the sum of squares that they explain, one for every column of products."""
    if not len(gram):
        return 0, 0.0
    scale = np.sqrt(np.maximum(np.diag(gram), np.finfo(float).tiny))
    eigenvalues, vectors = np.linalg.eigh(gram / np.outer(scale, scale))
    kept = eigenvalues > INDEPENDENT * eigenvalues[-1]
    parts = vectors[:, kept].T @ (products.T / scale).T
    return int(kept.sum()), np.sum((parts.T**2 / eigenvalues[kept]).T, axis=0)


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
    """

    directions: Float64[np.ndarray, "neurons inputs"]
    biases: Float64[np.ndarray, "neurons"]
    random: Float64[np.ndarray, "random inputs"]
    places: Float64[np.ndarray, "random"]
    squared: int
    count: int

    @classmethod
    def of(cls, network: Network, inputs: int, rng: np.random.Generator, *, most: int) -> "_FeatureMap":
        directions, biases, _ = unit_parameters(network)
        random = rng.standard_normal((RANDOM_NEURONS, inputs))
        random /= np.linalg.norm(random, axis=1, keepdims=True)
        squared = min(inputs, MOST_SQUARED)
        extra = inputs * 2 + len(KINKS) * len(biases) + squared * (squared + 1) // 2 + RANDOM_NEURONS
        tangent = (len(biases) + 1) * (inputs + 1)
        count = min(tangent + extra, max(tangent + 1, most))
        return cls(directions, biases, random, rng.choice(KINKS, RANDOM_NEURONS), squared, count)

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
            *(np.maximum(along - place, 0.0) for place in KINKS),
            np.maximum(points - OUTER_KINK, 0.0),
            np.maximum(-points - OUTER_KINK, 0.0),
            np.maximum(points @ self.random.T - self.places, 0.0),
            points[:, left] * points[:, right],
        ]
        return np.column_stack(columns)[:, : self.count]


def weakest_bend(network: Network, points: Points) -> float:
    """Root mean square of what the weakest neuron adds beside affine functions; infinite without neurons."""
    if not network.widths[0]:
        return np.inf
    points = points[:BEND_ROWS]
    lifted = np.linalg.qr(np.column_stack([points, np.ones(len(points))]))[0]
    hidden, output = network.layers
    bent = np.maximum(hidden.preactivations(points), 0.0) * output.weights[0]
    return float(np.min(np.sqrt(np.mean((bent - lifted @ (lifted.T @ bent)) ** 2, axis=0))))


def exact_resolution(network: Network, points: Points, *, confidence: float) -> float:
    """Angle between two neurons above which some row lies between their kinks, with this confidence.

    Between kinks that are an angle apart lie ``density sqrt(2 / pi) angle`` of the rows; where there is none, two
    neurons are one on all of them, and exact labels cannot tell.
    """
    if not network.widths[0]:
        return 0.0
    hidden = network.layers[0]
    lengths = np.linalg.norm(hidden.weights, axis=1)
    distances = np.abs(hidden.preactivations(points)) / np.where(lengths > 0.0, lengths, 1.0)
    density = np.count_nonzero(distances < DENSITY_BAND, axis=0) / (2 * DENSITY_BAND)
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

    weights: Float64[np.ndarray, "neurons inputs"]
    biases: Float64[np.ndarray, "neurons"]
    output_weights: Float64[np.ndarray, "neurons"]

    @property
    def angles(self) -> Float64[np.ndarray, "neurons"]:
        """Standard error of every direction."""
        return np.linalg.norm(self.weights, axis=1)

    def seen(self, network: Network) -> np.ndarray:
        """Which neurons of the network stand out from the noise."""
        outgoing = np.abs(unit_parameters(network)[2])
        return (outgoing > SEEN * self.output_weights) & (self.angles < LARGEST_ANGLE)


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
    directions, biases, output_weights = unit_parameters(network)
    neurons, inputs = directions.shape
    inverse, is_determined = _inverse(pattern_system(network, points, values).gram)
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


def _inverse(
    gram: Float64[np.ndarray, "unknowns unknowns"],
) -> tuple[Float64[np.ndarray, "unknowns unknowns"], Bool[np.ndarray, "unknowns"]]:
    """The pseudoinverse, and which unknowns have no part in a combination that it leaves out."""
    values, vectors = np.linalg.eigh(gram)
    is_known = values > LEAST_EIGENVALUE * np.max(values, initial=0.0)
    known = vectors[:, is_known]
    is_determined = np.all(np.abs(vectors[:, ~is_known]) <= np.sqrt(LEAST_EIGENVALUE), axis=1)
    return (known / values[is_known]) @ known.T, is_determined
