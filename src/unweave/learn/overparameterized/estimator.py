"""Regression by a one-hidden-layer network that is wide enough to fit every label, with a certificate that it did."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.linalg

from unweave.activations import Activation, activation_named
from unweave.arrays import root_mean_square
from unweave.exceptions import InvalidInput
from unweave.learn.base import NetworkRegressor, check_neurons, check_room, check_sizes, seed_of
from unweave.learn.overparameterized.certificates import (
    TrainingCertificate,
    certify_local_convergence,
    certify_zero_error,
)
from unweave.learn.overparameterized.conditions import RULES, network_conditions, sample_conditions
from unweave.learn.overparameterized.descent import GradientDescent
from unweave.learn.overparameterized.jacobian import SingularValues, TrainingPoint, jacobian_spectrum
from unweave.learn.overparameterized.newton import GramLevenbergMarquardt, TrainingFit
from unweave.learn.overparameterized.ridge import RidgeChoice, with_ridge
from unweave.learn.stages import Stages
from unweave.learn.weighed import WeighedSamples
from unweave.networks.network import Network
from unweave.result import Cost, Outcome, Result

Solver = Callable[[TrainingPoint], TrainingFit]


class OverparameterizedRegressor(NetworkRegressor):
    """Train ``f(x) = sum_l v_l g(<w_l, x> + b_l)`` with more parameters than samples to zero error.

    Labels that a network which meets the others does not predict are noisy: they are met with a ridge, which held-out
    rows choose.

    Args:
        neurons: hidden neurons; by default enough for two hidden weights per sample.
        activation: name of a differentiable activation, such as ``"softplus(10)"``, ``"tanh"`` or ``"gelu"``.
        solver: `GramLevenbergMarquardt` or `GradientDescent` with its settings; by default the former, or the latter
            if there are too many samples for a factorisation.
        trains_outputs: whether the output weights move, too, or stay at random signs over ``sqrt(neurons)``.
        fit_bias: whether neurons have biases, which are weights of a constant input; the theory's model has none.
        ridge: weight of half the squared output weights, for standardised inputs and labels of root mean square 1.
            Hidden weights then stay where they start, and nothing is claimed. None to let held-out rows decide: labels
            are met if that predicts them well, and a ridge is chosen if it does not; 0 to meet them in any case.
        starts: random starts that are tried until one is at a global minimum.
        random_state: seed of the starts.

    After `fit`: `network_`, `certificate_`, `outcome_`, and all of it in `result_`; `ridge_` is the one that was used.

    >>> import numpy as np
    >>> from unweave.learn import OverparameterizedRegressor
    >>> points = np.random.default_rng(0).standard_normal((30, 4))
    >>> model = OverparameterizedRegressor(ridge=0, random_state=0).fit(points, np.sin(points[:, 0]))
    >>> model.certificate_.is_global_minimum
    True

    Inputs are scaled (and centred, if there are biases) for training, and labels scaled; the network is given back in
    the units of the samples. It has no offset.
    """

    def __init__(
        self,
        neurons: int | None = None,
        *,
        activation: str = "softplus(10.0)",
        solver: Solver | None = None,
        trains_outputs: bool = True,
        fit_bias: bool = True,
        ridge: float | None = None,
        starts: int = 3,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.neurons = neurons
        self.activation = activation
        self.solver = solver
        self.trains_outputs = trains_outputs
        self.fit_bias = fit_bias
        self.ridge = ridge
        self.starts = starts
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "OverparameterizedRegressor":
        """Train on samples `X` with labels `y`.

        Args:
            X: samples.
            y: their labels.
            sample_weight: of their squared errors, which matter where labels are not met; samples of weight 0 are left
                out. What is claimed counts every other one once.

        Raises:
            InvalidInput: if a setting makes no sense, the samples are not finite numbers of the right shape, their
                powers are no floats, or a weight is negative.
        """
        points, labels = self._check_samples(X, y)
        check_sizes(points, labels)
        given = WeighedSamples.of(points, labels, self._check_weights(sample_weight, points))
        points, labels = given.points, given.labels
        check_room(check_neurons(self.neurons), points)
        activation = activation_named(self.activation)
        units = _Units.of(given, has_bias=self.fit_bias)
        neurons = self._neurons(*units.points.shape)
        rng, stages = np.random.default_rng(seed_of(self.random_state)), Stages()
        with stages("training"):
            start, fit = self._best(units, activation, neurons, rng)
        with stages("certificate"):
            end, raw = fit.point.unweighed, units.in_their_units(fit.point)
            spectrum = jacobian_spectrum(end)
            certificate = _certify(start.unweighed, end, raw, spectrum)
            diagnostics = (*network_conditions(end, spectrum), *sample_conditions(points, labels))
        outcome, reason = _verdict(certificate, fit.point, fit.steps, self.ridge_)
        rows = len(points) + given.copies
        self.losses_, self.n_iter_ = fit.losses * units.label_scale**2, max(fit.steps, 1)
        return self._keep(
            Result(
                outcome=outcome,
                reason=reason,
                network=_network(raw, has_bias=self.fit_bias),
                certificate=certificate,
                diagnostics=diagnostics,
                cost=Cost(samples=rows, seconds=stages.seconds),
                notes=(*_notes(self.fit_bias), *given.notes),
            ),
            points,
        )

    def _neurons(self, samples: int, inputs: int) -> int:
        return check_neurons(self.neurons) or RULES.width.neurons(samples, inputs)

    def _best(
        self, units: "_Units", activation: Activation, neurons: int, rng: np.random.Generator
    ) -> tuple[TrainingPoint, TrainingFit]:
        """The first start that ends at a global minimum, or the one with the lowest loss."""
        self._check_settings()
        first = _random_start(units, activation, neurons, rng.spawn(1)[0], trains_outputs=self.trains_outputs)
        self.ridge_ = self._chosen_ridge(first, rng.spawn(1)[0])
        if self.ridge_ > 0:
            return first, with_ridge(first, self.ridge_)
        tried = []
        for _ in range(self.starts):
            start = _random_start(units, activation, neurons, rng, trains_outputs=self.trains_outputs)
            tried.append((start, self._solver(start)(start)))
            if certify_zero_error(tried[-1][1].point).is_zero:
                break
        return min(tried, key=lambda pair: pair[1].losses[-1])

    def _check_settings(self) -> None:
        if self.starts < 1:
            raise InvalidInput(f"OverparameterizedRegressor.starts needs to be at least 1, got {self.starts}.")
        if self.ridge is not None and not (isinstance(self.ridge, int | float) and 0 <= self.ridge < np.inf):
            raise InvalidInput(f"ridge needs to be None or a number from 0 on, got {self.ridge!r}.")
        if self.ridge and not self.trains_outputs:
            raise InvalidInput(
                f"a ridge needs output weights that are trained, got ridge={self.ridge!r}: leave it out."
            )

    def _chosen_ridge(self, start: TrainingPoint, rng: np.random.Generator) -> float:
        """The ridge to take; 0 to meet the labels."""
        if self.ridge is not None:
            return float(self.ridge)
        # With more samples than parameters a fit that meets all of them is evidence enough.
        if not self.trains_outputs or start.parameters < start.samples:
            return 0.0
        return RidgeChoice()(start, lambda point: self._solver(point)(point), rng)

    def _solver(self, start: TrainingPoint) -> Solver:
        if self.solver is not None:
            return self.solver
        newton = GramLevenbergMarquardt()
        fits = min(start.samples, start.parameters) <= newton.equation_limit
        return newton if fits else GradientDescent(is_adaptive=True)


@dataclass(frozen=True, eq=False)
class _Units:
    """Samples in the units of training, and as they came; with biases, both have a column of ones at the end."""

    points: np.ndarray
    labels: np.ndarray
    raw_points: np.ndarray
    raw_labels: np.ndarray
    centre: np.ndarray
    scale: np.ndarray
    label_scale: float
    roots: np.ndarray | None

    @classmethod
    def of(cls, given: WeighedSamples, *, has_bias: bool) -> "_Units":
        X, y = given.points, given.labels
        # Without biases the origin is part of the model, and only scales may change.
        raw = np.hstack([X, np.ones((len(X), 1))]) if has_bias else X
        centre = np.append(X.mean(axis=0), 0.0) if has_bias else np.zeros(X.shape[1])
        scale = np.sqrt(np.mean((raw - centre) ** 2, axis=0))
        scale = np.where(scale > RULES.constant * np.max(np.abs(raw), axis=0), scale, 1.0)
        label_scale = root_mean_square(y) or 1.0
        roots = None if given.weights is None else np.sqrt(given.weights)
        labels = y / label_scale if roots is None else roots * y / label_scale
        return cls((raw - centre) / scale, labels, raw, y, centre, scale, label_scale, roots)

    def in_their_units(self, point: TrainingPoint) -> TrainingPoint:
        """The same network on the samples as they came."""
        weights = point.weights / self.scale
        # Only with biases is there a centre; moving it back changes nothing but them.
        weights[:, -1] -= weights @ self.centre
        heights = self.label_scale * point.output_weights
        return replace(
            point, points=self.raw_points, labels=self.raw_labels, output_weights=heights, weights=weights, roots=None
        )  # fmt: skip


def _random_start(
    units: _Units, activation: Activation, neurons: int, rng: np.random.Generator, *, trains_outputs: bool
) -> TrainingPoint:
    """Gaussian weights, and as many positive as negative outputs: unlucky signs may fit no label at all.

    Labels of zero have no size to fit them to; output weights of zero, if they are trained, answer them exactly.
    """
    inputs = units.points.shape[1]
    heights = np.where(np.arange(neurons) % 2 == 0, 1.0, -1.0) / np.sqrt(neurons)
    if trains_outputs and not np.any(units.labels):
        heights = np.zeros(neurons)
    weights = rng.standard_normal((neurons, inputs)) / np.sqrt(inputs)
    return TrainingPoint(units.points, units.labels, heights, weights, activation, trains_outputs, units.roots)


def _network(raw: TrainingPoint, *, has_bias: bool) -> Network:
    if not has_bias:
        return raw.network
    weights, biases = raw.weights[:, :-1], raw.weights[:, -1]
    return Network.shallow(weights, biases, raw.output_weights[None], np.zeros(1), raw.activation)


def _certify(
    start: TrainingPoint, end: TrainingPoint, raw: TrainingPoint, spectrum: SingularValues
) -> TrainingCertificate:
    zero, local = certify_zero_error(raw), certify_local_convergence(start)
    is_unique = False
    if end.parameters <= end.samples:
        values = scipy.linalg.svdvals(end.dense_jacobian())
        is_unique = bool(values[-1] > RULES.rank_share * values[0])
    return TrainingCertificate(
        loss=zero.loss,
        largest_residual=zero.largest_residual,
        largest_ratio=zero.largest_ratio,
        is_global_minimum=zero.is_zero,
        is_locally_unique=is_unique,
        smallest_singular_value=spectrum.smallest,
        largest_singular_value=spectrum.largest,
        is_convergence_certified=local.is_certified,
        start_residual=local.residual_norm,
        start_residual_limit=local.residual_limit,
    )


def _verdict(certificate: TrainingCertificate, end: TrainingPoint, steps: int, ridge: float) -> tuple[Outcome, str]:
    sizes = f"{end.parameters} trained parameters for {end.samples} samples"
    if ridge > 0:
        return Outcome.NOT_IDENTIFIED, (
            f"the output weights have a ridge of {ridge:.3g}, which leaves a loss of {certificate.loss:.3g}: a "
            "predictor, not a network that meets its labels. Those look noisy if held-out rows have chosen it; ridge=0 "
            "meets them all the same."
        )
    if not certificate.is_global_minimum:
        is_narrow = end.parameters < RULES.width.expected * end.samples
        advice = "take more neurons" if is_narrow else "try more starts, or more steps of the solver"
        return Outcome.NOT_IDENTIFIED, (
            f"training ended after {steps} steps at a loss of {certificate.loss:.3g} with residuals up to "
            f"{certificate.largest_residual:.3g}, {certificate.largest_ratio:.3g} times their rounding error, with "
            f"{sizes}; whether a lower loss exists is not known: {advice}."
        )
    fitted = f"every label is fitted up to rounding (loss {certificate.loss:.3g}, {steps} steps): a global minimum"
    if certificate.is_locally_unique and end.parameters < end.samples:
        return Outcome.IDENTIFIED, f"{fitted}; with {sizes} no network nearby has the same answers."
    return Outcome.PARTLY_IDENTIFIED, (
        f"{fitted}; but with {sizes} it is one of many networks that do, so its weights and its answers elsewhere "
        "are a choice: test it on samples kept back, or give more samples than parameters."
    )


def _notes(fit_bias: bool) -> tuple[str, ...]:
    notes = ["zero training error says nothing about other samples: the theory has no noise and no test error"]
    if fit_bias:
        notes.append("biases are weights of a constant input, so that inputs are not Gaussian as the theory has them")
    return tuple(notes)
