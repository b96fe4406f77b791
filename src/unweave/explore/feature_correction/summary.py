"""From the records of trainings to the result."""

from collections.abc import Callable, Sequence

import numpy as np

from unweave.explore.feature_correction.plan import Plan, Training
from unweave.explore.feature_correction.records import FEATURE_COMPARISON, Record
from unweave.explore.feature_correction.result import DepthResult, FeatureCorrection
from unweave.explore.feature_correction.samples import Samples
from unweave.explore.feature_correction.similarity import weight_correlation
from unweave.explore.feature_correction.statistics import SEED_RULES, Conclusion, Scores, scores
from unweave.explore.feature_correction.store import Store
from unweave.explore.feature_correction.subjects import Subject
from unweave.explore.feature_correction.trust import Comparison, chance_score

# Added to a seed for random weights that have nothing to do with those of any seed in use.
OTHER_SEED = 1_000_003


class Summary:
    """Reads records, and makes tables of them.

    Args:
        plan: what was to be measured.
        subject: what was measured.
        samples: on which.
        store: holds the records.
        tolerance: differences of scores that do not matter.
        window_errors: standard errors within which a window counts as good as the full model; two, about those of an
            interval of 95 %.
    """

    def __init__(
        self,
        plan: Plan,
        subject: Subject,
        samples: Samples,
        store: Store,
        *,
        tolerance: float,
        window_errors: float = 2.0,
    ) -> None:
        self.plan, self.subject, self.samples, self.store = plan, subject, samples, store
        self.tolerance, self.window_errors = tolerance, window_errors
        self.starts = [(subject.start(seed), subject.start(seed + OTHER_SEED)) for seed in plan.seeds]

    def result(self) -> FeatureCorrection:
        """Everything that the records tell."""
        plan, trainings = self.plan, self.plan.trainings()
        records = {training.name: self.store.record(training) for training in trainings}
        missing = tuple(name for name, record in records.items() if record is None)
        done = [record for record in records.values() if record is not None]
        return FeatureCorrection(
            units=self.subject.units,
            seeds=plan.seeds,
            windows=plan.windows,
            is_classification=self.samples.is_classification,
            depths=tuple(self._depth(depth) for depth in plan.depths),
            full=self._scores(lambda seed: plan.only(seed, plan.units)),
            full_ensemble=self._ensemble(plan.units),
            missing=missing,
            notes=self._notes(len(trainings), len(missing), done),
            seconds=sum(record.seconds for record in done),
        )

    def _depth(self, depth: int) -> DepthResult:
        plan = self.plan
        only = self._scores(lambda seed: plan.only(seed, depth))
        joint = self._scores(lambda seed: plan.joint(seed, depth))
        layerwise = self._scores(lambda seed: plan.layerwise(seed, depth))
        fixed, best = {}, [None] * len(plan.seeds)
        if depth in plan.inner_depths:
            fixed = {w: self._scores(lambda seed, w=w: plan.fix(seed, depth, w)) for w in plan.windows_at(depth)}
            best = [self._best(seed, depth) for seed in plan.seeds]
        records = [None if each is None else each[1] for each in best]
        train_all = scores([None if each is None else each.score for each in records])
        units = range(depth) if depth in plan.inner_depths else ()
        has_layerwise = plan.has_layerwise and depth > 1
        return DepthResult(
            depth=depth,
            unit=self.subject.units[depth - 1],
            train_only=only,
            joint=joint,
            layerwise=layerwise,
            fixed=fixed,
            train_all=train_all,
            prox=tuple(each[0] for each in best if each is not None),
            with_start=self._scores(lambda seed: plan.only(seed, depth), lambda record: _mean(record.with_start)),
            with_train_all=scores([None if each is None else _mean(each.with_other) for each in records]),
            with_random=self._random(depth),
            with_layerwise=self._layerwise_correlation(depth),
            unit_correlations=tuple(
                scores([None if r is None else _at(r.with_other, k) for r in records]) for k in units
            ),
            alignment=scores([None if each is None else each.alignment for each in records]),
            unexplained=scores([None if each is None else each.unexplained for each in records]),
            ensemble=self._ensemble(depth),
            freezing=self._freezing(depth, train_all, fixed[0], records) if 0 in fixed and plan.prox else None,
            greedy=self._greedy(depth, joint, layerwise) if has_layerwise else None,
            window=self._window(fixed),
            is_last=depth == plan.units,
        )

    def _freezing(self, depth: int, free: Scores, frozen: Scores, records: Sequence[Record | None]) -> Conclusion:
        """Whether units that were trained alone can be frozen, if trainings may be compared at all."""
        plan, parts = self.plan, {}
        for each in plan.depths:
            if each < plan.units:
                parts[f"the first {each} alone"] = self._scores(lambda seed, each=each: plan.only(seed, each))
            if plan.has_layerwise and each > 1:
                parts[f"{each} one by one"] = self._scores(lambda seed, each=each: plan.joint(seed, each))
        fixed = [self.store.record(plan.fix(seed, depth, 0)) for seed in plan.seeds]
        return Comparison(
            free=free,
            frozen=frozen,
            parts=parts,
            whole=self._scores(lambda seed: plan.only(seed, plan.units)),
            chance=chance_score(self.samples),
            late_progress=_late([*records, *fixed]),
            # Frozen units have had a training of their own, but the whole model unit by unit had still more.
            has_equal_budgets=plan.has_layerwise and plan.units in plan.depths,
            tolerance=self.tolerance,
        ).conclusion()

    def _greedy(self, depth: int, joint: Scores, layerwise: Scores) -> Conclusion:
        """Whether units can be frozen one after the other; both trainings had the same budget at every step."""
        plan = self.plan
        lower = {f"{each} one by one": each for each in plan.depths if each < depth}
        kept = [self.store.record(train(seed, depth)) for train in (plan.joint, plan.layerwise) for seed in plan.seeds]
        return Comparison(
            free=joint,
            frozen=layerwise,
            parts={name: self._scores(lambda seed, each=each: plan.joint(seed, each)) for name, each in lower.items()},
            whole=joint,
            chance=chance_score(self.samples),
            late_progress=_late(kept),
            has_equal_budgets=True,
            tolerance=self.tolerance,
        ).conclusion()

    def _scores(
        self,
        training: Callable[[int], Training],
        number: Callable[[Record], float | None] = lambda record: record.score,
    ) -> Scores:
        records = [self.store.record(training(seed)) for seed in self.plan.seeds]
        return scores([None if record is None else number(record) for record in records])

    def _best(self, seed: int, depth: int) -> tuple[float, Record] | None:
        """The strength of the pull that validation rows prefer, once all are there."""
        found = [(prox, self.store.record(self.plan.all(seed, depth, prox))) for prox in self.plan.prox]
        known = [(prox, record) for prox, record in found if record is not None]
        if not known or len(known) < len(self.plan.prox):
            return None
        # The first of equals: strengths are tried in the order in which they were given.
        return max(known, key=lambda pair: _preference(pair[1]))

    def _window(self, fixed: dict[int, Scores]) -> int | None:
        full = self._scores(lambda seed: self.plan.only(seed, self.plan.units))
        for window, value in sorted(fixed.items()):
            loss = full.minus(value)
            enough = max(self.tolerance, self.window_errors * loss.standard_error)
            if len(loss.values) >= SEED_RULES.least and loss.mean <= enough:
                return window
        return None

    def _layerwise_correlation(self, depth: int) -> Scores:
        if depth == 1:
            return Scores(())
        return self._scores(lambda seed: self.plan.layerwise(seed, depth), lambda record: _mean(record.with_other))

    def _random(self, depth: int) -> Scores:
        units = self.subject.units[:depth]
        filters = self.subject.filters
        pairs = (
            [weight_correlation(a[unit], b[unit], filters[unit], is_matched=True) for unit in units]
            for a, b in self.starts
        )
        return Scores(tuple(float(np.mean(pair)) for pair in pairs))

    def _ensemble(self, depth: int) -> float | None:
        trainings = [self.plan.only(seed, depth) for seed in self.plan.seeds]
        if any(self.store.record(training) is None for training in trainings):
            return None
        outputs = [self.store.trained(training).test_outputs.astype(np.float64) for training in trainings]
        if self.samples.is_classification:
            outputs = [_probabilities(each) for each in outputs]
        score = self.samples.score(np.mean(outputs, axis=0), self.samples.test_labels)
        return score if np.isfinite(score) else None

    def _notes(self, asked: int, missing: int, done: Sequence[Record]) -> tuple[str, ...]:
        notes = [f"Units, lowest first: {', '.join(self.subject.units)}."]
        if missing:
            notes.append(f"{missing} of {asked} trainings are missing: run again with the same folder to go on.")
        if len(self.plan.seeds) < SEED_RULES.least:
            notes.append(
                f"{len(self.plan.seeds)} seeds were asked for: nothing is concluded from fewer than {SEED_RULES.least}."
            )
        diverged = sum(not np.isfinite(record.score) for record in done)
        if diverged:
            notes.append(f"{diverged} trainings diverged: lower the learning rate of the recipe.")
        if any(record.with_other and record.alignment is None for record in done):
            notes.append(
                "Features of wide units were not compared: "
                f"{FEATURE_COMPARISON.rows_per_feature} test rows per feature are needed."
            )
        return tuple(notes)


def _late(records: Sequence[Record | None]) -> list[float]:
    return [each.late_progress for each in records if each is not None and each.late_progress is not None]


def _preference(record: Record) -> float:
    score = record.validation_score
    return -np.inf if score is None or np.isnan(score) else score


def _mean(values: Sequence[float]) -> float | None:
    return float(np.mean(values)) if values else None


def _at(values: Sequence[float], place: int) -> float | None:
    return values[place] if values else None


def _probabilities(outputs: np.ndarray) -> np.ndarray:
    powers = np.exp(outputs - outputs.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)
