"""Verdict and certificate in plain words, and what could still hide: every number is that of the result."""

import math

from unweave.certificates.certify import Certificate
from unweave.networks.network import Network
from unweave.reports.html.architecture import shape_in_words
from unweave.result import Outcome, Result, number, percent

# How the reason of an identified network begins to say what could still hide, in `certificates/claims.py`.
HIDDEN = "Whatever changes the answers by less than"


def verdict_sentence(found: Result) -> str:
    """Say in one sentence what was found."""
    paid = f"{found.queries:,} answers" if found.queries or not found.samples else f"{found.samples:,} samples"
    if found.network is None and found.first_layer is not None:
        layer = found.first_layer
        return f"From {paid} the first layer was found, {layer.neurons:,} neurons of {layer.inputs:,} inputs, no more."
    if found.network is None:
        return f"From {paid} no network was found that could be claimed."
    shape = f"{shape_in_words(found.network)} with {found.network.parameters:,} parameters"
    if found.is_imitation:
        return f"From {paid} a network was found that only answers like the model: {shape}."
    if found.outcome is Outcome.IDENTIFIED:
        return f"{paid} give away the network: {shape}."
    if found.outcome is Outcome.PARTLY_IDENTIFIED:
        return f"From {paid} a network was found, {shape}, of which not everything is certain."
    return f"From {paid} a network was fitted, {shape}, about which nothing is claimed."


def certificate_words(found: Result) -> list[str]:
    """Say what the certificate of queries means; those of samples speak for themselves."""
    certificate = found.certificate
    if not isinstance(certificate, Certificate):
        return []
    tried = f" and {certificate.trials:,} on vertices, faces and kinks" if certificate.trials else ""
    told = [
        f"At {certificate.fresh_queries:,} random points that no fit has seen{tried}, network and model differ by at "
        f"most {number(certificate.largest_error)} of the spread of the answers.",
        f"So the difference is no larger on at least {percent(certificate.coverage)} of the domain; this statement is "
        f"wrong with a probability of at most {percent_up(1.0 - certificate.confidence)}.",
    ]
    if found.is_imitation:
        return [*told, "Nothing is claimed about neurons and activation: another network may give the same answers."]
    if certificate.crossings:
        told.append(
            f"At {certificate.crossings:,} other places where rounded answers switch from one number to the next, "
            f"which no fit has seen, they differ by at most {number(certificate.crossing_error)} of the spread: such "
            "places tell what rounding hides, and the claim on the parameters rests on them."
        )
    if not certificate.is_isolated:
        return [*told, "Nothing is claimed about single parameters: the answers do not pin them down."]
    count = f"{sum(found.network.widths):,}" if isinstance(found.network, Network) else "as many"
    told.append(
        f"If the model is a network of this shape, with {count} neurons, every parameter is within a relative "
        f"{number(certificate.radius)} of the one that was found, measured by the weights of its neuron."
    )
    if math.isfinite(certificate.isolation):
        told.append(
            "Any other network of this shape with the same answers differs from it by more than a relative "
            f"{number(certificate.isolation)}."
        )
    if certificate.is_singular_estimated:
        told.append("The last two rest on an estimate of a singular value, as the network is large, not on a proof.")
    return told


def still_hidden(found: Result) -> list[str]:
    """Say what the evidence does not exclude."""
    certificate = found.certificate
    if not isinstance(certificate, Certificate):
        return ["Inputs that are unlike the samples: nothing is claimed there."]
    _, begins, rest = found.reason.partition(HIDDEN)
    told = [begins + rest] if begins else _not_excluded(found, certificate)
    if certificate.is_isolated and not found.is_imitation:
        told.append("A network with more neurons that cancel each other where it was asked, up to the noise.")
    return told


def _not_excluded(found: Result, certificate: Certificate) -> list[str]:
    """Say it where the reason does not."""
    tried = f", and so may {certificate.trials:,} points on vertices, faces and kinks" if certificate.trials else ""
    is_box = found.ranges is not None and found.ranges.is_box
    return [
        f"Whatever changes the answers by less than {number(certificate.largest_error)} of their spread: that is the "
        "largest error that was seen.",
        f"Whatever happens in less than {percent_up(1.0 - certificate.coverage)} of the domain only, such as a neuron "
        f"that is active in a corner: {certificate.fresh_queries:,} random points may all have missed it{tried}.",
        "Whatever the model does outside of the box: it was not asked there."
        if is_box
        else "Whatever the model does farther out than it was asked.",
    ]


def percent_up(share: float) -> str:
    """Write a share as percentage, rounded up: what could hide is never called less than it is."""
    return f"{math.ceil(share * 1000 - 1e-9) / 10:g}%"
