"""When walks end that model the answers as far as neurons are known, and go where the model misses some."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class ModelledWalk:
    """Limits of such a walk.

    Args:
        lines: the largest number of them.
        quiet: lines in a row without progress, after which the walk ends.
        failures: networks that meet all answers but the fresh ones, after which it ends.
        met: errors, relative to the spread, up to which an answer is met: by a model of neurons as they were read, and
            by one that was fitted.
        batch: trial points (vertices, then faces) that are asked at a time.
    """

    lines: int
    quiet: int
    failures: int
    met: tuple[float, float]
    batch: int = 128
