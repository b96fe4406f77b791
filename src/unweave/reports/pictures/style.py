"""What pictures have in common: colours, frames without needless lines, and a legend above all panels."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


INK, ACCENT, QUIET = "#1f2933", "#c2410c", "#64748b"
COLOURS = ("#0f766e", "#c2410c", "#1d4ed8", "#7c3aed", "#a16207", "#be185d")


def open_frame(axes: "Axes") -> None:
    """Leave out the sides of the frame that carry no numbers."""
    axes.spines[["top", "right"]].set_visible(False)


def plain(axes: "Axes") -> None:
    """Leave out these sides, and draw a faint grid."""
    open_frame(axes)
    axes.grid(alpha=0.2)


def legend_above(figure: "Figure", *, columns: int, handles: "Sequence[Artist] | None" = None) -> "Figure":
    """Put a legend above all panels, where it hides nothing; of all that has a label, or of `handles`."""
    figure.legend(handles=handles, frameon=False, fontsize="small", loc="outside upper center", ncols=columns)
    return figure
