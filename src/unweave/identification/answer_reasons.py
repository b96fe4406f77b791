"""Reasons that lie in the answers themselves: they change, are rough, rounded or constant, or are probabilities."""

from collections.abc import Sequence

import numpy as np

from unweave.arrays import significant_bits
from unweave.oracles.ledger import AnswerKind, ValueGrid
from unweave.oracles.views import NoiseFloor


def changing_answers(noise: NoiseFloor, spread: float) -> str:
    """Say why an oracle that answers at random can't be identified."""
    return (
        f"the answers change between calls: asking the same points again moved them by {noise.repeat_spread:.3g}, "
        f"while they spread by {spread:.3g}. A network that answers at random (dropout, sampling, a model with a "
        "memory) can't be identified: query it in evaluation mode, or average its answers."
    )


def too_rough(level: float, largest: float, *, is_repeatable: bool) -> str:
    """Say why a function that is as rough as noise can't be identified."""
    why = (
        "Asking the same point again gives the same answer, so that the function itself is rough: it changes within a "
        "thousandth of the domain, or its answers are rounded."
        if is_repeatable
        else "Average the answers, or query the model in evaluation mode."
    )
    return (
        "the answers are too rough or noisy: between neighbouring points, a thousandth of the domain apart, they "
        f"differ by {level:.1e} of their spread in a way that no smooth or piecewise linear function does, and nothing "
        f"is identified above {largest:g}. {why}"
    )


def too_coarse(unit: np.ndarray, spread: np.ndarray, error: float, largest: float) -> str:
    """Say why answers with few digits can't be identified.

    Args:
        unit: what answers are rounded to, per output.
        spread: standard deviation of the answers, per output.
        error: of an answer, relative to the spread.
        largest: the error above which nothing is identified.
    """
    worst = int(np.argmax(unit / spread))
    whose = "their spread" if len(unit) == 1 else f"the spread of output {worst + 1}"
    return (
        f"the answers are rounded to {unit[worst]:.2g}, which is {unit[worst] / spread[worst]:.2g} of {whose} "
        f"({spread[worst]:.2g}): an error of {error:.1e} would have to be allowed, which may be as much as a neuron "
        f"contributes; nothing is identified above {largest:g}. Ask for more digits, or for answers without their "
        "offset."
    )


def rounded_digits(digits: float, error: float) -> str:
    """Tell about answers that have few binary digits."""
    bits = 1 - round(np.log2(digits))
    kind = {8: ", as those of bfloat16", 11: ", as those of float16", 24: ", as those of float32"}.get(bits, "")
    return (
        f"The answers are rounded to {bits} binary digits{kind}: an error of {error:.1e} of their spread. Ask for more "
        "digits if that is possible."
    )


def rounded_to_multiples(step: float, error: float) -> str:
    """Tell about answers that are multiples of one number."""
    decimals = round(-np.log10(step))
    is_decimal = decimals > 0 and np.isclose(step, 10.0**-decimals, rtol=1e-9, atol=0.0)
    rounded = f"rounded to {decimals} decimal{'s' if decimals > 1 else ''}" if is_decimal else "rounded"
    return (
        f"The answers are {rounded}, with an error of {error:.1e} of their spread, or those of steps of equal height: "
        f"all are multiples of {step:.3g} and change by one of them wherever they were seen to change. Ask for more "
        "digits if that is possible."
    )


def clipped_inputs(lower: np.ndarray, upper: np.ndarray, inputs: int) -> str:
    """Tell about a model that cuts its inputs off.

    Args:
        lower, upper: bounds of the inputs that were looked at, the first ones.
        inputs: of the model.
    """
    bounds = [_one_or_all(each) for each in (lower, upper)]
    which = "each input" if len(lower) == inputs else f"each of the first {len(lower)} inputs"
    return (
        f"the model clips its inputs: above {bounds[1]} and below {bounds[0]} answers do not change with {which} any "
        f"more, wherever the others are. Ask inside of these bounds: --box {bounds[0]} {bounds[1]}, or "
        "domain=unweave.Box(...) in Python."
    )


def _one_or_all(bounds: np.ndarray) -> str:
    """Write bounds, or the one that all of them are."""
    words = [f"{each:.4g}" for each in np.where(np.abs(bounds) < 1e-6, 0.0, bounds)]
    return words[0] if len(set(words)) == 1 else ",".join(words)


def rounded_as(kinds: Sequence[AnswerKind | None]) -> list[str]:
    """Tell about the grids that answers lie on, per output."""
    names = [kind.name if kind is not None else None for kind in kinds]
    if len(set(names)) == 1:
        return [f"The answers are rounded to {names[0]}."] if names[0] is not None else []
    return [f"Output {number + 1} is rounded to {name}." for number, name in enumerate(names) if name is not None]


def no_crossings(why: str) -> str:
    """Say why nothing is known beyond the rounding of the answers."""
    return f"The places where the rounded answers switch were not used to know the function more exactly: {why}"


def unmet_by_fits(residual: float) -> str:
    """Say why fits to rounded answers have found no network."""
    return (
        f"fits of tanh and ReLU neurons to the rounded answers leave {residual:.2g} times what rounding explains, at "
        "least."
    )


def rounded_constants(spreads: np.ndarray, unit: np.ndarray, are_rounded: np.ndarray) -> list[str]:
    """Tell about outputs that are constant up to rounding, beside others that are not.

    Args:
        spreads: standard deviation of the answers, per output; infinite if they are constant up to rounding.
        unit: what answers are rounded to; 0 if they were all zero.
        are_rounded: whether that may hide that they are not constant.
    """
    if np.all(np.isinf(spreads)):
        return []
    return [
        f"Output {output + 1} is constant up to rounding to {unit[output]:.2g}. Its errors are relative to its size, "
        "since its answers have no spread."
        for output in np.flatnonzero(np.isinf(spreads) & are_rounded & (unit > 0.0))
    ]


def blurred(spreads: np.ndarray, unit: np.ndarray, ranges: np.ndarray, *, known: float) -> str:
    """Tell about outputs that change by no more than their rounding, beside others that change by more.

    Args:
        spreads: standard deviation of the answers, per output; infinite if they are constant up to rounding.
        unit: what answers are rounded to.
        ranges: largest answer minus the smallest, per output.
        known: how exactly the other outputs are known; smaller changes are within what is claimed.
    """
    if np.all(np.isinf(spreads)):
        return ""
    return " ".join(
        f"Output {output + 1} was rounded to {unit[output]:.2g} and changes by {ranges[output]:.2g} only: weights into "
        "it are not known, and its errors are relative to its size."
        for output in np.flatnonzero(np.isinf(spreads) & (ranges > known))
    )


def constants(outputs: dict[int, float], *, known: float, most_bits: int = ValueGrid.most_bits) -> str:
    """Tell about outputs that were always the same: a number of few digits may be what a function was rounded to.

    Args:
        outputs: their numbers from zero, and what they were.
        known: how exactly the other outputs are known; smaller changes are within what is claimed.
        most_bits: binary digits above which a number was not rounded, as for grids of answers.
    """
    said = []
    for output, value in outputs.items():
        bits = int(significant_bits(np.array([value]))[0])
        last = 0.5 * 2.0 ** (int(np.frexp(value)[1]) - bits)
        if bits <= most_bits or last > known:
            by = f" by up to {last:.2g}" if value else ""
            said.append(
                f"Output {output + 1} was {value:g} wherever it was asked: weights into it are zero, unless rounding"
                f"{by} hides that it changes."
            )
    return " ".join(said)


def gives_logits() -> str:
    """Tell what the network of a model that answers with probabilities gives."""
    return (
        "The answers are probabilities that sum to one: the network gives the logits behind them, shifted so that they "
        "sum to zero (softmax does not see the shift). Apply softmax to its outputs to get the answers."
    )
