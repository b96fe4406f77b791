"""Families of shallow ReLU networks for `campaign_samples.py`."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

import planted_samples as planted
from campaigns import Family, Judged, Verdict
from unweave import learn  # estimators are loaded when first used
from unweave.result import Outcome

FRESH = 20_000
# Draws of a coordinate that no column shows: their mean is known to a tenth of what it does.
REDRAWN = 100
# Standard errors that a parameter may be away, of the worst of some dozens.
STANDARD_ERRORS = 6.0
# Share of the samples on either side of a kink below which a result with noise names a neuron as invisible.
RARE = 0.02
# Share of the labels that is rounding.
ROUNDING = 1e-6


@dataclass(frozen=True, eq=False)
class Truth:
    """``sum_i a_i relu(<w_i, z> + b_i)`` in plain coordinates, or another function without neurons."""

    rows: np.ndarray
    biases: np.ndarray
    heights: np.ndarray
    other: Callable[[np.ndarray], np.ndarray] | None = None

    def __call__(self, plain: np.ndarray) -> np.ndarray:
        """Labels without noise."""
        if self.other is not None:
            return self.other(plain)
        return np.maximum(plain @ self.rows.T + self.biases, 0.0) @ self.heights


def network(
    rng: np.random.Generator,
    inputs: int,
    *,
    twins: bool = False,
    decades: float = 0.0,
    rare: float = 1.2,
) -> Truth:
    """A random one: biases within `rare`, output weights of size 0.5 to 2 and `decades` of spread."""
    neurons = int(rng.integers(1 + twins, 7))
    rows = planted.unit_rows(rng, neurons, inputs)
    heights = rng.choice([-1, 1], neurons) * rng.uniform(0.5, 2.0, neurons)
    heights *= 10.0 ** rng.uniform(-decades, decades, neurons)
    biases = rng.uniform(-rare, rare, neurons)
    if twins:
        rows, biases[1] = planted.near_duplicates(rng, rows), biases[0] + rng.choice([0.0, 0.01])
    lengths = 10.0 ** rng.uniform(-decades, decades, neurons)
    return Truth(lengths[:, None] * rows, lengths * biases, heights / lengths)


def no_network(rng: np.random.Generator, inputs: int) -> Truth:
    """Other functions of the inputs."""
    w = planted.unit_rows(rng, 4, inputs)
    kinds = (
        lambda z: np.tanh(2 * z @ w.T).sum(axis=1),
        lambda z: (z @ w[0]) ** 2 - z @ w[1],
        lambda z: np.sin(3 * z @ w[0]),
        lambda z: np.maximum(np.maximum(z @ w[:2].T, 0).sum(axis=1) - np.maximum(z @ w[2], 0) - 0.3, 0),
        lambda z: np.where(z @ w[0] > 0, 1.0, 0.0),
    )
    return Truth(np.empty((0, inputs)), np.empty(0), np.empty(0), kinds[int(rng.integers(len(kinds)))])


def wide(rng: np.random.Generator, inputs: int) -> Truth:
    """Up to three times as many neurons as inputs."""
    neurons = int(rng.integers(inputs + 1, 3 * inputs + 1))
    heights = rng.choice([-1, 1], neurons) * rng.uniform(0.5, 2.0, neurons)
    return Truth(planted.unit_rows(rng, neurons, inputs), rng.uniform(-1.2, 1.2, neurons), heights)


def mixture(rng: np.random.Generator, inputs: int) -> planted.Inputs:
    """Three clusters, of mean zero and spread 1 in all directions together."""
    centers = rng.standard_normal((3, inputs)) * rng.uniform(0.5, 2.0)
    centers -= centers.mean(axis=0)
    size = np.sqrt(1.0 + np.mean(centers**2))

    def draw(r: np.random.Generator, n: int) -> np.ndarray:
        return (centers[r.integers(3, size=n)] + r.standard_normal((n, inputs))) / size

    return planted.Inputs(np.eye(inputs), np.zeros(inputs), draw, np.ones(inputs))


def one_hot(rng: np.random.Generator, inputs: int) -> planted.Inputs:
    """All three columns of a code, and others beside them."""
    shares = rng.dirichlet([3.0, 3.0, 3.0])
    spread = np.append(np.sqrt(shares * (1.0 - shares)), np.ones(inputs - 3))

    def draw(r: np.random.Generator, n: int) -> np.ndarray:
        plain = r.standard_normal((n, inputs))
        plain[:, :3] = (r.choice(3, n, p=shares)[:, None] == np.arange(3)) - shares
        return plain

    return planted.Inputs(np.eye(inputs), np.zeros(inputs), draw, spread)


def judge(
    seed: int,
    *,
    kind: Callable[[np.random.Generator, int], planted.Inputs] = planted.gaussian,
    plant: Callable[[np.random.Generator, int], Truth] = network,
    noise: tuple[float, float] = (0.0, 0.0),
    inputs: tuple[int, int] = (2, 10),
    rows: tuple[int, int] = (1_000, 20_000),
    tails: bool = False,
    most: int = 1,
) -> Judged:
    """Plant, fit and judge."""
    rng = np.random.default_rng([2, seed])
    count = int(rng.integers(inputs[0], inputs[1] + 1))
    shape, samples = kind(rng, count), int(np.exp(rng.uniform(*np.log(rows))))
    truth, plain = plant(rng, count), shape.draw(rng, samples)
    size = rng.uniform(*noise)
    errors = rng.standard_t(3, samples) if tails else rng.standard_normal(samples)
    labels, again = truth(plain) + size * errors, planted.repeated(rng, samples, most)
    plain, labels, samples = plain[again], labels[again], len(np.unique(again))
    neurons = len(truth.rows) or None if rng.random() < 0.1 else None
    model = learn.ReluNetworkRegressor(neurons=neurons, random_state=seed).fit(shape.points(plain), labels)
    if model.outcome_ is Outcome.NOT_IDENTIFIED:
        return Judged(Verdict.HONEST_NO, model.result_.reason[:120])
    fresh = shape.draw(rng, FRESH)
    left = model.predict(shape.points(fresh)) - expected(truth, shape, fresh, rng)
    if truth.other is not None and model.network_.widths[0] == 0 and model.outcome_ is Outcome.PARTLY_IDENTIFIED:
        # Only the affine part of that function is claimed.
        lifted = np.linalg.qr(np.column_stack([fresh, np.ones(len(fresh))]))[0]
        left = lifted @ (lifted.T @ left)
    return compared(model, shape, truth, fresh, left, samples)


def expected(truth: Truth, shape: planted.Inputs, fresh: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Labels without noise; their mean over coordinates that no column shows, which is all that samples can tell."""
    hidden = ~np.any(shape.axes != 0.0, axis=0)
    if not hidden.any():
        return truth(fresh)
    total = np.zeros(len(fresh))
    for _ in range(REDRAWN):
        plain = np.where(hidden, shape.draw(rng, len(fresh)), fresh)
        total += truth(plain)
    return total / REDRAWN


def bends(truth: Truth, fresh: np.ndarray) -> np.ndarray:
    """Root mean square of what every true neuron adds beside affine functions."""
    lifted = np.linalg.qr(np.column_stack([fresh, np.ones(len(fresh))]))[0]
    values = np.maximum(fresh @ truth.rows.T + truth.biases, 0.0) * truth.heights
    return np.sqrt(np.mean((values - lifted @ (lifted.T @ values)) ** 2, axis=0))


def rare(truth: Truth, fresh: np.ndarray) -> np.ndarray:
    """Which true neurons have hardly a sample on one side of their kinks."""
    beyond = np.mean(fresh @ truth.rows.T + truth.biases > 0.0, axis=0)
    return np.minimum(beyond, 1.0 - beyond) < RARE


def compared(model, shape: planted.Inputs, truth: Truth, fresh: np.ndarray, left: np.ndarray, samples: int) -> Judged:
    """Compare what is claimed with the truth."""
    claim, is_whole = model.certificate_, model.outcome_ is Outcome.IDENTIFIED
    about = f"{model.outcome_.value}: {model.result_.reason[:160]}"
    error, is_exact = float(np.sqrt(np.mean(left**2))), claim.noticeable == 0.0
    parameters = (model.network_.widths[0] + 1) * (model.network_.inputs + 1)
    hidden = float(np.sum(bends(truth, fresh)[rare(truth, fresh)])) if len(truth.rows) else 0.0
    allowed = claim.noticeable + hidden + STANDARD_ERRORS * claim.noise * np.sqrt(parameters / samples)
    if is_exact:
        # All but this share of the inputs have no larger error.
        beyond = float(np.mean(np.abs(left) > claim.largest_error + ROUNDING * claim.label_rms))
        if beyond > 3.0 * (1.0 - claim.coverage) + 4.0 * np.sqrt((1.0 - claim.coverage) / FRESH):
            return Judged(Verdict.WRONG, f"larger errors for {beyond:.1e}; {about}")
    elif error > allowed:
        return Judged(Verdict.WRONG, f"function off by {error:.3g}, claimed {allowed:.3g}; {about}")
    if not is_whole or truth.other is not None:
        # Another function that the network approximates to what is claimed has no neurons to compare.
        return Judged(Verdict.PARTLY_RIGHT, about)
    sizes = np.where(rare(truth, fresh) & (not is_exact), 0.0, bends(truth, fresh))
    return parameters_compared(model, shape, truth, sizes, about, is_exact=is_exact)


def parameters_compared(
    model, shape: planted.Inputs, truth: Truth, sizes: np.ndarray, about: str, *, is_exact: bool
) -> Judged:
    """Compare neurons one by one."""
    claim = model.certificate_
    hidden, output = model.network_.layers
    found, levels, lengths = shape.white(hidden.weights, -hidden.biases)
    true, true_levels, true_lengths = shape.white_plain(truth.rows, -truth.biases)
    heights, true_heights = output.weights[0] * lengths, truth.heights * true_lengths
    mine, its, angles = planted.matched(found, true, (levels, true_levels), signed=False)
    near = np.abs(true @ true.T) - 2 * np.eye(len(true))
    is_twin = np.max(near, axis=1, initial=-1.0) > np.cos(claim.resolution)
    if len(mine) < len(found):
        return Judged(Verdict.WRONG, f"{len(found)} neurons of {len(true)}; {about}")
    for missing in sorted(set(range(len(true))) - set(its.tolist())):
        # Exact labels may lack a neuron that bends beyond all samples, or one that is rounding.
        share = ROUNDING * claim.label_rms if is_exact else claim.noticeable
        if sizes[missing] > share and not is_twin[missing]:
            return Judged(Verdict.WRONG, f"misses a neuron of {sizes[missing]:.3g}, allowed {share:.3g}; {about}")
    errors = model.standard_errors_
    for k, i, angle in zip(mine, its, angles, strict=True):
        if is_twin[i]:
            continue
        allowed = ROUNDING if is_exact else STANDARD_ERRORS * float(np.linalg.norm(errors.weights[k]))
        off = abs(heights[k] - true_heights[i])
        limit = ROUNDING * abs(true_heights[i])
        if not is_exact:
            limit = STANDARD_ERRORS * errors.output_weights[k] * lengths[k]
        # Standard errors are those of the inputs as they came: they compare where these have spread one.
        if np.ptp(np.abs(shape.axes).sum(axis=1)) < 1e-9 and (angle > allowed or off > limit + ROUNDING):
            seen = f"angle {angle:.2g} of {allowed:.2g}, weight {off:.2g} of {limit:.2g}"
            return Judged(Verdict.WRONG, f"{seen}; {about}")
    return Judged(Verdict.RIGHT, about)


VARIANTS: dict[str, dict] = {
    "exact": {},
    "noise": {"noise": (0.01, 1.0)},
    "noise, few rows": {"noise": (0.05, 0.5), "rows": (300, 1_500), "inputs": (4, 10)},
    "near duplicates": {"plant": partial(network, twins=True)},
    "near duplicates, noise": {"plant": partial(network, twins=True), "noise": (0.01, 0.3)},
    "tiny and huge weights": {"plant": partial(network, decades=2.0)},
    "tiny and huge weights, noise": {"plant": partial(network, decades=1.0), "noise": (0.01, 0.3)},
    "rare neurons": {"plant": partial(network, rare=3.0)},
    "rare neurons, noise": {"plant": partial(network, rare=3.0), "noise": (0.01, 0.3)},
    "noise with heavy tails": {"noise": (0.01, 0.5), "tails": True},
    "no network": {"plant": no_network},
    "no network, noise": {"plant": no_network, "noise": (0.05, 0.5)},
    "few rows": {"rows": (2, 300)},
    "offset 1e5": {"kind": planted.far_away, "noise": (0.0, 0.2)},
    "constant column": {"kind": planted.constant_column, "inputs": (3, 7)},
    "ill-conditioned": {"kind": planted.ill_conditioned, "noise": (0.0, 0.2)},
    "tiny or huge numbers": {"kind": planted.scaled, "noise": (0.0, 0.2)},
    "binary column": {"kind": planted.binary_column},
    "binary column, noise": {"kind": planted.binary_column, "noise": (0.01, 0.3)},
    "one-hot code": {"kind": one_hot, "inputs": (4, 9)},
    "one-hot code, noise": {"kind": one_hot, "inputs": (4, 9), "noise": (0.01, 0.3)},
    "repeated rows": {"most": 100, "plant": partial(network, rare=2.0)},
    "repeated rows, noise": {"most": 30, "noise": (0.01, 0.3)},
    "repeated rows, no network": {"most": 100, "plant": no_network},
    "rounded inputs": {"kind": planted.rounded, "inputs": (1, 4)},
    "rounded inputs, noise": {"kind": planted.rounded, "inputs": (1, 4), "noise": (0.01, 0.3)},
    "mixture": {"kind": mixture},
    "mixture, noise": {"kind": mixture, "noise": (0.01, 0.5)},
    "more neurons than inputs, noise": {"plant": wide, "inputs": (2, 5), "noise": (0.01, 0.3)},
    "heavy tails": {"kind": planted.heavy_tails},
    "heavy tails, noise": {"kind": planted.heavy_tails, "noise": (0.01, 0.3)},
}
FAMILIES = [Family("relu network", name, partial(judge, **settings)) for name, settings in VARIANTS.items()]
