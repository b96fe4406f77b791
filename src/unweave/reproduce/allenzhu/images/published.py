"""Tables of the document, as plain data, in percent; None where the document has no number.

Columns are numbers of convolutions ``l = 2 t + 1``. Two readings are uncertain and flagged in the titles: the document
does not say how many models its ensembles hold, and the captions of its two adversarial tables are in the opposite
order of the tables' own titles, which are followed here.
"""

from dataclasses import dataclass

Row = tuple[float | None, ...]

CONVOLUTIONS = (1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21)
TRAIN_ONLY, TRAIN_ALL = "train only", "train all"
CORRELATION_INIT, CORRELATION_ALL = "correlation with init", "correlation with train all"


@dataclass(frozen=True)
class PublishedTable:
    """One table.

    Attributes:
        columns: what the entries of a row belong to.
        rows: by their names; accuracies in percent, correlations as numbers up to 1.
        is_ensemble: whether accuracies are of averaged answers of several models.
    """

    title: str
    dataset: str
    columns: tuple[int | str, ...]
    rows: dict[str, Row]
    is_ensemble: bool = False

    def entry(self, row: str, column: int | str) -> float | None:
        """One number of the document, if it has it."""
        return self.rows[row][self.columns.index(column)] if row in self.rows and column in self.columns else None


def fixed(window: int) -> str:
    """The name of the row in which the first l convolutions but ``2 window`` are frozen."""
    return "fix <= l" if window == 0 else f"fix <= l-{2 * window}"


def _window_rows(*rows: tuple[float, ...]) -> dict[str, Row]:
    """Row ``j`` starts at column ``j``: there is nothing to fix before."""
    return {fixed(window): (None,) * window + row for window, row in enumerate(rows)}


FIGURE_9 = PublishedTable(
    "CIFAR-100, WRN-34-5, clean, ensemble of unknown size (Figures 9 and 10)",
    "CIFAR-100",
    CONVOLUTIONS,
    {
        TRAIN_ONLY: (16.0, 43.1, 61.5, 67.9, 70.7, 71.5, 75.9, 78.6, 79.8, 80.6, 80.9),
        **_window_rows(
            (83.1, 78.9, 78.4, 76.9, 75.9, 75.6, 77.6, 79.6, 80.5, 81.0, 81.2),
            (83.4, 81.5, 79.8, 78.4, 77.4, 78.7, 80.3, 80.7, 81.0, 81.3),
            (83.1, 81.9, 81.2, 80.1, 80.8, 82.6, 82.2, 81.0, 81.3),
            (83.2, 82.3, 82.0, 81.8, 82.4, 82.7, 82.0, 81.8),
            (83.4, 82.2, 82.4, 83.1, 83.2, 82.7, 81.9),
        ),
        TRAIN_ALL: (83.2, 83.2, 83.0, 82.9, 82.8, 83.0, 83.1, 83.1, 82.9, 83.2, 83.0),
        CORRELATION_INIT: (0.131, 0.081, 0.070, 0.054, 0.051, 0.037, 0.036, 0.034, 0.034, 0.032, 0.031),
        CORRELATION_ALL: (0.927, 0.956, 0.966, 0.958, 0.965, 0.960, 0.950, 0.968, 0.967, 0.959, 0.948),
    },
    is_ensemble=True,
)

FIGURE_14_ENSEMBLE = PublishedTable(
    "CIFAR-10, WRN-34-5, clean, ensemble of unknown size (Figure 14a)",
    "CIFAR-10",
    CONVOLUTIONS,
    {
        TRAIN_ONLY: (41.7, 73.5, 89.1, 92.2, 93.4, 93.9, 94.2, 95.1, 95.7, 95.9, 96.1),
        **_window_rows(
            (96.5, 93.7, 91.7, 92.8, 93.7, 94.2, 94.3, 95.3, 95.9, 96.1, 96.3),
            (96.5, 95.5, 93.4, 93.6, 94.1, 94.4, 95.2, 95.8, 95.9, 96.3),
            (96.4, 96.1, 94.9, 94.5, 94.4, 95.5, 95.6, 95.8, 96.1),
            (96.7, 96.1, 95.4, 95.0, 95.6, 96.0, 95.6, 95.9),
            (96.6, 96.3, 95.9, 96.2, 96.3, 96.1, 95.7),
        ),
        TRAIN_ALL: (96.5, 96.6, 96.5, 96.5, 96.5, 96.4, 96.2, 96.3, 96.4, 96.5, 96.6),
        CORRELATION_INIT: (0.276, 0.083, 0.068, 0.060, 0.053, 0.043, 0.043, 0.040, 0.036, 0.037, 0.031),
        CORRELATION_ALL: (0.905, 0.977, 0.975, 0.972, 0.966, 0.965, 0.964, 0.966, 0.959, 0.957, 0.939),
    },
    is_ensemble=True,
)

FIGURE_14_SINGLE = PublishedTable(
    "CIFAR-10, WRN-34-5, clean, single model (Figure 14a)",
    "CIFAR-10",
    CONVOLUTIONS,
    {
        TRAIN_ONLY: (41.4, 71.2, 86.5, 89.9, 91.3, 91.8, 92.3, 93.9, 94.5, 94.7, 95.0),
        **_window_rows(
            (95.6, 90.8, 89.1, 90.4, 91.5, 92.0, 92.5, 93.9, 94.6, 94.8, 95.0),
            (95.7, 93.7, 90.9, 91.3, 91.8, 92.3, 93.7, 94.4, 94.6, 94.9),
            (95.7, 94.7, 93.0, 92.2, 92.4, 93.9, 94.1, 94.2, 94.6),
            (95.8, 94.9, 93.8, 93.2, 94.2, 94.6, 94.1, 94.2),
            (95.8, 95.1, 94.5, 94.7, 95.0, 94.8, 94.1),
        ),
        TRAIN_ALL: (95.8, 95.6, 95.6, 95.8, 95.6, 95.5, 95.4, 95.7, 95.9, 95.8, 95.9),
    },
)

FIGURE_14_L2 = PublishedTable(
    "CIFAR-10, WRN-34-5, adversarial l2(0.5, 0.12), single model (table titled L2 of Figure 14)",
    "CIFAR-10",
    CONVOLUTIONS,
    {
        TRAIN_ONLY: (23.5, 36.2, 47.0, 52.6, 55.9, 57.3, 58.7, 61.9, 63.3, 63.9, 64.4),
        **_window_rows(
            (67.2, 63.4, 64.3, 62.5, 58.3, 57.8, 59.3, 61.8, 62.6, 63.7, 63.7),
            (67.3, 65.7, 63.7, 62.3, 60.1, 59.9, 61.6, 62.7, 63.7, 64.1),
            (67.0, 65.9, 64.9, 63.1, 62.1, 63.5, 63.3, 63.5, 64.0),
            (67.0, 65.8, 64.7, 64.5, 65.3, 65.6, 64.7, 63.9),
            (67.0, 66.5, 65.8, 66.0, 66.3, 66.4, 65.1),
        ),
        TRAIN_ALL: (66.7, 67.0, 66.9, 66.8, 66.7, 66.7, 66.7, 66.5, 67.0, 66.0, 65.5),
        CORRELATION_INIT: (0.354, 0.134, 0.108, 0.089, 0.074, 0.065, 0.059, 0.050, 0.045, 0.045, 0.042),
        CORRELATION_ALL: (0.798, 0.868, 0.877, 0.864, 0.911, 0.890, 0.862, 0.860, 0.861, 0.834, 0.802),
    },
)

FIGURE_14_LINF = PublishedTable(
    "CIFAR-10, WRN-34-5, adversarial l-infinity 6/255, single model (table titled Linf of Figure 14)",
    "CIFAR-10",
    CONVOLUTIONS,
    {
        TRAIN_ONLY: (21.6, 28.4, 37.6, 42.8, 46.7, 48.1, 50.6, 54.1, 55.6, 56.5, 57.4),
        **_window_rows(
            (60.6, 55.7, 56.7, 54.5, 52.6, 51.0, 52.0, 54.0, 55.5, 56.6, 57.5),
            (61.3, 58.2, 55.9, 54.2, 53.3, 53.1, 55.6, 56.4, 56.5, 57.2),
            (61.0, 58.6, 57.0, 56.3, 55.7, 57.5, 57.8, 57.3, 57.6),
            (61.4, 59.9, 57.6, 58.0, 59.1, 59.5, 58.7, 58.3),
            (61.1, 59.3, 58.6, 59.4, 60.0, 60.4, 60.0),
        ),
        TRAIN_ALL: (60.6, 60.5, 61.1, 61.3, 60.7, 60.1, 60.5, 60.5, 60.2, 60.4, 60.8),
        CORRELATION_INIT: (0.164, 0.137, 0.086, 0.070, 0.061, 0.054, 0.054, 0.041, 0.047, 0.040, 0.037),
        CORRELATION_ALL: (0.622, 0.783, 0.845, 0.835, 0.898, 0.883, 0.847, 0.867, 0.849, 0.942, 0.904),
    },
)

SINGLE, ENSEMBLE = "single", "ensemble"
# The best single model of 10, and the averaged answers of all 10.
FIGURE_12 = {
    "CIFAR-10": PublishedTable(
        "CIFAR-10, best of 10 models and their ensemble (Figure 12)",
        "CIFAR-10",
        (SINGLE, ENSEMBLE),
        {
            "WRN-16-10": (96.27, 96.8),
            "WRN-22-10": (96.59, 97.12),
            "quadratic WRN-16-10": (94.68, 95.65),
            "quadratic WRN-22-10": (95.08, 95.97),
            "neural compositional kernel, ZCA": (89.8, 89.8),
            "neural tangent kernel": (81.40, 81.40),
            "neural tangent kernel, random preprocessing": (88.36, None),
            "neural Gaussian process kernel": (82.20, 82.20),
            "neural Gaussian process kernel, random preprocessing": (88.92, None),
            "finite-width tangent kernel of WRN-10-10": (72.33, 75.26),
            "finite-width tangent kernel of WRN-10-10, ZCA": (76.94, 80.21),
        },
    ),
    "CIFAR-100": PublishedTable(
        "CIFAR-100, best of 10 models and their ensemble (Figure 12)",
        "CIFAR-100",
        (SINGLE, ENSEMBLE),
        {
            "WRN-16-10": (80.28, 83.18),
            "WRN-22-10": (81.43, 84.33),
            "quadratic WRN-16-10": (75.31, 79.01),
            "quadratic WRN-22-10": (75.65, 79.97),
            "neural compositional kernel, ZCA": (68.2, 68.2),
        },
    ),
}
