"""Networks that saturate, in closed form: neurons from their slabs, then the rest from points near the centre."""

from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float64

from unweave.arrays import threads_for
from unweave.exceptions import OracleError, StageFailed
from unweave.identification.refiner import Candidate, Refiner, Start
from unweave.identification.routes import Survey
from unweave.identification.saturation.block_claim import far_claim, whole_claim
from unweave.identification.saturation.far_blocks import Blocks, FarBlocks
from unweave.identification.saturation.near_rows import NearRows
from unweave.networks.network import Network
from unweave.oracles.views import ROUNDING_DEVIATION


@dataclass(frozen=True, kw_only=True)
class FarClosedForm:
    """Settings of the closed form.

    Args:
        blocks: points in the slabs of neurons.
        near: points near the centre.
        finest_noise: relative to the spread, up to which answers are exact but for rounding: a fit averages noise.
        error_margin: largest error of an answer, in expected ones: five standard deviations, and the rounding of terms.
    """

    blocks: FarBlocks = field(default_factory=FarBlocks)
    near: NearRows = field(default_factory=NearRows)
    finest_noise: float = 1e-11
    error_margin: float = 8.0

    def __call__(self, survey: Survey, refiner: Refiner, start: Start) -> Candidate | None:
        """Solve for a network that a walk has found; None if the answers do not allow it."""
        network, left = start.network, survey.session.oracle.ledger.left
        if survey.probe.scale.noise > self.finest_noise or network.skip is not None or left < 3 * network.parameters:
            return None
        try:
            with threads_for(network.parameters):
                candidate = self._solve_network(survey, refiner, start)
        except (StageFailed, OracleError, np.linalg.LinAlgError):
            return None
        return candidate if candidate.explains and candidate.certificate.is_isolated else None

    def _solve_network(self, survey: Survey, refiner: Refiner, start: Start) -> Candidate:
        oracle, rng = survey.probe.oracle, survey.session.rng_walk
        blocks = self.blocks(oracle, start.network, rng)
        network = blocks.settled(start.network)
        if not blocks.misfit(network, self._errors(survey, refiner, blocks, network)) <= 1.0:
            raise StageFailed("the answers in slabs are not those of single neurons.")
        near = self.near(oracle, network, rng)
        network, system = near.take_steps(network, steps=self.near.steps)
        far = far_claim(blocks, network, self._errors(survey, refiner, blocks, network))
        if not far.is_made:
            raise StageFailed("points near the centre contradict those in slabs.")
        # What hundreds of spare answers leave tells their errors better than the sizes of terms do.
        floors = refiner.floors(network, near.points, near.values)
        errors = self.error_margin * np.minimum(floors, near.deviation(network))
        claim = whole_claim(far, blocks, near, system, network, errors)
        margin = self.error_margin * min(1.0, near.deviation(network) / float(np.median(floors)))
        return refiner.solved(start, network, claim, error_margin=margin, amplification=1.0)

    def _errors(
        self, survey: Survey, refiner: Refiner, blocks: Blocks, network: Network
    ) -> Float64[np.ndarray, "neurons rows"]:
        """Largest errors of answers in slabs: rounding of sums, and of large arguments in the bend of a neuron."""
        hidden, output = network.layers
        oracle, eps = survey.probe.oracle, np.finfo(float).eps
        centre = np.max(np.abs(oracle.offset / oracle.size))
        digits = ROUNDING_DEVIATION * oracle.oracle.ledger.answer_digits
        terms = eps * (np.max(np.sum(np.abs(output.weights), axis=1) + np.abs(output.biases)) + centre)
        floors = np.maximum(refiner.noise + terms, digits * (np.max(np.abs(blocks.values), axis=2) + centre))
        reach = np.linalg.norm(blocks.points, axis=2) + np.linalg.norm(oracle.center / oracle.half_width)
        lengths, sizes = np.linalg.norm(hidden.weights, axis=1), np.linalg.norm(output.weights, axis=0)
        slopes = hidden.activation(blocks.arguments(hidden), 1)
        # The model and the network add up one product per input each, which are rounded at random.
        arguments = eps * reach * (lengths * sizes)[:, None] * slopes / np.sqrt(hidden.inputs)
        return self.error_margin * (floors + arguments)
