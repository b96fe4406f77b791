"""From what was measured to an outcome with its reason, and the assumptions of the theory on the samples at hand."""

import numpy as np
from jaxtyping import Float64

from unweave.arrays import Points
from unweave.learn.hierarchical.certificate import HierarchicalCertificate
from unweave.networks.quadratic.densenet import QuadraticDenseNet
from unweave.networks.quadratic.teacher import effective_gaps
from unweave.result import Diagnostic, Outcome, at_least, at_most

# Squared relative error that counts as none: rounding leaves 1e-24 and less.
EXACT_TOL = 1e-15
# Above this share of the variance (or of wrong classes) nothing worth the name was learnt.
LARGEST_ERROR = 0.5


def outcome_of(certificate: HierarchicalCertificate) -> tuple[Outcome, str]:
    """The outcome of a regression, and why."""
    error = certificate.relative_error
    if not certificate.held_out:
        return Outcome.NOT_IDENTIFIED, (
            f"{certificate.rows} rows are too few to hold any out, so that nothing can be claimed: give more rows."
        )
    if not error <= LARGEST_ERROR:
        return Outcome.NOT_IDENTIFIED, (
            f"the relative error on {certificate.held_out} held out rows is {error:.2g}, of {LARGEST_ERROR} that "
            f"would count as learnt ({certificate.rows} rows for {certificate.parameters} parameters): give more rows, "
            "more restarts, or other widths and connections."
        )
    if error > EXACT_TOL:
        return Outcome.PARTLY_IDENTIFIED, (
            f"the relative error is {error:.2g} on held out rows and {certificate.fitted_error:.2g} on those of the "
            "fit: labels with noise, or of another class. Exact labels of such a network are met to 1e-15; if these "
            "are exact, try more restarts, rows, or other widths and connections."
        )
    if not certificate.are_features_unique:
        return Outcome.PARTLY_IDENTIFIED, (
            f"the function is found (relative error {error:.1e}), its features are not unique: "
            f"{certificate.extra_flat_directions} directions beside rotations change no label. Features that are not "
            f"zero: {certificate.ranks}; fit again with these as widths."
        )
    return Outcome.IDENTIFIED, (
        f"the relative error is {error:.1e} on {certificate.held_out} held out rows, and near this network no other "
        "one has these labels, up to rotations of the features within a level."
    )


def class_outcome_of(certificate: HierarchicalCertificate) -> tuple[Outcome, str]:
    """The outcome of a classification, and why: classes alone never give the features exactly."""
    error = certificate.relative_error
    if certificate.held_out and error <= LARGEST_ERROR:
        return Outcome.PARTLY_IDENTIFIED, (
            f"the share of wrong classes on {certificate.held_out} held out rows is {error:.2g} of that of always "
            "giving the more frequent class; classes tell the function only where it changes its sign."
        )
    return Outcome.NOT_IDENTIFIED, (
        f"the share of wrong classes on {certificate.held_out} held out rows is {error:.2g} of that of always giving "
        f"the more frequent class, at most {LARGEST_ERROR} would count as learnt: give more rows or other widths."
    )


def diagnostics_of(
    network: QuadraticDenseNet, points: Points, labels: Float64[np.ndarray, "points"], parameters: int
) -> tuple[Diagnostic, ...]:
    """Whether the samples are as the theory, and the measured figures, have them."""
    centred = points - np.mean(points, axis=0)
    spectrum = np.linalg.eigvalsh(centred.T @ centred / len(points))
    spread = float(np.std(labels))
    tails = float(np.mean((labels - np.mean(labels)) ** 4) / spread**4) if spread > 0 else 1.0
    found = [
        at_least(
            "rows per parameter", len(points) / parameters, 5.0,
            "with few rows per parameter starts end in bad minima, or the network fits noise", weak=2.0,
        ),
        at_least(
            "smallest relative to largest variance of a direction of the inputs",
            float(spectrum[0] / spectrum[-1]) if spectrum[-1] > 0 else 0.0, 0.05,
            "the theory needs inputs that vary in all directions: drop or combine columns", weak=1e-3,
        ),
        at_most(
            "kurtosis of the labels", tails, 300.0,
            "few rows carry most of the squared loss: bound the inputs, or give more rows", weak=3_000.0,
        ),
    ]  # fmt: skip
    if network.depth > 2:
        spreads = [np.std(network.contribution(points, level)) for level in range(2, network.depth + 1)]
        gap = max(effective_gaps(network, points)) if min(spreads) > 0 else 0.0
        advice = "a level weighs more than the one below: second-order training often copes, first-order does not"
        found.append(at_most("information gap (spread of a level relative to the one below)", gap, 0.7, advice, weak=2))
    return tuple(found)
