"""The reasons that a run ends with, in words and numbers: texts only, no decisions."""

import numpy as np

from unweave.activations import STEP, Activation, base_of
from unweave.arrays import Vector
from unweave.certificates.claims import counted
from unweave.networks.network import Layer, Network
from unweave.networks.signs import KinkExplanation
from unweave.numerics.subspace_power import Directions
from unweave.result import percent


def steps(places: int, *, levels: int, point: Vector, height: float, are_whole: bool = False, shown: int = 4) -> str:
    """Say why a piecewise constant function shows no neurons.

    Args:
        places: random ones around which answers are constant.
        levels: different answers that were seen.
        point: where they jump.
        height: by how much.
        are_whole: whether all answers are whole numbers.
        shown: inputs of it that are written out; chosen.
    """
    labels = (
        "the answers are whole numbers, as class labels are: ask for scores or probabilities instead, such as "
        "decision_function or predict_proba give. In numbers: "
        if are_whole
        else ""
    )
    where = ", ".join(f"{value:.4g}" for value in point[:shown]) + (", ..." if len(point) > shown else "")
    return (
        f"{labels}around each of {places} random points the answers are constant, {levels} different values were seen, "
        f"and at ({where}) they jump by {height:.3g} with no value in between: a function of steps, such as labels, a "
        "tree, a forest, boosting, nearest neighbours or rounded answers. It has no slopes that would show neurons."
    )


def splits(count: int) -> str:
    """Say why jumps along single inputs are not those of neurons."""
    return (
        f"the answers are constant in parts, and each of the {count} hyperplanes at which they jump is a threshold on "
        "a single input: a function of steps, such as a tree, a forest or boosting, not a layer of neurons."
    )


def local_steps(count: int, *, share: float) -> str:
    """Say why jumps that end nearby are not those of neurons."""
    return (
        f"the answers are constant in parts, and the {count} hyperplanes at which they jump were seen again at only "
        f"{share:.0%} of the other places where they were looked for: they do not go on, as in a function of steps "
        "such as nearest neighbours, a tree or a forest; the hyperplanes of a layer of neurons have no end."
    )


def vain_steps(asked: int, count: int, *, unread: int) -> str:
    """Say why no more is asked about jumps that are not those of a layer."""
    return (
        f"{asked} queries along the jumps have shown {count} hyperplanes and {unread} edges that belong to no "
        "hyperplane, and more keep coming: the boundaries are curved, or those of many cells, not those of a layer of "
        "neurons."
    )


def mixed_sides(mixed: int, points: int, count: int) -> str:
    """Say why hyperplanes far out are not those of a layer."""
    return (
        f"{mixed} of {points} fresh answers differ from others that lie on the same side of all {count} hyperplanes "
        "that were found, and these hyperplanes are not seen near the centre: boundaries are curved, or neurons are "
        "missing."
    )


def not_constant(unsteady: int, points: int) -> str:
    """Say why jumps are not those of plateaus."""
    return (
        f"the answers jump at hyperplanes, but at {unsteady} of {points} fresh points they also change nearby: they "
        "are constant in some parts only, so that the neurons are not steps."
    )


def no_kinks() -> str:
    """Say why a function that looked piecewise linear has no neurons to show."""
    return (
        "the function is affine over short distances and not over longer ones, but no kink could be located on the "
        "lines that were searched: the kinks are too close together, or too weak for the noise."
    )


def no_slabs() -> str:
    """Say why a function that is constant far out has no neurons to show there."""
    return "far from the centre the answers never change, or change smoothly: no neuron switches there."


def strange_profiles(jumps: int, read: int, misfit: float) -> str:
    """Say why jumps far out are not those of a shallow network."""
    return (
        f"{read} of {jumps} jumps far from the centre have the shape of a single tanh or erf neuron (typical "
        f"misfit of all: {misfit:.1e} of their height): the network is not shallow, its activation is not among the "
        "known ones, or the answers have too few digits far out."
    )


def no_first_layer(hyperplanes: int, lines: int) -> str:
    """Say why jumps far out tell no first layer."""
    if hyperplanes == 0:
        return f"No hyperplane was crossed by two of {lines} far lines, so that no neuron of a first layer is known."
    return (
        f"Of {hyperplanes} hyperplanes that two of {lines} far lines crossed, not all are approached as tanh "
        "approaches its limits, and not all as erf does: the activation of the first layer is not known."
    )


def parallel_neurons(hyperplanes: int, lines: int) -> str:
    """Tell about networks of one layer whose neurons can't be told apart far out."""
    return (
        f"across each of {hyperplanes} hyperplanes, each crossed by at least two of {lines} lines far from the centre, "
        "the answers change by the same amount everywhere, as in a network with one hidden layer, but not with the "
        "shape of a single tanh, sigmoid or erf neuron: several neurons are parallel, or the activation is another "
        "one."
    )


def first_layer(layer: Layer, why: str, *, lines: int, length_error: float, doubts: int) -> str:
    """Tell what was found of a network that is not shallow.

    Args:
        layer: the rows.
        why: it is not shallow.
        lines: far lines that were walked.
        length_error: of the lengths, relative.
        doubts: jumps and hyperplanes that were not confirmed.
    """
    rest = "there may be more" if doubts else "all jumps on the last one were among them"
    # Not "the layers above": parallel neurons of one hidden layer may look like a first one under others.
    return (
        f"{why} Hyperplanes of the first layer were read off on {lines} lines far from the centre: "
        f"{counted(layer.neurons)}, each crossed at least twice (parallel ones count once), and {rest}. They approach "
        f"their limits as {layer.activation} does, which gives the norms of their weights to about "
        f"{percent(max(2.0 * length_error, 1e-3))}; signs are left open, and biases are rough. What is above them is "
        "not identified."
    )


def aligned_first_layer(layer: Layer, following: int) -> str:
    """Tell what was found of a deep network whose upper layers stay unknown."""
    return (
        f"the network is deep. Its first layer of {counted(layer.neurons)} (parallel ones count once) was read off far "
        f"from the centre, weights and biases to a few digits, and the second layer has {counted(following)}, as many "
        "as the rank of the gradients above the first. The layers above are not identified."
    )


def lowest_layer(layer: Layer, error: float, *, lines: int, quiet_lines: int, is_complete: bool) -> str:
    """Tell what was found of thresholded units under unknown upper layers."""
    is_step = layer.activation == STEP
    rows = "1 row" if layer.neurons == 1 else f"{layer.neurons} rows"
    missed = "no other one" if is_complete else "no other one, but there may be more"
    tested = "seen again far away" if is_step else "seen again far away and on both sides of every other one"
    return (
        f"the answers are constant on plateaus and {'jump' if is_step else 'bend'} at hyperplanes, each of them "
        f"{tested}: a lowest layer of {rows} of {layer.activation}, unit normals and thresholds to about {error:.0e}; "
        f"the last {quiet_lines} of {lines} lines met {missed}. The norms of the weights are not determined, and what "
        "is above them is not identified."
    )


def staircase(rows: int) -> str:
    """Say why parallel hyperplanes between neighbouring multiples of one number are no layer."""
    return (
        f"the answers change at {rows} parallel hyperplanes, and have few digits or are neighbouring multiples of one "
        "number: that may be a smooth function of one direction whose answers were rounded, and then no hyperplane "
        "belongs to a neuron. Ask for answers with more digits."
    )


def rounded_plateaus(rows: int) -> str:
    """Why hyperplanes where answers jump are no layer if the answers are rounded."""
    return (
        f"the answers jump at {rows} hyperplanes, but they are rounded so coarsely that any function seems to: no row "
        "is called a neuron. Ask for answers with more digits."
    )


def too_wide(layer: Layer) -> str:
    """Say why nothing above a wide first layer can be asked for."""
    return (
        f"the first layer has {counted(layer.neurons)}, more than the {layer.inputs} inputs: its outputs can't be "
        "chosen freely, so that the layers above can't be queried on their own."
    )


def nothing_above(layer: Layer) -> str:
    """Say why the layers above a first layer stay unknown."""
    return (
        f"above the first layer of {counted(layer.neurons)} no network was found: its Hessians show no clear number of "
        "neurons, or there are too few outputs to tell the layers apart."
    )


def strange_kinks(kinks: int, misfit: float) -> str:
    """Say why far kinks are not those of a shallow network."""
    return (
        f"the function has {kinks} kinks far from the centre, but they are not rounded off like softplus, GELU or SiLU "
        f"(typical misfit {misfit:.1e}): the network is not shallow, or its activation is not among the known ones."
    )


def open_signs(explained: KinkExplanation) -> str:
    """Tell what is left open about the signs of a piecewise linear network."""
    if explained.solutions == 0:
        return (
            f"{explained.reason} The network carries an affine part (skip): every neuron could be flipped with a "
            "change of that part."
        )
    neurons = ", ".join(str(k) for k in np.flatnonzero(explained.open_signs))
    return (
        f"{explained.reason} The signs of the neurons {neurons} are not determined by the answers: several choices "
        "give the same function. The network carries an affine part (skip) instead of a guess."
    )


def affine_part() -> str:
    """Tell about a network with an affine part that signs can move around."""
    return "This activation leaves the signs of neurons open up to an affine part: the network carries one (skip)."


def missing_directions(gap: float, directions: Directions) -> str:
    """Say why the span of the Hessians does not show the neurons."""
    found, rank = len(directions.atoms), directions.rank
    evidence = (
        f"{found} of {rank} directions found in the span of the Hessians (gap of the singular values "
        f"{gap:.3g}, {directions.starts} starts, {directions.rejected} ended at matrices that are not "
        f"of rank one, {directions.unconverged} did not settle)"
    )
    if found == 0 and rank == 1:
        return (
            "every Hessian is a multiple of one matrix of higher rank: the function is quadratic, or a function of "
            f"one quadratic form, and its neurons are determined only up to a rotation. {evidence}."
        )
    return (
        f"{evidence}: the Hessians are not combinations of one rank-one matrix per neuron, so the function is not a "
        "shallow network on this domain (a deep one, perhaps), or the answers are too noisy for its size."
    )


def hidden_bends(rms_error: float, noise: float, places: int) -> str:
    """Say why a function that is flat where it was looked at, and yet not affine, can't be identified."""
    return (
        f"no curvature was seen at the first {places} points, and yet the best affine function misses fresh answers "
        f"by {rms_error:.2e} of their spread (noise {noise:.1e}): the neurons are saturated or linear there, or "
        "bend by less than their answers are wrong, as where inputs are rounded. Choose a domain (scale, center) where "
        "the function bends."
    )


def no_students() -> str:
    """Say why there was no fit from random starts."""
    return "the budget was too small for fits from random starts."


def unjudged_students(error: float, neurons: int) -> str:
    """Why a fit from random starts is not shown that may be good."""
    return (
        f"the best fit from random starts, of {counted(neurons)}, misses answers that it was not fitted to by "
        f"{error:.1e} of their spread, but budget or time ended before it could be judged."
    )


def poor_students(error: float, neurons: int, largest: float) -> str:
    """Say why no fit from random starts is shown."""
    return (
        f"the best fit from random starts, with {counted(neurons)}, misses the answers by {error:.1e} of their spread; "
        f"fits that miss them by more than {largest:.0e} are not shown."
    )


def other_activation(network: Network, given: Activation, *, hides_bends: bool) -> str:
    """Say how a network contradicts the activation that was given; empty if it does not.

    Args:
        network: what was found.
        given: the activation that was given.
        hides_bends: whether some neurons may bend outside of the domain, or behind the noise.
    """
    found = network.layers[0].activation
    have_kinks = given.is_piecewise_linear and found.is_piecewise_linear
    if hides_bends and have_kinks and network.skip is not None:
        # With one of its kinks on the domain, or none, a neuron is a relu and an affine part.
        return (
            f"{given} was given; what was found is {found} with an affine part: so look neurons of {given} of which "
            "not all kinks lie in the domain, or not all stand out from the noise."
        )
    if base_of(found) != base_of(given):
        return f"{given} was given, but the answers are not those of a {given} network."
    return "" if network.skip is None else f"The answers are not those of a {given} network without an affine part."


def other_width(found: int, given: int) -> str:
    """Say what it means if another number of neurons was found than was given."""
    if found < given:
        return (
            f"{counted(given)} were given and {found} are visible. The others do not change the answers: they are dead "
            "(no output weight, no input weights), duplicates that count as one with summed output weights, or weaker "
            "than the noise."
        )
    return f"{counted(given)} were given, but the answers need {found}."


def nothing_with(activation: Activation | None, neurons: int | None) -> str:
    """Say first that nothing was found with what the user has given; empty if that was nothing."""
    width = "" if neurons is None else counted(neurons)
    if activation is None:
        given, such = width, "with as many"
    else:
        given, such = f"{width} of {activation}" if width else f"{activation}", "like that" if width else "of it"
    verb = "was" if neurons in (None, 1) else "were"
    ending = f"{verb} given, and no network {such} was found: leave it out unless it is certain. In detail:"
    return f"{given} {ending}" if given else ""


def no_poles(chords: int) -> str:
    """Say why chords of the domain have shown no tanh neuron."""
    return (
        f"{chords} straight lines through the domain show no tanh or sigmoid neuron: none is steep enough for its "
        "complex poles to be found from answers on a line, or the activation is another one."
    )
