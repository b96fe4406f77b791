"""What a measurement of feature correction returns."""

import math
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from unweave.explore.feature_correction.statistics import SEED_RULES, Conclusion, Need, Scores
from unweave.folders import write_files
from unweave.seals import sealed
from unweave.writing import as_json, envelope, json_number

NUMBERS, TABLE = "correction.json", "correction.txt"


@dataclass(frozen=True)
class DepthResult:
    """All numbers of one depth, one per seed each.

    Args:
        depth: units up to it, counted from 1.
        unit: name of the last of them.
        train_only: score of these units alone, with a head of their own.
        joint: score if they were added one after the other, and all trained at every step.
        layerwise: score if they were added one after the other, and all but the new one were frozen.
        fixed: per window, score of the whole model with all of them frozen but the last so many.
        train_all: score of the whole model, all of it trained, these units pulled to those of `train_only`.
        prox: strength of the pull, chosen on validation rows.
        with_start: mean weight correlation of `train_only` with its random start, over its units.
        with_train_all: the same with `train_all`.
        with_random: the same between random weights of two seeds, paired as well as can be: what means nothing.
        with_layerwise: the same between `joint` and `layerwise`, paired as well as can be.
        unit_correlations: with `train_all`, for every unit by itself.
        alignment: linear centred kernel alignment of the features of the last unit with those in `train_all`.
        unexplained: share of those features that the ones in `train_all` do not explain linearly.
        ensemble: score of the averaged answers of all seeds of `train_only`; None unless all are there.
        freezing: what is concluded about the gap between `train_all` and all units frozen; None if not measured.
        greedy: what is concluded about the gap between `joint` and `layerwise`; None if not measured.
        window: least window that loses nothing against the full model; None if none does, or seeds are too few.
        is_last: whether there is no unit above.
        local_correlation: mean cosine of weights from which on a correction is called local: features are moved, not
            replaced. Chosen, as clean trainings of wide networks have 0.9 and more, and robust ones less.
    """

    depth: int
    unit: str
    train_only: Scores
    joint: Scores
    layerwise: Scores
    fixed: dict[int, Scores]
    train_all: Scores
    prox: tuple[float, ...]
    with_start: Scores
    with_train_all: Scores
    with_random: Scores
    with_layerwise: Scores
    unit_correlations: tuple[Scores, ...]
    alignment: Scores
    unexplained: Scores
    ensemble: float | None
    freezing: Conclusion | None
    greedy: Conclusion | None
    window: int | None
    is_last: bool
    local_correlation: float = 0.8

    @property
    def freezing_gap(self) -> Scores:
        """What freezing all these units costs, seed by seed."""
        return self.train_all.minus(self.fixed.get(0, Scores(())))

    @property
    def layerwise_gap(self) -> Scores:
        """What freezing each unit before the next one comes costs, seed by seed."""
        return self.joint.minus(self.layerwise)

    @property
    def is_local(self) -> bool:
        """Whether features were moved rather than replaced."""
        return self.with_train_all.mean >= self.local_correlation

    @property
    def verdict(self) -> str:
        """Whether features up to this depth need correction from above."""
        if self.freezing is None:
            return "nothing above it" if self.is_last else "not measured"
        if self.freezing.need is Need.YES:
            return "needed and local" if self.is_local else "needed, not local"
        return _words(self.freezing)

    @property
    def layerwise_verdict(self) -> str:
        """Whether units that are trained one after the other need correction by later ones."""
        if self.greedy is None:
            return "nothing below it" if self.depth == 1 else "not measured"
        return _words(self.greedy)

    @property
    def sentences(self) -> tuple[str, ...]:
        """The verdicts for somebody who has to decide what to freeze."""
        units = "first unit" if self.depth == 1 else f"first {self.depth} units"
        told = []
        if self.greedy is not None:
            cost = _cost(self.layerwise_gap, self.greedy)
            told.append(f"Training the {units} one after the other, lower ones frozen, {cost}.")
        if self.freezing is not None:
            told.append(f"Freezing the {units} {_cost(self.freezing_gap, self.freezing)}{self._remedy}.")
        return tuple(told)

    @property
    def _remedy(self) -> str:
        if self.freezing is None or self.freezing.need is not Need.YES:
            return ""
        if self.window is None:
            return "; no measured window wins it back"
        last = "it" if self.depth == 1 else f"at least the last {self.window} of them"
        return f"; thaw {last}" if self.window else "; the whole model from scratch is not better"


def _words(conclusion: Conclusion) -> str:
    if conclusion.need is not Need.UNKNOWN:
        return conclusion.need.value
    if conclusion.has_diverged:
        return "no conclusion: a training diverged"
    if conclusion.doubt:
        return f"no conclusion: {conclusion.doubt}"
    more, rules = conclusion.more_seeds, SEED_RULES
    count = f"more than {rules.most}" if more > rules.most - rules.least else str(more)
    return f"no conclusion: {count} more seed{'' if more == 1 else 's'} needed"


def _cost(gap: Scores, conclusion: Conclusion | None) -> str:
    if conclusion is None or not gap.values:
        return "was not measured"
    if conclusion.has_diverged:
        return f"has {_words(conclusion)}"
    error = f" +- {100 * gap.half_width:.1f}" if len(gap.values) > 1 else ""
    size = f"{100 * gap.mean:.1f}{error} points"
    if conclusion.need is Need.YES:
        return f"costs {size}"
    if conclusion.need is Need.NO:
        return f"costs nothing that matters ({size})"
    if conclusion.need is Need.REVERSED:
        return f"gains {100 * abs(gap.mean):.1f}{error} points"
    if conclusion.doubt:
        return f"cost {size}, but {_words(conclusion)}"
    return f"cost {size} on {len(gap.values)} seeds, {_words(conclusion)}"


@dataclass(frozen=True)
class FeatureCorrection:
    """Hold how much features of a model's lower units are corrected when the units above them train.

    Args:
        units: names of the units, lowest first.
        seeds: of the repetitions.
        windows: that were asked for.
        is_classification: whether scores are accuracies; otherwise they are shares of explained variance.
        depths: the numbers of every depth.
        full: score of the whole model, trained from random weights.
        full_ensemble: score of its averaged answers over all seeds; None unless all are there.
        missing: trainings that were not done.
        notes: what a reader should know.
        seconds: of training, all together.
    """

    units: tuple[str, ...]
    seeds: tuple[int, ...]
    windows: tuple[int, ...]
    is_classification: bool
    depths: tuple[DepthResult, ...]
    full: Scores
    full_ensemble: float | None
    missing: tuple[str, ...]
    notes: tuple[str, ...]
    seconds: float = field(compare=False)

    @property
    def is_complete(self) -> bool:
        """Tell whether all trainings were done."""
        return not self.missing

    @property
    def score_name(self) -> str:
        """Name what scores are."""
        return "accuracy" if self.is_classification else "explained variance"

    @property
    def gap_by_depth(self) -> tuple[float, ...]:
        """Return what every further depth adds to the score of training only so many units: the information gap."""
        means = [0.0, *(row.train_only.mean for row in self.depths)]
        return tuple(above - below for below, above in pairwise(means))

    @property
    def rows(self) -> list[tuple[str, list[Scores | None]]]:
        """Return the table: a name, and the numbers of every depth."""
        named: list[tuple[str, list[Scores | None]]] = [
            ("train only <= l", [row.train_only for row in self.depths]),
            ("joint, unit by unit", [row.joint for row in self.depths]),
            ("layer-wise", [row.layerwise for row in self.depths]),
        ]
        for window in self.windows:
            name = "fix <= l" if window == 0 else f"fix <= l-{window}"
            values = [row.fixed.get(window) for row in self.depths]
            # A window that is longer than every depth has nothing to say.
            named += [(name, values)] if any(values) else []
        named.append(("train all", [row.train_all for row in self.depths]))
        return named

    @property
    def correlation_rows(self) -> list[tuple[str, list[Scores | None]]]:
        """Return the same table for correlations of weights and features."""
        return [
            ("weights with train-all", [row.with_train_all for row in self.depths]),
            ("weights with init", [row.with_start for row in self.depths]),
            ("weights with layer-wise, paired", [row.with_layerwise for row in self.depths]),
            ("random weights, paired", [row.with_random for row in self.depths]),
            ("features: CKA with train-all", [row.alignment for row in self.depths]),
            ("features: unexplained share", [row.unexplained for row in self.depths]),
        ]

    def as_table(self) -> str:
        """Write the measurement as plain text, in Markdown."""
        head = ["depth l", *(str(row.depth) for row in self.depths)]
        lines = [head, ["---"] * len(head)]
        lines += [[name, *(cell(value, 100, 1) for value in values)] for name, values in self.rows]
        lines.append(["train only, added by depth l", *(percent(gap) for gap in self.gap_by_depth)])
        lines.append(["train only, ensemble", *(percent(row.ensemble) for row in self.depths)])
        lines += [[name, *(cell(value, 1, 2) for value in values)] for name, values in self.correlation_rows]
        lines.append(["freezing gap", *(cell(row.freezing_gap, 100, 1) for row in self.depths)])
        lines.append(["layer-wise gap", *(cell(row.layerwise_gap, 100, 1) for row in self.depths)])
        lines.append(["correction of l frozen units", *(row.verdict for row in self.depths)])
        lines.append(["correction, layer-wise", *(row.layerwise_verdict for row in self.depths)])
        ensemble = "" if self.full_ensemble is None else f", ensemble {percent(self.full_ensemble)}"
        parts = ["\n".join("| " + " | ".join(line) + " |" for line in lines)]
        parts.append(f"Whole model from random weights: {cell(self.full, 100, 1)} %{ensemble}.")
        return "\n\n".join([*parts, *(text for row in self.depths for text in row.sentences), *self.notes]) + "\n"

    def as_json(self) -> dict[str, Any]:
        """Write the measurement as a dictionary for JSON."""
        return envelope("feature correction") | {
            "score": self.score_name,
            "units": list(self.units),
            "seeds": list(self.seeds),
            "windows": list(self.windows),
            "full": scores_as_json(self.full),
            "full_ensemble": self.full_ensemble,
            "information_gap": [json_number(gap) for gap in self.gap_by_depth],
            "depths": [_depth_as_json(row) for row in self.depths],
            "missing": list(self.missing),
            "notes": list(self.notes),
            "seconds": self.seconds,
        }

    def save(self, folder: str | Path) -> None:
        """Write the measurement as JSON and as text.

        Raises:
            NotWritten: if the folder can't be written.
        """
        write_files(folder, {NUMBERS: as_json(sealed(self.as_json())) + "\n", TABLE: self.as_table()})


def cell(value: Scores | None, factor: float, decimals: int) -> str:
    """Mean and standard error in a table."""
    if value is None or not math.isfinite(value.mean):
        return "-"
    error = value.standard_error
    text = f"{factor * value.mean:.{decimals}f}"
    return text if math.isnan(error) else f"{text} +- {factor * error:.{decimals}f}"


def percent(value: float | None) -> str:
    """A share in a table."""
    return "-" if value is None or not math.isfinite(value) else f"{100 * value:.1f}"


def scores_as_json(value: Scores) -> dict[str, Any]:
    """Numbers of all seeds, their mean and its standard error."""
    numbers = {"mean": value.mean, "standard_error": value.standard_error}
    return {"values": [json_number(each) for each in value.values]} | {
        name: None if math.isnan(each) else each for name, each in numbers.items()
    }


def _depth_as_json(row: DepthResult) -> dict[str, Any]:
    named = (
        "train_only", "joint", "layerwise", "train_all", "with_start", "with_train_all", "with_random",
        "with_layerwise", "alignment", "unexplained", "freezing_gap", "layerwise_gap",
    )  # fmt: skip
    return {
        "depth": row.depth,
        "unit": row.unit,
        **{name: scores_as_json(getattr(row, name)) for name in named},
        "fixed": {str(window): scores_as_json(value) for window, value in row.fixed.items()},
        "unit_correlations": [scores_as_json(value) for value in row.unit_correlations],
        "prox": list(row.prox),
        "ensemble": row.ensemble,
        "window": row.window,
        "verdict": row.verdict,
        "layerwise_verdict": row.layerwise_verdict,
        "sentences": list(row.sentences),
    }
