"""Kinks of a piecewise affine function along a line, by exact extrapolation from both sides.

Between two places where the function is known to be affine, the two affine pieces are continued
until they meet. If the function agrees with both just before and just after, a single kink lies
there, and its position is exact to rounding; if not, there is more between them, and the search
goes on with a piece measured in the middle.
"""

import itertools
from collections.abc import Generator
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from unweave.arrays import PerOutput, PerPoint, Points, Values
from unweave.exceptions import StageFailed
from unweave.identification.walks.lines import Ask, Line, Search, run_searches


@dataclass(frozen=True)
class Piece:
    """An affine function of the position, fitted to answers on a line.

    Args:
        positions: where answers were seen, in order.
        values: the answers.
        errors: their expected errors.
    """

    positions: PerPoint
    values: Values
    errors: PerPoint

    @property
    def first(self) -> float:
        """The first position."""
        return float(self.positions[0])

    @property
    def last(self) -> float:
        """The last position."""
        return float(self.positions[-1])

    @cached_property
    def _fit(self) -> tuple[float, float, np.ndarray, np.ndarray, float]:
        """Centre, spread, value, slope and error, all weighted by accuracy."""
        accuracy = self.errors**-2.0
        weights = accuracy / np.sum(accuracy)
        center = float(weights @ self.positions)
        offsets = self.positions - center
        spread = float(weights @ offsets**2)
        # Rounding does not average out, so that many answers are not better than one.
        error = float(np.sqrt(len(weights) / np.sum(accuracy)))
        value = weights @ self.values
        slope = (weights * offsets) @ (self.values - value) / spread
        return center, float(np.sqrt(spread)), value, slope, error

    @property
    def slope(self) -> PerOutput:
        """The slope of every output."""
        return self._fit[3]

    def at(self, position: float) -> PerOutput:
        """The piece continued to a position."""
        center, _, value, slope, _ = self._fit
        return value + (position - center) * slope

    def error(self, position: float) -> float:
        """Expected error of the piece continued to a position."""
        center, spread, _, _, error = self._fit
        return error * (1.0 + abs(position - center) / spread)

    def joined(self, other: "Piece") -> "Piece":
        """The piece that fits both, the other one farther on."""
        return Piece(
            np.concatenate([self.positions, other.positions]),
            np.concatenate([self.values, other.values]),
            np.concatenate([self.errors, other.errors]),
        )


@dataclass(frozen=True)
class Kink:
    """Where two affine pieces meet, or a place that is too narrow to look into (`is_resolved` false)."""

    position: float
    is_resolved: bool
    width: float


@dataclass(frozen=True)
class KinkedLine:
    """What was met on a line: the kinks in order, and the affine pieces between them.

    Args:
        line: the line.
        kinks: in order of their position.
        pieces: one more than kinks, in order, fitted to all answers between two kinks.
    """

    line: Line
    kinks: tuple[Kink, ...]
    pieces: tuple[Piece | None, ...]


@dataclass(frozen=True)
class KinkSearch:
    """Settings of the search for kinks along a line.

    Args:
        noise: standard deviation of an answer.
        rounding: error of an answer relative to the size of the terms that it adds up.
        blur: half-width, as an angle, of a kink that is rounded off (0: sharp).
        step: smallest step of gradients beside a kink, relative to the distance of the next one. A step
            along an axis crosses the hyperplane of a kink that is nearly parallel to the line, so that
            smaller is safer; far out, where a small error of a direction is a large one of a place,
            larger is more exact.
        margin: tolerated difference in units of the expected error: chance exceeds six standard deviations in 2e-9 of
            all comparisons, and a walk makes some thousand.
        smallest_angle: kinks closer than this are not told apart: on so short a piece, rounding to 4e-16 leaves slopes
            with four digits at most.
        sharp: a kink is believed if its place is known to this share of the angle that was searched; chosen: if not, it
            is looked at again from nearby.
        free_queries: of a search without kinks, beyond which it does not end: between any two places the function
            bends; chosen.
        queries_per_kink: the same for every kink that was found: ten times as many as are normal.
        gradient_error: relative error that a gradient may have, where the noise allows it: signs are chosen up to this
            (`refined_with_signs`), and fits go on from there.
        largest_step: of the differences, relative to the distance of the nearest kink on the line: a step along an axis
            then meets its hyperplane only if that is within two degrees of the line.
        second_step: factor of a step for gradients that do not fit the slope along the line; chosen: a tenth crosses a
            tenth as many hyperplanes.
        outer_angle: how far from the outermost kinks their gradients are measured; chosen.
        poor: expected error of a normal above which its kink is read again, where that is possible: in a room of a few
            hundred inputs it moves a hyperplane by a share of the distance of the next one.
        largest_error: of a normal, above which it is not worth keeping: six degrees; chosen.
        first_pieces: that are measured before the search begins, besides those at the two ends: kinks between two
            neighbours hide only if they cancel there, and five intervals are searched in the same batches as one.
    """

    noise: float
    rounding: float
    blur: float = 0.0
    step: float = 1e-6
    margin: float = field(default=6.0, kw_only=True)
    smallest_angle: float = field(default=1e-9, kw_only=True)
    sharp: float = field(default=0.02, kw_only=True)
    free_queries: int = field(default=2_000, kw_only=True)
    queries_per_kink: int = field(default=100, kw_only=True)
    gradient_error: float = field(default=1e-5, kw_only=True)
    largest_step: float = field(default=0.03, kw_only=True)
    second_step: float = field(default=0.1, kw_only=True)
    outer_angle: float = field(default=0.3, kw_only=True)
    poor: float = field(default=2e-4, kw_only=True)
    largest_error: float = field(default=0.1, kw_only=True)
    first_pieces: int = field(default=4, kw_only=True)

    def __call__(self, ask: Ask, line: Line) -> KinkedLine:
        """Find all kinks on a line.

        Assumes: the function is affine between kinks, up to the noise.
        Guarantees: heuristic; three or more kinks can hide if they cancel in value and slope.
        """
        return _Walk(self, ask, line).result()


class _Walk:
    """One walk: all that was asked, and the largest values and slopes that were seen."""

    def __init__(self, settings: KinkSearch, ask: Ask, line: Line) -> None:
        self._settings, self._ask, self._line = settings, ask, line
        self._positions: list[np.ndarray] = []
        self._values: list[np.ndarray] = []
        self._size = self._slope = 0.0
        self._ends = line.position(line.first), line.position(line.last)
        self._asked = self._resolved = 0
        # The share of an interval over which a slope is measured: wide enough for the noise, narrow
        # enough to miss kinks.
        relative = max(settings.noise, settings.rounding)
        self._share = float(np.clip(relative ** (1 / 6), 1e-3, 0.1))

    def result(self) -> KinkedLine:
        margin = 1e-3 * (self._line.last - self._line.first)
        angles = np.linspace(self._line.first + margin, self._line.last - margin, self._settings.first_pieces)
        angles = np.concatenate([[self._line.first], angles, [self._line.last]])
        pieces = run_searches((self._first_piece(angle, margin) for angle in angles), self._recorded)
        pieces.sort(key=lambda piece: piece.first)
        searches = [self._between(left, right) for left, right in itertools.pairwise(pieces)]
        kinks = run_searches(searches, self._recorded)
        kinks.sort(key=lambda kink: kink.position)
        return self._fitted(_merged(kinks))

    def _recorded(self, points: Points) -> Values:
        settings = self._settings
        self._asked += len(points)
        if self._asked > settings.free_queries + settings.queries_per_kink * self._resolved:
            raise StageFailed(
                f"the search for kinks on one line did not end: {self._asked - len(points)} queries showed "
                f"{self._resolved} kinks with straight pieces on both sides. The function is curved there, or bends at "
                f"more places than answers with an error of {settings.noise:.1e} of their spread tell apart."
            )
        values = self._ask(points)
        self._positions.append((points - self._line.base) @ self._line.direction)
        self._values.append(values)
        return values

    def _error(self, position: float) -> float:
        """Expected error of an answer: the noise, and the rounding of terms that grow with the position."""
        return self._settings.noise + self._settings.rounding * (self._size + self._slope * abs(position))

    def _agrees(self, piece: Piece, other: Piece) -> bool:
        """Whether a piece goes on as another, or through a single answer."""
        return all(
            float(np.max(np.abs(piece.at(position) - value))) <= self._settings.margin * (piece.error(position) + error)
            for position, value, error in zip(other.positions, other.values, other.errors, strict=True)
        )

    def _seen(self, positions: np.ndarray, values: Values) -> Piece:
        return Piece(positions, values, np.array([self._error(position) for position in positions]))

    def _first_piece(self, angle: float, gap: float) -> Search:
        piece = yield from self._piece(self._line.position(angle), gap)
        return [] if piece is None else [piece]

    def _piece(self, position: float, gap: float) -> Generator[Points, Values, Piece | None]:
        """Measure a piece near a position, with other pieces at angles of `gap` from it; None if there is none."""
        # Far out the line turns away: an angle is a length only as far as it does not.
        angle = min(gap, np.pi / 2 - abs(self._line.angle(position)))
        for attempt in range(4):
            reach = self._line.length(position, self._share * angle) * 0.3**attempt
            center = position + attempt * 3.3 * reach * (-1) ** attempt
            center = float(np.clip(center, self._ends[0] + 2 * reach, self._ends[1] - 2 * reach))
            positions = center + reach * np.array([-1.0, 0.0, 1.0])
            values = yield self._line.points(positions)
            slope = (values[2] - values[0]) / (2 * reach)
            self._size = max(self._size, float(np.max(np.abs(values[1] - center * slope))))
            self._slope = max(self._slope, float(np.max(np.abs(slope))))
            bend = float(np.max(np.abs(values[0] + values[2] - 2 * values[1])))
            if bend <= self._settings.margin * 2.5 * self._error(center):
                return self._seen(positions, values)
        return None

    def _between(self, left: Piece, right: Piece) -> Search:
        """Find the kinks between two pieces."""
        low, high = self._line.angle(left.last), self._line.angle(right.first)
        middle = self._line.position(0.5 * (low + high))
        if high - low < max(self._settings.smallest_angle, 4 * self._settings.blur):
            return [_unresolved(left, right)]
        centers = [middle]
        if self._agrees(left, right) and self._agrees(right, left):
            values = yield self._line.points(np.array([middle]))
            if self._agrees(left.joined(right), self._seen(np.array([middle]), values)):
                return []
        elif (meeting := self._meeting(left, right)) is not None:
            position, width = meeting
            if self._line.angle(position + width) - self._line.angle(position - width) < self._settings.sharp * (
                high - low
            ):
                # Next to a face of a box the line may end before the width does.
                around = np.clip(position + width * np.array([-1.0, 1.0]), *self._ends)
                values = yield self._line.points(around)
                before, after = self._seen(around[:1], values[:1]), self._seen(around[1:], values[1:])
                if self._agrees(left, before) and self._agrees(right, after):
                    self._resolved += 1
                    return [Kink(position, is_resolved=True, width=width)]
                centers = [position]
            else:
                # Too far away to tell where they meet: look again from nearby.
                centers = [position - 3 * width, position + 3 * width]
        return (yield from self._split(left, right, centers))

    def _split(self, left: Piece, right: Piece, centers: list[float]) -> Search:
        """Measure pieces between two others; those that go on as a neighbour make it longer."""
        low, high = self._line.angle(left.last), self._line.angle(right.first)
        middle = 0.5 * (low + high)
        # Pieces close to an end would gain nothing.
        angles = [self._line.angle(center) for center in centers]
        angles = [angle for angle in angles if abs(angle - middle) < 0.45 * (high - low)] or [middle]
        gap = min(np.diff([low, *angles, high]))
        pieces = [left]
        for angle in angles:
            piece = yield from self._piece(self._line.position(angle), gap)
            if piece is None or not pieces[-1].last < piece.first < piece.last < right.first:
                continue
            if self._agrees(pieces[-1], piece) and self._agrees(piece, pieces[-1]):
                pieces[-1] = pieces[-1].joined(piece)
            elif self._agrees(right, piece) and self._agrees(piece, right):
                right = piece.joined(right)
            else:
                pieces.append(piece)
        pieces.append(right)
        if len(pieces) == 2 and self._line.angle(right.first) - self._line.angle(pieces[0].last) > 0.99 * (high - low):
            return [_unresolved(left, right)]
        return [self._between(a, b) for a, b in itertools.pairwise(pieces)]

    def _meeting(self, left: Piece, right: Piece) -> tuple[float, float] | None:
        """Where two pieces meet between their places, and how far around it must be checked."""
        bend = right.slope - left.slope
        size = float(bend @ bend)
        if size == 0.0:
            return None
        position = left.last + float((left.at(left.last) - right.at(left.last)) @ bend / size)
        if not left.last < position < right.first:
            return None
        doubt = (left.error(position) + right.error(position)) / np.sqrt(size)
        width = max(self._settings.margin * doubt, 1e-7 * (right.first - left.last))
        return position, max(width, self._line.length(position, self._settings.blur))

    def _fitted(self, kinks: list[Kink]) -> KinkedLine:
        """Fit the pieces between kinks to all answers there, and let them meet again."""
        order = np.argsort(np.concatenate(self._positions))
        everything = self._seen(np.concatenate(self._positions)[order], np.concatenate(self._values)[order])
        lower = [-np.inf, *(kink.position + kink.width for kink in kinks)]
        upper = [*(kink.position - kink.width for kink in kinks), np.inf]
        pieces = [_part(everything, low, high) for low, high in zip(lower, upper, strict=True)]
        met = []
        for kink, left, right in zip(kinks, pieces, pieces[1:], strict=False):
            meeting = self._meeting(left, right) if left and right else None
            is_near = meeting is not None and abs(meeting[0] - kink.position) <= 2 * kink.width
            met.append(replace(kink, position=meeting[0]) if meeting and (kink.is_resolved or is_near) else kink)
        return KinkedLine(self._line, tuple(met), tuple(pieces))


def _unresolved(left: Piece, right: Piece) -> Kink:
    width = 0.5 * (right.first - left.last)
    return Kink(left.last + width, is_resolved=False, width=width)


def _part(piece: Piece, low: float, high: float) -> Piece | None:
    """What a piece has between two positions, if it is enough for a slope."""
    inside = (piece.positions >= low) & (piece.positions <= high)
    # Far out two answers may be at the same place, up to its last digit.
    if np.count_nonzero(inside) < 2 or np.ptp(piece.positions[inside]) == 0.0:
        return None
    return Piece(piece.positions[inside], piece.values[inside], piece.errors[inside])


def _merged(kinks: list[Kink]) -> list[Kink]:
    """Join unresolved places that touch each other."""
    merged: list[Kink] = []
    for kink in kinks:
        last = merged[-1] if merged else None
        if last and not (last.is_resolved and kink.is_resolved) and kink.position - last.position < kink.width:
            low = min(last.position - last.width, kink.position - kink.width)
            high = max(last.position + last.width, kink.position + kink.width)
            merged[-1] = Kink(0.5 * (low + high), False, 0.5 * (high - low))
        else:
            merged.append(kink)
    return merged
