"""Every assumption of the reference pipeline for deep networks that can be computed, with number and threshold.

The names begin with the stage they belong to. Thresholds without another source were set from runs at the
sizes of [fiedler, Sec. 4.4].
"""

from itertools import pairwise

import numpy as np

from unweave.arrays import Atoms, pack_squares, packed_size
from unweave.identification.peeling.layer_assignment import LayerAssignment, LayerRows, nesting_residual
from unweave.networks.network import Network
from unweave.reproduce.fiedler.deep_labels import Architecture, EntangledRecovery
from unweave.reproduce.fiedler.diagonal_descent import Completion
from unweave.reproduce.fiedler.entangled import a_posteriori_bound, drift_constant, measured_drift
from unweave.reproduce.fiedler.entangled_metrics import distances_up_to_sign
from unweave.result import Diagnostic, Verdict, at_least, at_most


def architecture_limits(architecture: Architecture) -> list[Diagnostic]:
    """What can be said before any query: activations, shape and number of neurons."""
    hidden = architecture.activations[:-1]
    suprema = [activation.supremum(order) for activation in architecture.activations for order in (1, 2, 3)]
    bends = min((g.supremum(2) if g.is_smooth else 0.0) for g in hidden)
    sizes = (architecture.inputs, *architecture.widths)
    widening = max(after / before for before, after in zip(sizes, architecture.widths, strict=False))
    limit = min(packed_size(architecture.inputs) - 1, architecture.outputs * (architecture.inputs + 1))
    return [
        at_least(
            "weakest bend of a hidden activation",
            bends if np.all(np.isfinite(suprema)) else 0.0,
            1e-6,
            "Hessians see nothing of piecewise linear or affine neurons, and need three bounded derivatives",
        ),
        at_most(
            "largest widening from layer to layer",
            widening,
            1.0,
            "entangled weights can be found, but weights behind a layer that widens can't be solved for",
        ),
        at_most(
            "bending neurons per dimension of second-order information",
            architecture.visible / limit,
            0.9,
            "near the base point Hessians span at most outputs times (inputs + 1) dimensions: add outputs",
            weak=1.0,
        ),
    ]


def recovery_quality(recovery: EntangledRecovery, architecture: Architecture) -> list[Diagnostic]:
    """The span and the ends of the power method in it."""
    values, rank = recovery.subspace.singular_values, architecture.visible
    ratios = values[:-1] / np.maximum(values[1:], np.finfo(float).tiny)
    largest = 1 + int(np.argmax(ratios[rank // 2 : 2 * rank])) + rank // 2
    ends, outputs, distinct = recovery.ends, recovery.output_directions, recovery.distinct_ends()
    found = [
        at_least(
            "gap of the singular values at the number of neurons",
            recovery.subspace.gap,
            1.5,
            "no gap: wrong widths, a base point where neurons have no inflection, large shifts, or too few Hessians",
            weak=1.1,
        ),
        Diagnostic(
            "place of the largest gap of the singular values",
            float(largest),
            float(rank),
            Verdict.OK if largest == rank else Verdict.WEAK,
            "fewer than expected: some neurons do not show near the base point, move it or widen the points",
        ),
        at_least("smallest Phi of an accepted end", _least(ends.values), 0.9, "spurious maximisers", weak=0.5),
        at_most("share of ascents below the threshold", ends.rejected_share, 0.05, "the span is inaccurate", weak=0.5),
        Diagnostic(
            "distinct hidden directions",
            float(distinct),
            float(architecture.hidden),
            Verdict.OK if distinct == architecture.hidden else Verdict.FAIL,
            "fewer: use more starts; more: there are false ones among them",
        ),
    ]
    if architecture.visible > architecture.hidden and len(ends.vectors):
        farthest = float(np.max(np.min(distances_up_to_sign(ends.vectors, outputs), axis=0)))
        found.append(at_most("distance of an output direction to the ends", farthest, 0.2, "the span is incomplete"))
    return found


def direction_quality(directions: Atoms, hits: np.ndarray) -> list[Diagnostic]:
    """Hits, Gramian and coherence of the hidden directions."""
    cosines = directions @ directions.T
    squares = pack_squares(directions)
    return [
        at_least("ends at the rarest direction", float(np.min(hits)), 5.0, "use more starts", weak=2.0),
        at_least(
            "smallest eigenvalue of the squared Gramian",
            float(np.linalg.eigvalsh(squares @ squares.T)[0]),
            0.02,
            "two entangled weights are nearly parallel: their coefficients can't be told apart",
            weak=1e-4,
        ),
        at_most(
            "largest cosine of two directions",
            float(np.max(np.abs(cosines - np.eye(len(cosines))))),
            0.95,
            "nearly parallel directions are hard to separate",
            weak=1.0,
        ),
    ]


def layer_quality(assignment: LayerAssignment, layers: LayerRows, *, is_by_scores: bool) -> list[Diagnostic]:
    """Clearness of the labels, conditioning and nesting of the layers."""
    found = [_gap_diagnostic(assignment, is_by_scores=is_by_scores)]
    if is_by_scores:
        first = assignment.widths[0]
        found.append(at_least("smallest score in the first layer", assignment.spectrum[first - 1], 0.9, "other radius"))
        fitting = int(np.count_nonzero(assignment.spectrum >= 0.9))
        verdict = Verdict.OK if fitting == first else Verdict.WEAK
        found.append(
            Diagnostic("directions in the far span", float(fitting), float(first), verdict, "change the radius")
        )
    conditions = [float(np.linalg.cond(rows)) for rows in layers[:-1]]
    residuals = [nesting_residual(outer, inner) for outer, inner in pairwise(layers)]
    return [
        *found,
        at_most(
            "condition number of a layer's directions",
            max(conditions),
            1e3,
            "errors of the directions grow by this factor in the weights of the next layer",
            weak=1e6,
        ),
        at_most("nesting residual of neighbouring layers", max(residuals), 0.05, "wrong layers", weak=0.15),
    ]


def fit_quality(completion: Completion, *, fresh_error: float, tolerance: float) -> list[Diagnostic]:
    """Residual of the fit and error on answers that it has not seen."""
    return [
        at_most(
            "residual of the fit",
            completion.residual,
            0.03,
            "above the floor that errors of the directions explain: a wrong layer, a missing neuron, or too few steps",
            weak=0.3,
        ),
        at_most(
            "largest relative error on fresh answers",
            fresh_error,
            tolerance,
            "errors of the directions stay in this fit: release all weights from here",
            weak=0.1,
        ),
    ]


def differentiation_quality(*, learnability: float, hessian_error: float, spread: float) -> list[Diagnostic]:
    """Whether differences are good enough, and answers repeat."""
    return [
        at_least(
            "learnability over twice the squared error of a Hessian",
            learnability / max(2.0 * hessian_error**2, np.finfo(float).tiny),
            1.0,
            "errors of the differences dominate: change the step",
        ),
        at_most("difference of two answers at the same point", spread, 0.0, "noise grows by 1 / (2 step^2)"),
    ]


def radius_quality(angle: float) -> list[Diagnostic]:
    """Whether the span changes with the radius of the points."""
    return [at_most("change of the span at a third of the radius", angle, 0.1, "drift is not controlled", weak=0.5)]


def span_bounds(network: Network, recovery: EntangledRecovery) -> list[Diagnostic]:
    """Bounds on the error of the span if the recovered network were the true one, and differences exact.

    The first is computed from the drift of its Hessians, the second from norms of its weights alone; that one
    is far above 1 in all experiments, which says nothing against them.
    """
    smallest = float(np.sqrt(recovery.subspace.learnability))
    drift = measured_drift(network, recovery.points, recovery.center)
    distances = np.linalg.norm(recovery.points - recovery.center, axis=1)
    worst = drift_constant(network) * float(np.sqrt(np.mean(distances**2)))
    advice = "above 1 it says nothing"
    measured = a_posteriori_bound(smallest=smallest, drift=drift)
    return [
        at_most("bound on the error of the span, given the network", measured, 1.0, advice, weak=np.inf),
        at_most(
            "bound on the error of the span from norms of weights",
            a_posteriori_bound(smallest=smallest, drift=worst),
            1.0,
            advice,
            weak=np.inf,
        ),
    ]


def _gap_diagnostic(assignment: LayerAssignment, *, is_by_scores: bool) -> Diagnostic:
    if is_by_scores:
        return at_least(
            "gap of the scores after the first layer",
            assignment.gap,
            0.2,
            "a wrong layer can't be repaired later: other radius, or null-space labels",
            weak=0.05,
        )
    return at_least(
        "gap of the singular values of the layer null space",
        assignment.gap,
        3.0,
        "layers are not told apart: more outputs, or better directions",
        weak=1.5,
    )


def _least(values: np.ndarray) -> float:
    return float(np.min(values)) if len(values) else 0.0
