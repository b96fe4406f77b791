"""The search for a relu network behind samples: which starts are tried in which order, and which candidate is taken."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import islice

import numpy as np
import scipy  # its parts are loaded when first used

from unweave.learn.relu_network.candidates import Finisher, JudgedNetwork
from unweave.learn.relu_network.growth import Growth
from unweave.learn.relu_network.missing_neurons import NextNeuron
from unweave.learn.relu_network.starts import (
    Attempt,
    FirstLook,
    Moments,
    StartRules,
    affine_network,
    attempts,
    start_of,
)
from unweave.learn.relu_network.units import with_labels_in
from unweave.learn.stages import Stages


@dataclass(frozen=True, eq=False)
class SearchedNetwork:
    """The best candidate, and what its fit started from.

    Args:
        best: the candidate.
        is_grown: whether its neurons were added one by one, without moments.
    """

    best: JudgedNetwork
    is_grown: bool


@dataclass(frozen=True, eq=False)
class SearchedSamples:
    """What a search works on.

    Args:
        moments: of the samples.
        look: what those of order up to two say.
        finisher: finishes starts, and judges them.
        rng: for decompositions, and places of neurons.
        stages: the record of the run.
        spread: unit of the labels.
        neurons: their number, or None to find it.
    """

    moments: Moments
    look: FirstLook
    finisher: Finisher
    rng: np.random.Generator
    stages: Stages
    spread: float
    neurons: int | None


@dataclass(frozen=True, kw_only=True)
class NetworkSearch:
    """Settings of the search.

    Args:
        starts: how moments are measured, and networks read from them.
        growth: starts by adding neurons one by one, which asks nothing of the inputs.
        further: looks for neurons that no start has shown in noisy labels.
        most_attempts: numbers of neurons that are tried with moments at most; chosen, for the time.
        rows_per_number: of a network, below which it is not fitted; chosen, and `ReluClaims` allows for it.
    """

    starts: StartRules = field(default_factory=StartRules)
    growth: Growth = field(default_factory=Growth)
    further: NextNeuron = field(default_factory=NextNeuron)
    most_attempts: int = 12
    rows_per_number: int = 3

    def __call__(self, samples: SearchedSamples) -> SearchedNetwork:
        """Find the best of the candidates that nothing speaks against; otherwise the one with the least unseen error.

        Moments come first: from exact labels they lead to the network in no time. Behind noise local search sees weaker
        neurons, so that it is always asked; more of the moments only where it does not explain the labels either.
        """
        finisher, rng = samples.finisher, samples.rng
        low = samples.look.moments.whole
        affine = with_labels_in(affine_network(low.entries(1), low.entries(0)), samples.spread)
        with samples.stages("finishing"):
            finished = finisher.settings.finish(affine, finisher.fitted.points, finisher.fitted.values)
            if finished.is_exact:
                without_neurons = finisher.judged(affine, finished.network, finished, rng)
                if without_neurons.is_exact:
                    return SearchedNetwork(without_neurons, False)
        from_moments = self._from_moments(samples)
        tried = list(islice(from_moments, 1))
        if tried and tried[0].is_exact and tried[0].is_good:
            return SearchedNetwork(tried[0], False)
        with samples.stages("growing"):
            grown = self.growth(finished.network, finisher.fitted.points, finisher.fitted.values, rng)
            if grown.widths[0] and self._has_rows_for(grown.widths[0], grown.inputs, finisher):
                tried.append(finisher.screened(grown, rng))
        if not any(candidate.explains for candidate in tried):
            for candidate in from_moments:
                tried.append(candidate)
                if candidate.is_good:
                    break
        with samples.stages("further neurons"):
            good = [finisher.completed(candidate, rng) for candidate in tried if candidate.is_good]
            if good:
                best = self._with_hidden(min(good, key=_criterion), finisher, rng)
            else:
                # Judged last: the test of what an affine function leaves takes as long as a fit.
                without_neurons = finisher.judged(affine, finished.network, finished, rng)
                best = min([without_neurons, *tried], key=lambda each: each.unseen_error)
                best = finisher.completed(self._extended(best, finisher, rng), rng)
        return SearchedNetwork(best, best.start is grown)

    def _from_moments(self, samples: SearchedSamples) -> Iterator[JudgedNetwork]:
        """Candidates, likeliest first."""
        look, rng, stages = samples.look, samples.rng, samples.stages
        plans: list[Attempt] = list(attempts(look, neurons=samples.neurons, rules=self.starts))
        if samples.neurons is not None:
            # If the given number is wrong, what the samples show tells so.
            plans += attempts(look, neurons=None, rules=self.starts)
        for attempt in plans[: self.most_attempts]:
            subspace = look.subspace(attempt.rank, rules=self.starts.directions)
            with stages("moments of higher order"):
                within = samples.moments.within(subspace, look, degree=2 * attempt.order + 2)
            with stages("directions and biases"):
                start = start_of(attempt, within, rng, rules=self.starts)
            if start is None or not self._has_rows_for(start.widths[0], start.inputs, samples.finisher):
                continue
            whole = with_labels_in(look.outside_subspace(start, subspace), samples.spread)
            with stages("finishing"):
                candidate = samples.finisher.screened(whole, rng)
            yield candidate

    def _has_rows_for(self, neurons: int, inputs: int, finisher: Finisher) -> bool:
        """Whether there are enough rows for a fit of so many neurons."""
        return len(finisher.fitted.labels) >= self.rows_per_number * (neurons + 1) * (inputs + 1)

    def _with_hidden(self, best: JudgedNetwork, finisher: Finisher, rng: np.random.Generator) -> JudgedNetwork:
        """Neurons that noise hides from the test of residuals, but not from a fit of one neuron more."""
        for _ in range(self.further.most):
            if best.is_exact or not self._has_rows_for(best.neurons + 1, best.network.inputs, finisher):
                break
            more = self.further(best.network, finisher.fitted.points, finisher.fitted.values, rng)
            # What one neuron more gains by chance, as twice as many parameters would: its place is searched for.
            false_alarm = finisher.settings.rules.residuals.false_alarm
            chance = scipy.stats.chi2.isf(false_alarm, 2 * (more.inputs + 2)) / len(finisher.fitted.labels)
            candidate = finisher.with_all_neurons(more, rng, below=best.noise / float(np.sqrt(1.0 + chance)))
            if candidate is None:
                break
            best = replace(candidate, start=best.start)
        return best

    def _extended(self, best: JudgedNetwork, finisher: Finisher, rng: np.random.Generator) -> JudgedNetwork:
        """Neurons that no start has shown, added one by one as long as unseen rows are better explained."""
        for _ in range(self.further.most):
            if best.structure is None or best.structure.is_noise:
                break
            if not self._has_rows_for(best.neurons + 1, best.network.inputs, finisher):
                break
            more = self.further(best.network, finisher.fitted.points, finisher.fitted.values, rng)
            candidate = replace(finisher.screened(more, rng), start=best.start)
            if not candidate.unseen_error < best.unseen_error:
                break
            best = candidate
        return best


def _criterion(candidate: JudgedNetwork) -> tuple[float, float]:
    """Exact labels first; then the information criterion of Schwarz, which weighs noise against numbers."""
    if candidate.is_exact:
        return -np.inf, float(candidate.neurons)
    numbers = (candidate.neurons + 1) * (candidate.network.inputs + 1)
    return 2.0 * candidate.rows * float(np.log(candidate.noise)) + numbers * float(np.log(candidate.rows)), 0.0


def describe_fit(found: SearchedNetwork) -> list[str]:
    """Say what the fit started from, and how many rows it rests on; nothing without neurons."""
    if not found.best.neurons:
        return []
    start = "The fit started from Hermite moments, which ask for Gaussian inputs."
    if found.is_grown:
        start = (
            "The fit started from neurons that were added one by one where they explained most of what was left, which "
            "asks nothing of the distribution of the inputs."
        )
    return [start, f"The last fit used {found.best.rows:,} rows; the others choose and judge."]
