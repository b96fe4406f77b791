"""What may be claimed about a quadratic network that was learnt from samples: evidence, outcome and reason."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64

from unweave.arrays import PerPoint, Points
from unweave.learn.hierarchical.joint_fit import HierarchicalFit
from unweave.networks.quadratic.densenet import QuadraticDenseNet
from unweave.networks.quadratic.student import Parameters, Student
from unweave.networks.quadratic.teacher import effective_gaps
from unweave.networks.quadratic.wiring import FIRST_LEVEL
from unweave.result import Diagnostic, Outcome, at_least, at_most


@dataclass(frozen=True)
class HierarchicalCertificate:
    """Evidence for a quadratic network. Errors are squared and relative to the variance of the labels.

    Copies of a row, label included, count once, in that variance as well.

    Args:
        held_out: samples that no fit has seen.
        relative_error: mean squared error on them; for classes, the share of wrong ones relative to always
            answering the more frequent class.
        error_bar: standard error of that; products of many inputs have rare large values, so that the mean over other
            samples may well be larger.
        largest_error: of all held out samples.
        fitted_error: the same on the samples of the fit: what the network class can't explain, if samples abound.
        parameters: of the network.
        samples: of the fit.
        extra_flat_directions: directions in the parameters that change no label, beyond those of rotations of
            features within a level; 0 means that features are locally unique up to rotation.
        ranks: features per level that are not zero.
        starts: how many starts were made.
        best_starts: how many of them reached the lowest loss, within a factor of two or exactly.
        confidence: of the share of samples that may be worse than all that were held out.
    """

    held_out: int
    relative_error: float
    error_bar: float
    largest_error: float
    fitted_error: float
    parameters: int
    samples: int
    extra_flat_directions: int
    ranks: tuple[int, ...]
    starts: int
    best_starts: int
    confidence: float

    @property
    def larger_share(self) -> float:
        """Share of other samples that may have an error above the largest one, with the given confidence."""
        return 1.0 - (1.0 - self.confidence) ** (1.0 / self.held_out) if self.held_out else 1.0

    @property
    def are_features_unique(self) -> bool:
        """Whether the labels pin the features down, near the network, up to rotations within a level."""
        return self.extra_flat_directions == 0

    def statements(self) -> list[tuple[str, str]]:
        """What may be claimed, in plain words."""
        unique = "locally unique up to rotations within a level"
        loose = f"not unique: {self.extra_flat_directions} directions beside rotations change no label"
        return [
            (
                "error on held out samples",
                f"{self.relative_error:.2e} +- {self.error_bar:.1e} (squared, relative to the variance of the labels "
                f"of distinct rows; {self.held_out:,} samples)",
            ),
            (
                "largest error on held out samples",
                f"{self.largest_error:.2e} (at most {100 * self.larger_share:.2g} % of samples have a larger one)",
            ),
            (
                "error on the samples of the fit",
                f"{self.fitted_error:.2e} ({self.samples:,} samples, {self.parameters} free)",
            ),
            ("features", unique if self.are_features_unique else loose),
            ("features that are not zero", ", ".join(map(str, self.ranks))),
            ("starts", f"{self.best_starts} of {self.starts} reached the lowest loss"),
        ]


@dataclass(frozen=True)
class HierarchicalEvidence:
    """Settings of the evidence, which decide what may be claimed.

    Args:
        exact_error: squared relative error that counts as none. Rounding leaves 1e-24 and less, measured on planted
            networks; the margin is chosen.
        largest_error: share of the variance, or of the wrong classes of always giving the more frequent one, above
            which nothing worth the name was learnt; chosen.
        confidence: of the share of samples that may be worse than all that were held out; the usual one.
        flat_tol: eigenvalues below this share of the largest, in units of the diagonal, belong to directions that
            change nothing; chosen, well above rounding.
        rank_tol: singular values below this share of the largest one do not count as features; chosen.
        samples_per_parameter: rows of the Jacobian that decide which directions are flat; chosen.
        fewest_samples: from which on some are held out: with fewer, the rest would not be enough for a fit.
    """

    exact_error: float = 1e-15
    largest_error: float = 0.5
    confidence: float = 0.95
    flat_tol: float = 1e-12
    rank_tol: float = 1e-5
    samples_per_parameter: int = 4
    fewest_samples: int = 20

    def certificate_of(
        self,
        fit: HierarchicalFit,
        points: Points,
        *,
        errors: Float64[np.ndarray, "held_out"],
        fitted: float,
        unit: float,
    ) -> HierarchicalCertificate:
        """Judge a network.

        Args:
            fit: the network.
            points: the inputs of the fit.
            errors: relative loss of every sample that no fit has seen.
            fitted: mean relative loss on the samples of the fit.
            unit: what losses are relative to.
        """
        bar = float(np.std(errors) / np.sqrt(len(errors))) if len(errors) else np.inf
        lowest = max(2 * fit.relative_loss, self.exact_error)
        levels = range(FIRST_LEVEL, fit.network.depth + 1)
        # A level whose whole contribution is as small as errors that count as none: nothing is known of its features.
        faint = [np.mean(fit.network.contribution(points, level) ** 2) <= self.exact_error * unit for level in levels]
        ranks = [_rank(matrix, self.rank_tol) for matrix in fit.student.matrices(fit.vector)]
        unknown = sum(size for size, is_faint in zip(fit.student.sizes, faint, strict=True) if is_faint)
        return HierarchicalCertificate(
            held_out=len(errors),
            relative_error=float(np.mean(errors)) if len(errors) else np.inf,
            error_bar=bar,
            largest_error=float(np.max(errors)) if len(errors) else np.inf,
            fitted_error=fitted,
            parameters=fit.student.parameters,
            samples=len(points),
            extra_flat_directions=max(self.extra_flat_directions(fit.student, fit.vector, points), unknown),
            ranks=tuple(0 if is_faint else rank for rank, is_faint in zip(ranks, faint, strict=True)),
            starts=len(fit.start_losses),
            best_starts=sum(loss <= lowest for loss in fit.start_losses),
            confidence=self.confidence,
        )

    def extra_flat_directions(self, student: Student, vector: Parameters, points: Points) -> int:
        """Flat directions of the outputs at a network, without those that its symmetries explain.

        Rotations of the k features of a level (for mixed signs: maps that keep the signed sum of squares) leave the
        outputs as they are, a group of dimension k (k - 1) / 2; so does a shift of E[x^2] that no level sees.
        """
        jacobian = student.jacobian(vector, points[: self.samples_per_parameter * student.parameters])
        sizes = np.linalg.norm(jacobian, axis=0)
        scaled = jacobian / np.where(sizes > 0, sizes, 1.0)
        eigenvalues = np.linalg.eigvalsh(scaled.T @ scaled)
        flat = int(np.sum(eigenvalues <= self.flat_tol * eigenvalues[-1]))
        explained = sum(width * (width - 1) // 2 for width in student.wiring.widths)
        if student.has_centre:
            explained += student.wiring.inputs - _seen_shifts(student, vector, self.rank_tol)
        return max(flat - explained, 0)

    def outcome_of(self, certificate: HierarchicalCertificate) -> tuple[Outcome, str]:
        """Decide the outcome of a regression, and say why."""
        error = certificate.relative_error
        if not certificate.held_out:
            return Outcome.NOT_IDENTIFIED, (
                f"{certificate.samples} samples are too few to hold any out, so that nothing can be claimed: give more "
                "samples."
            )
        if not error <= self.largest_error:
            return Outcome.NOT_IDENTIFIED, (
                f"the relative error on {certificate.held_out} held out samples is {error:.2g}, of "
                f"{self.largest_error} that would count as learnt ({certificate.samples} samples for "
                f"{certificate.parameters} parameters): give more samples, more restarts, or other widths and "
                "connections."
            )
        if error > self.exact_error:
            return Outcome.PARTLY_IDENTIFIED, (
                f"the relative error is {error:.2g} on held out samples and {certificate.fitted_error:.2g} on those of "
                "the fit: labels with noise, or of another class. Exact labels of such a network are met to "
                f"{self.exact_error:.0e}; if these are exact, try more restarts, samples, or other widths and "
                "connections."
            )
        if not any(certificate.ranks):
            return Outcome.PARTLY_IDENTIFIED, (
                f"the function is found (relative error {error:.1e}): it is affine, or constant, so that there are no "
                "features to be found."
            )
        if not certificate.are_features_unique:
            return Outcome.PARTLY_IDENTIFIED, (
                f"the function is found (relative error {error:.1e}), its features are not unique: "
                f"{certificate.extra_flat_directions} directions beside rotations change no label. Features that are "
                f"not zero: {certificate.ranks}; fit again with these as widths."
            )
        return Outcome.IDENTIFIED, (
            f"the relative error is {error:.1e} on {certificate.held_out} held out samples, and near this network no "
            "other one has these labels, up to rotations of the features within a level."
        )

    def class_outcome_of(self, certificate: HierarchicalCertificate) -> tuple[Outcome, str]:
        """Decide the outcome of a classification, and say why: classes alone never give the features exactly."""
        error = certificate.relative_error
        if certificate.held_out and error <= self.largest_error:
            return Outcome.PARTLY_IDENTIFIED, (
                f"the share of wrong classes on {certificate.held_out} held out samples is {error:.2g} of that of "
                "always giving the more frequent class; classes tell the function only where it changes its sign."
            )
        return Outcome.NOT_IDENTIFIED, (
            f"the share of wrong classes on {certificate.held_out} held out samples is {error:.2g} of that of always "
            f"giving the more frequent class, at most {self.largest_error} would count as learnt: give more samples or "
            "other widths."
        )


def diagnostics_of(
    network: QuadraticDenseNet, points: Points, labels: PerPoint, parameters: int
) -> tuple[Diagnostic, ...]:
    """Check whether the samples are as the theory, and the measured figures, have them."""
    centred = points - np.mean(points, axis=0)
    spectrum = np.linalg.eigvalsh(centred.T @ centred / len(points))
    spread = float(np.std(labels))
    tails = float(np.mean((labels - np.mean(labels)) ** 4) / spread**4) if spread > 0 else 1.0
    found = [
        at_least(
            "samples per parameter", len(points) / parameters, 5.0,
            "with few samples per parameter starts end in bad minima, or the network fits noise", weak=2.0,
        ),
        at_least(
            "smallest relative to largest variance of a direction of the inputs",
            float(spectrum[0] / spectrum[-1]) if spectrum[-1] > 0 else 0.0, 0.05,
            "the theory needs inputs that vary in all directions: drop or combine columns", weak=1e-3,
        ),
        at_most(
            "kurtosis of the labels", tails, 300.0,
            "few samples carry most of the squared loss: bound the inputs, or give more samples", weak=3_000.0,
        ),
    ]  # fmt: skip
    if network.depth > 2:
        spreads = [np.std(network.contribution(points, level)) for level in range(2, network.depth + 1)]
        gap = max(effective_gaps(network, points)) if min(spreads) > 0 else 0.0
        advice = "a level weighs more than the one below: second-order training often copes, first-order does not"
        found.append(at_most("information gap (spread of a level relative to the one below)", gap, 0.7, advice, weak=2))
    return tuple(found)


def _seen_shifts(student: Student, vector: Parameters, rank_tol: float) -> int:
    """In how many directions a shift of E[x^2] changes features."""
    blocks = [
        matrix[:, student.wiring.columns(level)[1]]
        for level, matrix in enumerate(student.matrices(vector), start=FIRST_LEVEL)
        if 1 in student.wiring.columns(level)
    ]
    return _rank(np.concatenate(blocks), rank_tol)


def _rank(matrix: np.ndarray, rank_tol: float) -> int:
    values = np.linalg.svd(matrix, compute_uv=False)
    return int(np.sum(values > rank_tol * values[0])) if values[0] > 0 else 0
