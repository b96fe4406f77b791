"""Where typical rows lie: units and ranges of inputs from a table of the user."""

from pathlib import Path
from typing import TYPE_CHECKING

from unweave.exceptions import InvalidInput

if TYPE_CHECKING:
    from unweave.oracles.oracle import Domain


def domain_like(path: Path, columns: tuple[str, ...], *, inputs: int | None, is_inside: bool) -> "Domain":
    """Take the domain from typical rows: centre and spread of every column, or the box that all of them lie in.

    Args:
        path: of a CSV or Parquet file with one column per input.
        columns: that are the inputs, in order; all if empty.
        inputs: number of inputs, if it is known.
        is_inside: whether nothing outside of their ranges may be asked.

    Raises:
        InvalidInput: if these are not numbers, one column per input.
    """
    import numpy as np

    from unweave.oracles.oracle import Box, Everywhere
    from unweave.samples.tables import column_names, read_columns

    names = columns or column_names(path)
    rows = read_columns(path, names)
    if len(rows) == 0:
        raise InvalidInput(f"--like needs typical rows, but {path} has none.")
    if inputs is not None and len(names) != inputs:
        raise InvalidInput(
            f"--like needs one column per input, {inputs} in all, but {path} has {len(names)}: name the inputs with "
            "--columns."
        )
    lower, upper = np.min(rows, axis=0), np.max(rows, axis=0)
    if is_inside:
        constant = [name for name, is_constant in zip(names, lower == upper, strict=True) if is_constant]
        if constant:
            raise InvalidInput(f"column {constant[0]} of {path} is constant and has no range: give a box with --box.")
        return Box(lower, upper)
    # A constant column has no unit of its own.
    return Everywhere(np.where(lower < upper, np.std(rows, axis=0), 1.0), np.mean(rows, axis=0))
