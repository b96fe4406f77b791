"""`ReluNetworkRegressor`: a depth-2 relu network with biases, from samples with Gaussian inputs."""

import warnings
from typing import Any

import numpy as np
from jaxtyping import Float64
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from unweave.arrays import as_float64
from unweave.exceptions import InputWarning, InvalidInput
from unweave.learn.relu_network.learner import LearntRelu, ReluLearner
from unweave.networks.network import Network
from unweave.samples.engines import Engine
from unweave.samples.sources import ArraySource, Source

LARGEST_SEED = 2**31 - 1


class ReluNetworkRegressor(RegressorMixin, BaseEstimator):
    """Recover ``y = sum_i a_i relu(<w_i, x> + b_i)`` from samples.

    Args:
        neurons: their number; found if None.
        mean: of the Gaussian inputs; estimated if None.
        covariance: of the Gaussian inputs; estimated if None.
        random_state: seed or generator for the held out rows and the decomposition.

    Attributes:
        result_: outcome, reason, network, certificate, diagnostics and notes.
        network_: the network, with unit weights.
        certificate_: what held out rows say about it.
        outcome_: identified, partly identified or not identified.
        start_network_: what moments alone gave, before the fit; None if there was too little to see.
        standard_errors_: of weights, biases and output weights by the noise of the labels.
        open_signs_: neurons ``(w_i, b_i)`` whose sign the labels do not tell.
        sign_choices_: all flips that leave the function as it is, for exact labels; None otherwise.

    A fit never fails for mathematical reasons: if the samples are not those of such a network, `outcome_` and
    ``result_.reason`` say so, and the network is the best approximation that was met.
    """

    def __init__(
        self,
        neurons: Any = None,
        *,
        mean: Any = None,
        covariance: Any = None,
        random_state: Any = None,
    ) -> None:
        self.neurons = neurons
        self.mean = mean
        self.covariance = covariance
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> "ReluNetworkRegressor":
        """Learn from rows in memory.

        Raises:
            InvalidInput: for settings that can't be used, and inputs that are constant or combinations of others.
        """
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True, ensure_min_samples=2)
        return self._learn(ArraySource(X, np.asarray(y, dtype=np.float64)), X.shape[1], None)

    def fit_source(self, source: Source, *, inputs: int, engine: Engine | None = None) -> "ReluNetworkRegressor":
        """Learn from samples that need not fit into memory.

        Args:
            source: such as a `ParquetSource`; read about five times.
            inputs: number of inputs.
            engine: where moments are summed; this process if omitted.
        """
        self.n_features_in_ = inputs
        return self._learn(source, inputs, engine)

    def predict(self, X: Any) -> Float64[np.ndarray, "points"]:
        """What the network says."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return self.network_(X)[:, 0]

    def _learn(self, source: Source, inputs: int, engine: Engine | None) -> "ReluNetworkRegressor":
        learner = ReluLearner(
            neurons=_checked_neurons(self.neurons),
            mean=_checked(self.mean, "mean", (inputs,)),
            covariance=_checked(self.covariance, "covariance", (inputs, inputs)),
        )
        seed = int(check_random_state(self.random_state).randint(LARGEST_SEED))
        return self._hold(learner(source, inputs=inputs, seed=seed, engine=engine))

    def _hold(self, found: LearntRelu) -> "ReluNetworkRegressor":
        self.result_ = found.learnt
        self.network_: Network = found.network
        self.certificate_ = found.learnt.certificate
        self.outcome_ = found.learnt.outcome
        self.start_network_, self.standard_errors_ = found.start, found.standard_errors
        self.open_signs_, self.sign_choices_ = found.open_signs, found.sign_choices
        if found.doubt_of_inputs is not None:
            warnings.warn(found.doubt_of_inputs, InputWarning, stacklevel=3)
        return self


def _checked_neurons(neurons: Any) -> int | None:
    if neurons is not None and (isinstance(neurons, bool) or not isinstance(neurons, int | np.integer) or neurons < 1):
        raise InvalidInput(f"neurons needs to be a number of at least 1, or None to find it, got {neurons!r}.")
    return None if neurons is None else int(neurons)


def _checked(value: Any, name: str, shape: tuple[int, ...]) -> np.ndarray | None:
    if value is None:
        return None
    array = as_float64(value, name=name, ndim=len(shape))
    if array.shape != shape:
        raise InvalidInput(f"{name} needs the shape {shape} for these inputs, got {array.shape}.")
    return array
