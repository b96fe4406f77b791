"""Collect the kinked terms that lines have shown, one per hyperplane, and fit them to answers."""

from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg
from jaxtyping import Bool, Float64, Int

from unweave.activations import RELU, Activation
from unweave.arrays import Atoms, PerNeuron, PerPoint, Points, Values, with_rows
from unweave.identification import reasons
from unweave.identification.refiner import Candidate, Refiner, Start
from unweave.identification.session import Session
from unweave.identification.walks.hyperplanes import Hyperplanes, plane_through
from unweave.networks.network import Layer, Network
from unweave.networks.signs import KinkExplanation, explain_kinks


@dataclass(frozen=True, kw_only=True)
class TermRules:
    """Limits that decide which terms are one, and which are none.

    Args:
        same_errors: expected errors that two readings of one hyperplane may differ by, within bounds. Expected errors
            are those of answers alone; ten leave room for kinks beside the line.
        finest_angle: the smallest bound; chosen: a hundredth of the error that gradients aim at (`KinkSearch`).
        coarsest_angle: the largest bound, two degrees: two random hyperplanes in three dimensions are so near to each
            other with a chance of ``0.03^2 / 2 = 5e-4``, and in more with a smaller one.
        vanished: a term that a fit to answers leaves with less than this share of its jump was read wrongly; chosen:
            of a right one it leaves 1 up to the errors of the reading, which are a tenth at most (`KinkSearch`).
    """

    same_errors: float = 10.0
    finest_angle: float = 1e-7
    coarsest_angle: float = 0.03
    vanished: float = 0.2

    def allowed(self, errors: PerNeuron) -> PerNeuron:
        """Differences that readings with such errors may have."""
        return np.clip(self.same_errors * errors, self.finest_angle, self.coarsest_angle)


TERM_RULES = TermRules()


@dataclass(frozen=True)
class KinkedTerms:
    """Terms ``jump max(0, normal x + offset)``, one per hyperplane.

    Args:
        normals: unit vectors.
        offsets: distance of the origin.
        jumps: change of the gradient along the normal, per output.
        errors: expected error of the normal.
        sightings: number of lines on which the hyperplane was met.
        rules: which terms are one, and which are none.
    """

    normals: Atoms
    offsets: PerNeuron
    jumps: Float64[np.ndarray, "neurons outputs"]
    errors: PerNeuron
    sightings: PerNeuron
    rules: TermRules = TERM_RULES

    @staticmethod
    def none(inputs: int, outputs: int, *, rules: TermRules = TERM_RULES) -> "KinkedTerms":
        """No terms."""
        return KinkedTerms(np.empty((0, inputs)), np.empty(0), np.empty((0, outputs)), np.empty(0), np.empty(0), rules)

    def extended(self, met: Hyperplanes) -> "KinkedTerms":
        """These terms and those met on another line; of two readings of one hyperplane the better one counts."""
        terms = self
        for normal, offset, jump, error in zip(met.normals, met.offsets, met.jumps, met.errors, strict=True):
            terms = terms._with(normal, float(offset), jump, float(error))
        return terms

    def extended_by_new(self, met: Hyperplanes) -> "KinkedTerms":
        """These terms as they are, and those met that are on none of their hyperplanes."""
        terms = self
        for normal, offset, jump, error in zip(met.normals, met.offsets, met.jumps, met.errors, strict=True):
            with_it = terms._with(normal, float(offset), jump, float(error))
            terms = with_it if len(with_it.offsets) > len(terms.offsets) else terms
        return terms

    def at(self, points: Points, widths: PerPoint) -> Int[np.ndarray, "points"]:
        """The term whose hyperplane passes each point, within a width and the expected errors; -1 if none does."""
        if len(self.offsets) == 0:
            return np.full(len(points), -1)
        distances = np.abs(points @ self.normals.T + self.offsets)
        reach = 1.0 + np.sqrt(points.shape[1]) + np.linalg.norm(points, axis=1)
        doubts = self.rules.allowed(self.errors)
        excess = distances / (np.outer(reach, doubts) + widths[:, None])
        nearest = np.argmin(excess, axis=1)
        return np.where(excess[np.arange(len(points)), nearest] <= 1.0, nearest, -1)

    def through(self, number: int, points: Points) -> "KinkedTerms":
        """The same terms, one of them on the hyperplane that is nearest to some points."""
        normal, place, error = plane_through(points)
        forward = np.sign(normal @ self.normals[number])
        normals, offsets, errors = self.normals.copy(), self.offsets.copy(), self.errors.copy()
        normals[number], offsets[number], errors[number] = forward * normal, -forward * place, error
        return replace(self, normals=normals, offsets=offsets, errors=errors)

    def network(self) -> Network:
        """The relu network of these terms alone."""
        return Network.shallow(
            weights=self.normals,
            biases=self.offsets,
            output_weights=self.jumps.T,
            offset=np.zeros(self.jumps.shape[1]),
            activation=RELU,
        )

    def fitted(self, points: Points, values: Values) -> Network:
        """The relu network on these hyperplanes, with an affine part, that fits the answers best.

        A term that only one line has shown and that the answers do not need is left out: two kinks close
        together can look like one.
        """
        inputs, neurons = points.shape[1] + 1, len(self.offsets)
        bends = np.maximum(points @ self.normals.T + self.offsets, 0.0)
        columns = np.hstack([points, np.ones((len(points), 1)), bends, values])
        kept, factor = np.ones(neurons, dtype=bool), columns
        if len(points) > neurons + inputs:
            # One triangular factor serves both systems: with thousands of inputs that is what takes time.
            factor = np.asarray(np.linalg.qr(columns, mode="r"))
            jumps = _solution(factor, neurons + inputs)[inputs:]
            shares = np.linalg.norm(jumps, axis=1) / np.linalg.norm(self.jumps, axis=1)
            kept = (shares > self.rules.vanished) | (self.sightings > 1)
        rest = factor[:, inputs + neurons :] - factor[:, inputs : inputs + neurons][:, kept] @ self.jumps[kept]
        affine = _solution(np.hstack([factor[:, :inputs], rest]), inputs)
        terms = with_rows(self, kept).network()
        output = replace(terms.layers[1], biases=affine[-1])
        return Network((terms.layers[0], output), skip=affine[:-1].T)

    def apart(self, distance: float) -> Bool[np.ndarray, "neurons"]:
        """Whether no term that was read better is so near: of two kinks close together, lines may show one between."""
        planes = np.column_stack([self.normals, self.offsets]) / np.sqrt(1.0 + self.offsets**2)[:, None]
        kept = np.zeros(len(planes), dtype=bool)
        for number in np.argsort(self.errors, kind="stable"):
            near = np.minimum(*(np.linalg.norm(planes[kept] - sign * planes[number], axis=1) for sign in (1.0, -1.0)))
            kept[number] = not np.any(near <= distance)
        return kept

    def without(self, number: int) -> "KinkedTerms":
        """All terms but one."""
        return with_rows(self, np.arange(len(self.offsets)) != number)

    def nearest(self, layer: Layer, neuron: int) -> int:
        """Give the number of the term whose hyperplane is nearest to that of a neuron, up to sign."""
        row = np.append(layer.weights[neuron], layer.biases[neuron])
        rows = np.hstack([self.normals, self.offsets[:, None]])
        return int(np.argmax(np.abs(rows @ row) / np.linalg.norm(rows, axis=1)))

    def _with(self, normal: np.ndarray, offset: float, jump: np.ndarray, error: float) -> "KinkedTerms":
        signs = np.where(self.normals @ normal < 0, -1.0, 1.0)
        angles = np.linalg.norm(signs[:, None] * self.normals - normal, axis=1)
        shifts = np.abs(signs * self.offsets - offset)
        allowed = self.rules.allowed(self.errors + error)
        # An error of the normal moves the hyperplane by as much as the distance that it was seen from.
        reach = 1.0 + np.sqrt(len(normal)) + abs(offset)
        is_same = (angles <= allowed) & (shifts <= allowed * reach)
        if not np.any(is_same):
            return KinkedTerms(
                np.vstack([self.normals, normal]),
                np.append(self.offsets, offset),
                np.vstack([self.jumps, jump]),
                np.append(self.errors, error),
                np.append(self.sightings, 1.0),
                self.rules,
            )
        same = int(np.flatnonzero(is_same)[np.argmin(angles[is_same])])
        sightings = self.sightings.copy()
        sightings[same] += 1
        if error >= self.errors[same]:
            return replace(self, sightings=sightings)
        normals, offsets, jumps, errors = (
            array.copy() for array in (self.normals, self.offsets, self.jumps, self.errors)
        )
        normals[same], offsets[same], jumps[same], errors[same] = normal, offset, jump, error
        return KinkedTerms(normals, offsets, jumps, errors, sightings, self.rules)


def _solution(
    system: Float64[np.ndarray, "rows columns"], unknowns: int, *, determined: float = 1e-8
) -> Float64[np.ndarray, "unknowns sides"]:
    """Solve a system of least squares, with its right sides beside it: the shortest solution if there are several.

    Args:
        system: the unknowns' columns first.
        unknowns: their number.
        determined: part of a column that others do not explain, above which a triangular system is simply solved;
            chosen: half of all digits are right at least.
    """
    left, right = system[:, :unknowns], system[:, unknowns:]
    own = np.abs(np.diag(left)) / np.maximum(np.linalg.norm(left, axis=0)[: len(left)], np.finfo(float).tiny)
    is_triangular = len(left) >= unknowns and not np.any(np.tril(left, -1))
    if is_triangular and np.all(own > determined):
        return scipy.linalg.solve_triangular(left[:unknowns], right[:unknowns])
    return np.linalg.lstsq(left, right, rcond=None)[0]


# Terms that happen to be met exactly are still rounded.
SMALLEST_TOL = float(np.finfo(float).tiny)


def refined_with_signs(
    session: Session,
    refiner: Refiner,
    start: Start,
    *,
    error: float,
    activation: Activation | None,
    largest_error: float = 1e-5,
    error_margin: float = 10.0,
) -> Candidate:
    """Refine a network of kinked terms, without an affine part if signs explain it and with one if not.

    Args:
        session: where open signs are noted.
        refiner: refines and asks fresh answers.
        start: terms with an affine part.
        error: relative error of the terms.
        activation: the activation, if it is known.
        largest_error: of terms before refinement, up to which signs are chosen: what gradients aim at (`KinkSearch`).
            Estimates are cautious: where they are larger, what the terms leave unexplained is tried instead, and fresh
            answers judge the choice.
        error_margin: by which errors of terms may add up in the affine part: ten for a hundred independent ones.
    """
    likely = error if error < largest_error else start.misfit
    if likely < largest_error:
        explained = explain_kinks(
            start.network, relative_tol=max(error_margin * likely, SMALLEST_TOL), activation=activation
        )
        if explained.solutions == 1:
            candidate = refiner(replace(start, network=explained.network))
            if candidate.explains:
                return candidate
    candidate = refiner(start)
    if not candidate.explains:
        return candidate
    explained = explain_kinks(candidate.network, relative_tol=candidate.skip_tol, activation=activation)
    _report_signs(session, explained)
    if explained.solutions != 1:
        return candidate
    smaller = refiner.again(candidate, explained.network)
    return smaller if smaller.explains else candidate


def _report_signs(session: Session, explained: KinkExplanation) -> None:
    if explained.solutions != 1:
        session.notes.append(reasons.open_signs(explained))
