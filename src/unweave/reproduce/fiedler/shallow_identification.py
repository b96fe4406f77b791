"""Networks ``f(x) = sum_k g(<w_k, x> + t_k)`` from queries, as [fiedler, Alg. 3.1 and 3.2] find them.

Kept as a reference: Hessians by central differences at Gaussian points, their span, the subspace power method with its
fixed schedule, signs and shifts from derivatives at the origin, and descent on the shifts with the weights frozen. What
`unweave.identify` does instead is in `identification/`.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from time import process_time

import numpy as np

from unweave.activations import Activation
from unweave.exceptions import InvalidInput
from unweave.networks.network import Network
from unweave.numerics.matrix_subspace import MatrixSubspace, span_of_hessians
from unweave.numerics.subspace_power import Directions
from unweave.oracles.oracle import Oracle
from unweave.reproduce.fiedler.derivative_sources import EntrywiseDifferences, entrywise_hessian_queries
from unweave.reproduce.fiedler.shallow_model import SignsAndShifts, signs_and_shifts, unit_network_from
from unweave.reproduce.fiedler.shift_descent import StochasticDescent, StochasticShiftDescent
from unweave.reproduce.fiedler.subspace_power import FixedSubspacePower

# From subspace to atoms: the search of [fiedler], or a faster one for the same maximisers.
Search = Callable[[MatrixSubspace, np.random.Generator], Directions]


@dataclass(frozen=True)
class WeightRecovery:
    """Settings of the weight recovery [fiedler, Alg. 3.2].

    Args:
        step: of the central differences.
        search: for the rank-one matrices of the span.
    """

    step: float = 1e-2
    search: Search = field(default_factory=FixedSubspacePower)

    def hessians(self, neurons: int, inputs: int) -> int:
        """Number of Hessians of [fiedler, Sec. 3.6], ``ceil(m log D)``."""
        return max(neurons, int(np.ceil(neurons * np.log(inputs))))

    def queries(self, neurons: int, inputs: int) -> int:
        """Queries that these Hessians take."""
        return self.hessians(neurons, inputs) * entrywise_hessian_queries(inputs)

    def __call__(self, oracle: Oracle, neurons: int, rng: np.random.Generator) -> tuple[Directions, MatrixSubspace]:
        """Find the weights up to sign, and the span that they were found in.

        Assumes: unit weights whose squares are independent, fewer than D(D-1)/2.
        Guarantees: errors of order ``sqrt(m / alpha) step^2`` in the span [fiedler, Lemma 3.1]; that all weights are
        met is heuristic.
        """
        points = rng.standard_normal((self.hessians(neurons, oracle.inputs), oracle.inputs))
        hessians = EntrywiseDifferences(oracle, self.step).hessians(points)[:, 0]
        subspace = span_of_hessians(hessians, inputs=oracle.inputs, rank=neurons)
        return self.search(subspace, rng), subspace


@dataclass(frozen=True)
class ShallowReference:
    """What [fiedler, Alg. 3.1] found.

    Args:
        directions: the weights up to sign.
        subspace: the span that they were found in.
        started: signs and first shifts; none if there are fewer directions than neurons.
        refined: the network after descent; none in the same case.
        seconds: CPU seconds of Algorithm 3.2, Algorithm 3.3 and the descent.
        queries: of the same three.
    """

    directions: Directions
    subspace: MatrixSubspace
    started: SignsAndShifts | None
    refined: StochasticDescent | None
    seconds: tuple[float, ...]
    queries: tuple[int, ...]

    @property
    def network(self) -> Network | None:
        """The network, if all its directions were found."""
        return None if self.refined is None else self.refined.network


@dataclass(frozen=True)
class ShallowReferenceIdentifier:
    """Settings of the whole way [fiedler, Alg. 3.1 and Sec. 3.6].

    Args:
        recovery: of the weights.
        largest_shift: bound on the absolute shifts.
        step: of the differences along directions.
        descent: on the shifts.
        samples_per_neuron: training samples per neuron, in units of the squared inputs.
    """

    recovery: WeightRecovery = field(default_factory=WeightRecovery)
    largest_shift: float = 0.6
    step: float = 1e-2
    descent: StochasticShiftDescent = field(default_factory=StochasticShiftDescent)
    samples_per_neuron: float = 1.0

    def samples(self, neurons: int, inputs: int) -> int:
        """Training samples, ``m D^2``."""
        return int(np.ceil(self.samples_per_neuron * neurons * inputs**2))

    def __call__(self, oracle: Oracle, activation: Activation, neurons: int, *, seed: int) -> ShallowReference:
        """Identify the network.

        Args:
            oracle: answers of the network, one output.
            activation: of its neurons, known.
            neurons: their number, known.
            seed: of all random numbers.

        Assumes: unit weights, output weights one, shifts within the bound, answers without noise.
        Guarantees: heuristic at these settings; [fiedler, Thm. 3.2] needs far smaller steps.
        """
        limit = oracle.inputs * (oracle.inputs - 1) // 2
        if not 0 < neurons < max(2, limit):
            raise InvalidInput(f"{oracle.inputs} inputs tell fewer than {limit} neurons apart, got {neurons}.")
        hessians, samples, batches = (np.random.default_rng([seed, stage]) for stage in range(3))
        times, asked = [process_time()], [oracle.ledger.sent]

        def note() -> None:
            times.append(process_time())
            asked.append(oracle.ledger.sent)

        directions, subspace = self.recovery(oracle, neurons, hessians)
        note()
        started, refined = None, None
        if directions.is_complete:
            started = signs_and_shifts(
                oracle, directions.atoms, activation, largest_shift=self.largest_shift, step=self.step
            )
        note()
        if started is not None:
            points = samples.standard_normal((self.samples(neurons, oracle.inputs), oracle.inputs))
            first = unit_network_from(started, activation)
            refined = self.descent(first, points, oracle.query(points), batches)
        note()
        seconds, queries = np.diff(times).tolist(), np.diff(asked).tolist()
        return ShallowReference(directions, subspace, started, refined, tuple(seconds), tuple(queries))
