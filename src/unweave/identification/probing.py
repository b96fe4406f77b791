"""The first questions: how exact the answers are, in which units, and how fast the function changes."""

from dataclasses import dataclass, field, replace
from itertools import combinations

import numpy as np
from jaxtyping import Bool, Float64

from unweave.activations import IDENTITY
from unweave.arrays import Values, spread_of_columns
from unweave.exceptions import StageFailed
from unweave.identification import answer_reasons
from unweave.identification.answers import AnswerPool, Asking
from unweave.identification.rounding import RoundingLook
from unweave.identification.session import Session
from unweave.networks.network import Network
from unweave.oracles.ledger import AnswerKind, KindLook, common_step
from unweave.oracles.logits import LogitsOracle
from unweave.oracles.oracle import Oracle
from unweave.oracles.views import (
    ROUNDING_DEVIATION,
    AnswerDigits,
    NoiseFloor,
    NoiseLook,
    StandardOracle,
    answer_rounding,
    are_probabilities,
    last_digits,
    rounding_error,
    standardise,
)
from unweave.result import at_most


@dataclass(frozen=True)
class FunctionScale:
    """What a few second differences say about the function, in standard units.

    Args:
        second: root mean square of the second derivative along random lines.
        fourth: size of the fourth derivative, the largest seen (at least what the noise can hide).
        roughness: relative change of the second difference from the finest rung to the next; small
            for a smooth function, of order one across a kink.
        is_straight: whether the function was straight on a short line and bent on a longer one around it.
        noise: standard deviation of an answer, root mean square over the outputs.
        steps: the smallest and the largest step of differences, in half-widths of the domain; chosen: points stay in
            the domain, and rounding of points is far below the step.
    """

    second: float
    fourth: float
    roughness: float
    is_straight: bool
    noise: float
    steps: tuple[float, float] = (1e-5, 0.3)

    @property
    def hessian_step(self) -> float:
        """Step that balances rounding ``1.6 noise / h^2`` against truncation ``h^2 f''''/6``."""
        return float(np.clip((10.0 * self.noise / self.fourth) ** 0.25, *self.steps))

    @property
    def hessian_error(self) -> float:
        """Expected error of one entry of a measured Hessian."""
        h = self.hessian_step
        return 1.6 * self.noise / h**2 + h**2 * self.fourth / 6.0

    def of_difference(self, share: float) -> "FunctionScale":
        """The scale of what a model leaves unexplained, a small share of the function."""
        return replace(self, second=share * self.second, fourth=share * self.fourth)


@dataclass(frozen=True)
class Flatness:
    """How straight and how level a function is around random places.

    Args:
        share: of the places that tell, those that are straight on a short line but bent on a long one: close to 1 for
            piecewise linear functions, 0 for smooth curved ones and for affine ones.
        telling: how many places could tell.
        slope: the median of the slopes along the lines, in standard units.
    """

    share: float
    telling: int
    slope: float


@dataclass(frozen=True, kw_only=True)
class BendLook:
    """Settings of second differences that look at the function. Distances are in half-widths of the domain.

    Args:
        lines: that the scale of the function is read from: one may cross a zero of its curvature.
        ladder: half-widths of the differences on them; chosen: the longest leaves room for lines in the domain.
        visible: fourth derivatives, in units of what noise makes of them, from which on they are seen; chosen.
        assumed: the fourth derivative in these units if none is seen; chosen: a step of differences that is too small
            costs little, one that is too large shows neurons that do not exist.
        places: where it is looked for kinks.
        short: distances of that look that should miss kinks, and on which smooth functions should bend visibly: at
            least, at most, and in square roots of the noise; chosen.
        long: distance of that look at which kinks should be met; chosen.
        straight: bends up to this many times the noise are none, nor are those up to `straight_share`; chosen.
        straight_share: bends up to this share of what smooth functions show are none; chosen.
        telling_share: of what smooth functions show that must stand out from the noise, or a place tells nothing;
            chosen: their curvature there may be a third of that farther away.
    """

    lines: int = 2
    ladder: tuple[float, ...] = (0.0125, 0.05, 0.2, 0.5)
    visible: float = 5.0
    assumed: float = 0.1
    places: int = 16
    short: tuple[float, float, float] = (1e-3, 0.15, 30.0)
    long: float = 0.5
    straight: float = 20.0
    straight_share: float = 0.01
    telling_share: float = 0.3

    def points(self, oracle: Oracle, rng: np.random.Generator) -> Float64[np.ndarray, "points inputs"]:
        """Choose the points, in standard coordinates, whose answers `scale` needs: 9 on each of two lines."""
        bases, ladder = oracle.domain.sample_standard(rng, self.lines, oracle.inputs, self.ladder[-1]), self.ladder
        return _on_lines(bases, np.array([0.0, *ladder, *(-rung for rung in ladder)]), rng)

    def scale(self, values: Values, *, noise: Float64[np.ndarray, "outputs"]) -> FunctionScale:
        """Read the scale of the function off the answers at `points`.

        The fourth derivative comes from pairs of second differences that rise above the noise.

        Assumes: the function is smooth on the scale of the domain. Guarantees: heuristic.
        """
        ladder, rungs = np.array(self.ladder), len(self.ladder)
        table = values.reshape(self.lines, 2 * rungs + 1, -1)
        second = (table[:, 1 : rungs + 1] + table[:, rungs + 1 :] - 2 * table[:, :1]) / (ladder**2)[:, None]
        fine, coarse = ladder[:-1] ** 2, ladder[1:] ** 2
        # Per line and pair of rungs; one line may cross a zero, so the larger line counts.
        pairs = 12.0 * np.diff(second, axis=1) / (coarse - fine)[:, None]
        fourth = np.max(np.sqrt(np.mean(pairs**2, axis=2)), axis=0)
        level = float(np.sqrt(np.mean(noise**2)))
        # A second difference has ``sqrt(6)`` times the noise of an answer.
        hidden = 12.0 * 2.5 * level / (fine * (coarse - fine))
        visible = fourth > self.visible * hidden
        sizes = np.sqrt(np.mean(second**2, axis=(0, 2)))
        change = float(np.sqrt(np.mean(np.diff(second, axis=1) ** 2, axis=(0, 2)))[0])
        return FunctionScale(
            second=float(sizes[int(np.argmax(visible)) if np.any(visible) else -1]),
            fourth=float(max(np.max(fourth[visible], initial=self.assumed * hidden[-1]), np.finfo(float).tiny)),
            roughness=change / max(float(np.max(sizes)), 2.5 * level / ladder[0] ** 2, np.finfo(float).tiny),
            is_straight=self._is_straight_somewhere(np.max(np.abs(second), axis=2) * ladder**2, level),
            noise=level,
        )

    def flatness(self, oracle: StandardOracle, noise: float, rng: np.random.Generator) -> Flatness:
        """Look how straight and how level the function is around random places: 5 queries each."""
        least, most, by_noise = self.short
        short, long = float(np.clip(by_noise * np.sqrt(noise), least, most)), self.long
        bases = oracle.sample(rng, self.places, margin=long)
        offsets = np.array([0.0, short, -short, long, -long])
        table = oracle.query(_on_lines(bases, offsets, rng)).reshape(self.places, len(offsets), -1)
        bend_short = np.max(np.abs(table[:, 1] + table[:, 2] - 2 * table[:, 0]), axis=1)
        bend_long = np.max(np.abs(table[:, 3] + table[:, 4] - 2 * table[:, 0]), axis=1)
        is_straight, is_telling = self._straight_but_bent(bend_short, bend_long, short / long, noise)
        telling = int(np.count_nonzero(is_telling))
        slopes = np.max(np.abs(table[:, 1] - table[:, 2]), axis=1) / (2.0 * short)
        return Flatness(float(np.count_nonzero(is_straight) / max(telling, 1)), telling, float(np.median(slopes)))

    def _is_straight_somewhere(self, bends: Float64[np.ndarray, "lines rungs"], noise: float) -> bool:
        """Whether some line is straight up to one rung of the ladder and bent on a later one."""
        return any(
            bool(np.any(self._straight_but_bent(bends[:, i], bends[:, j], self.ladder[i] / self.ladder[j], noise)[0]))
            for i, j in combinations(range(len(self.ladder)), 2)
        )

    def _straight_but_bent(
        self, short: np.ndarray, long: np.ndarray, ratio: float, noise: float
    ) -> tuple[Bool[np.ndarray, "places"], Bool[np.ndarray, "places"]]:
        """Whether second differences over a short distance vanish where those over a long one do not; and who can tell.

        Differences are absolute, `ratio` is that of the distances, and smooth functions bend by about its square.
        """
        smooth = ratio**2 * long
        is_telling = self.telling_share * smooth > self.straight * noise
        return is_telling & (short <= np.maximum(self.straight * noise, self.straight_share * smooth)), is_telling


def _on_lines(
    bases: Float64[np.ndarray, "lines inputs"], offsets: Float64[np.ndarray, "offsets"], rng: np.random.Generator
) -> Float64[np.ndarray, "points inputs"]:
    """Points at the same distances from every base, on a line in a random direction."""
    directions = rng.standard_normal(bases.shape)
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    return (bases[:, None] + offsets[:, None] * directions[:, None]).reshape(-1, bases.shape[1])


@dataclass(frozen=True)
class Probe:
    """What the first answers say: units, noise, and the scale of the function.

    Args:
        oracle: in standard coordinates.
        answers: all answers that may be fitted.
        scale: of the function, near the centre of the domain.
        rounding: error of an answer relative to the size of the terms that it adds up.
        digits: what answers are rounded to.
        lines: the answers on the lines that have told the noise.
        gives_logits: whether answers are probabilities, so that the logits behind them are identified.
        kinds: the grids that answers were rounded to, per output; None where no grid was seen.
        plateau_step: step of a grid, relative to the spread of the answers, from which on they seem constant around
            places: those of float16 and coarser; chosen.
    """

    oracle: StandardOracle
    answers: AnswerPool
    scale: FunctionScale
    rounding: float
    digits: AnswerDigits
    lines: Float64[np.ndarray, "lines points outputs"]
    gives_logits: bool = False
    kinds: tuple[AnswerKind | None, ...] = ()
    plateau_step: float = 1e-4

    @property
    def answer_error(self) -> float:
        """Expected error of an answer, with the rounding of what was subtracted to centre the answers."""
        return self.scale.noise + self.rounding * float(np.max(np.abs(self.oracle.offset / self.oracle.size)))

    @property
    def rounded_to(self) -> AnswerKind | None:
        """The grid that the answers of a single output were rounded to; None if they count as exact, or are several.

        Whatever is made for rounded answers asks this before it begins.
        """
        return self.kinds[0] if len(self.kinds) == 1 else None

    @property
    def are_plateaus_of_rounding(self) -> bool:
        """Whether steps of a grid that some output was rounded to are so large that places seem constant nearby."""
        steps = [
            float(kind.step(np.array([offset + size]))[0] / size)
            for kind, offset, size in zip(self.kinds, self.oracle.offset, self.oracle.size, strict=False)
            if kind is not None
        ]
        return max(steps, default=0.0) > self.plateau_step

    @property
    def spreads(self) -> Float64[np.ndarray, "outputs"]:
        """Standard deviation of fresh answers, per output; infinite where they are constant up to rounding."""
        return self.digits.spreads(*self.answers.unseen)

    @property
    def changes_rarely(self) -> bool:
        """Whether an output was the same at all fresh points and changes at others: its spread is not known."""
        return bool(np.any(self.digits.changes_rarely(*self.answers.unseen)))

    @property
    def same_outputs(self) -> dict[int, float]:
        """Outputs that were the same wherever they were asked, beside others that were not, and what they were."""
        oracle = self.oracle
        values = np.concatenate([self.answers.values * oracle.size, self.answers.unseen[1]])
        is_same = np.ptp(values, axis=0) == 0.0
        chosen = np.flatnonzero(is_same) if not np.all(is_same) else []
        return {int(output): float(values[0, output] + oracle.offset[output]) for output in chosen}

    def with_constants(self, network: Network) -> Network:
        """Give outputs that were always the same no weights at all, where a fit leaves those of its rounding."""
        outputs, last = self.same_outputs, network.layers[-1]
        if not outputs or last.activation != IDENTITY:
            return network
        weights, biases, rows = last.weights.copy(), last.biases.copy(), list(outputs)
        weights[rows], biases[rows] = 0.0, list(outputs.values())
        skip = None if network.skip is None else network.skip.copy()
        if skip is not None:
            skip[rows] = 0.0
        return Network((*network.layers[:-1], replace(last, weights=weights, biases=biases)), skip)

    @property
    def may_hide_changes(self) -> Bool[np.ndarray, "outputs"]:
        """Whether constant answers may be those of a function that changes: they differ, or have few digits."""
        ledger = self.oracle.oracle.ledger
        return (ledger.answer_digits > np.finfo(float).eps) | (np.ptp(self.answers.unseen[1], axis=0) > 0.0)


@dataclass(frozen=True)
class Probing:
    """Settings of the first questions: how exact the answers are, in which units, and how fast the function changes.

    Args:
        largest_repeat: change on asking again, relative to the spread of the answers, above which there is no function.
        largest_noise: error of an answer, relative to that spread, above which nothing is identified: what it would
            excuse may be as large as a neuron.
        spread_points: places that the units of the answers are chosen from, beside those of the first lines.
        noise_look: how exact the answers are.
        bend_look: how fast the function changes.
        rounding_look: how answers that were rounded are told from steps.
        kind_look: how it is told what they were rounded to.
        asking: how many answers fits and certificates get.

    Heuristic: no formula gives these numbers; planted networks in tests and benchmarks are what they were checked on.
    """

    largest_repeat: float = 1e-2
    largest_noise: float = 0.025
    spread_points: int = 12
    noise_look: NoiseLook = field(default_factory=NoiseLook)
    bend_look: BendLook = field(default_factory=BendLook)
    rounding_look: RoundingLook = field(default_factory=RoundingLook)
    kind_look: KindLook = field(default_factory=KindLook)
    asking: Asking = field(default_factory=Asking)

    def __call__(self, session: Session) -> Probe:
        """Measure the noise, choose units, and look at the function's scale; all answers are kept.

        Raises:
            StageFailed: if the answers change between calls.
        """
        asked, rng = session.oracle, session.rng_probe
        noise = self.noise_look(asked, rng)
        self._check_repeats(session, noise)
        gives_logits = are_probabilities(noise.values)
        if gives_logits:
            asked = LogitsOracle(asked)
            session.notes.append(answer_reasons.gives_logits())
            noise = self.noise_look(asked, rng)
        center, half_width = asked.domain.frame(asked.inputs)
        lines = self.bend_look.points(asked, rng)
        spread = asked.domain.sample_standard(rng, self.spread_points, asked.inputs, 0.0)
        values = asked.query(center + half_width * np.concatenate([lines, spread]))
        values = np.concatenate([noise.values, values])
        oracle = standardise(asked, values, scatter=noise.scatter)
        standard = (values - oracle.offset) / oracle.size
        first, last = len(noise.values), len(noise.values) + len(lines)
        answers = AnswerPool(oracle, session.rng_fit, session.rng_fresh, asking=self.asking)
        answers.keep(np.concatenate([oracle.to_standard(noise.points), lines]), standard[:last], are_spread=False)
        answers.keep(spread, standard[last:], are_spread=True)
        kinds = () if gives_logits else self.kind_look(values)
        digits = self._rounding_of(session, noise, oracle, kinds, gives_logits=gives_logits)
        if not digits.are_rounded:
            # Steps of such heights are no rounding.
            kinds = tuple(kind if kind is not None and kind.is_relative else None for kind in kinds)
        noise = noise.at_least(np.maximum(rounding_error(asked, noise.magnitude), ROUNDING_DEVIATION * digits.unit))
        self._check_noise(session, noise, oracle, digits)
        scale = self.bend_look.scale(standard[first:last], noise=noise.deviation / oracle.size)
        near = np.array(np.split(standard[: 2 * self.noise_look.line_points], 2))
        if any(kinds):
            session.notes += answer_reasons.rounded_as(kinds)
        return Probe(oracle, answers, scale, answer_rounding(asked), digits, near, gives_logits, kinds)

    def _rounding_of(
        self,
        session: Session,
        noise: NoiseFloor,
        oracle: StandardOracle,
        kinds: tuple[AnswerKind | None, ...],
        *,
        gives_logits: bool,
    ) -> AnswerDigits:
        """Look how answers were rounded, which more of them tell than the noise was measured on."""
        asked, ledger = oracle.oracle, session.oracle.ledger
        digits = AnswerDigits(last_digits(asked, noise.values), noise.scatter)
        if ledger.answer_digits > np.finfo(float).eps:
            error = float(np.max(rounding_error(asked, noise.magnitude) / oracle.size))
            session.note_rounding(answer_reasons.rounded_digits(ledger.answer_digits, error))
        step = ledger.grid.step or common_step(kinds)
        if step == 0.0 or gives_logits:
            return digits
        # Decimals that change from each point to the next are no heights of steps.
        is_sloped = common_step(kinds) > 0.0 and self.noise_look.changes_everywhere(noise.values)
        if not is_sloped and not self.rounding_look(asked, step, session.rng_probe.spawn(1)[0]):
            return digits
        digits = replace(digits, unit=np.maximum(digits.unit, step), are_rounded=True)
        error = float(np.max(ROUNDING_DEVIATION * digits.unit / oracle.size))
        session.note_rounding(answer_reasons.rounded_to_multiples(step, error))
        return digits

    def _check_noise(self, session: Session, noise: NoiseFloor, oracle: StandardOracle, digits: AnswerDigits) -> None:
        level = float(np.max(noise.deviation / oracle.size))
        session.diagnostics.append(
            at_most(
                "error of an answer, relative to the spread",
                level,
                self.largest_noise,
                "neighbouring answers must follow a smooth or piecewise linear function, up to noise that hides little",
            )
        )
        if not level <= self.largest_noise:
            if digits.are_cause(float(np.max(noise.scatter / oracle.size)), oracle.size):
                session.note_rounding("")
                raise StageFailed(answer_reasons.too_coarse(digits.unit, oracle.size, level, self.largest_noise))
            raise StageFailed(answer_reasons.too_rough(level, self.largest_noise, is_repeatable=noise.is_deterministic))

    def _check_repeats(self, session: Session, noise: NoiseFloor) -> None:
        spread = float(np.max(spread_of_columns(noise.values)))
        session.diagnostics.append(
            at_most(
                "change when asked again, relative to the spread",
                noise.repeat_spread / spread if spread > 0 else 0.0,
                self.largest_repeat,
                "a black box that answers at random is not a function",
            )
        )
        if noise.repeat_spread > self.largest_repeat * spread:
            raise StageFailed(answer_reasons.changing_answers(noise, spread))
