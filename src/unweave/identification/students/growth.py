"""Students: shallow networks that grow from random starts until they answer alike, and are thinned out again.

Neurons of an exact width mostly get stuck, wider students seldom do. What is grown too wide comes down again neuron by
neuron, each handed on to the others, and on the way down the exact network is met if there is one.
"""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float64

from unweave.activations import Activation
from unweave.arrays import PerNeuron, Points, Values, root_mean_square
from unweave.identification.students.projection import Neurons, Projected, ProjectedFit, lift
from unweave.networks.network import Network
from unweave.numerics.least_squares import FROM_AFAR, Policy, is_over, minimise

# A fit ends when 15 steps have lowered the residual by less than a quarter: fits that are stuck, which most are, end
# twice as early as with 30 steps and a half, and as many of 24 planted networks were found (15, and 14). Heuristic.
DAMPING = replace(FROM_AFAR, gain_tol=0.25, patience=15).always_damped(first=1e-2, least=1e-16)
# Fits of a network that lacks a few neurons, and of a student that is nearly good enough, are few and may take longer.
PATIENT = replace(DAMPING, gain_tol=0.5, patience=30)


@dataclass(frozen=True, eq=False)
class Lesson:
    """Answers that students learn from, and others that compare them.

    Args:
        points: where answers are known.
        values: the answers.
        other_points: where others are known, which no student is fitted to.
        other_values: their answers.
        exact: residual of a student that may be the network itself.
    """

    points: Points
    values: Values
    other_points: Float64[np.ndarray, "others inputs"]
    other_values: Float64[np.ndarray, "others outputs"]
    exact: float


@dataclass(frozen=True, eq=False)
class Student:
    """A shallow network with an affine part.

    Args:
        activation: of its neurons.
        neurons: their weights and biases.
        projected: output weights, and what they leave of the answers that were fitted.
        residual: root mean square of that.
        error: the same of the answers that were not fitted.
        exact: residual of a student that may be the network itself.
        work: of the fits that this stage of it took, in multiplications, roughly.
        is_thinned: whether neurons that others replace were taken away.
    """

    activation: Activation
    neurons: Neurons
    projected: Projected
    residual: float
    error: float
    exact: float
    work: float
    is_thinned: bool = False

    @property
    def fits(self) -> bool:
        """Whether the answers that it learnt from are met as the network itself would meet them."""
        return self.residual <= self.exact

    @property
    def is_overfitted(self) -> bool:
        """Whether others are met far worse than the answers that it learnt from: those were too few."""
        return self.error > 10.0 * max(self.residual, self.exact)

    @property
    def is_exact(self) -> bool:
        """Whether others are met as well, so that it may be the network itself; at single points rounding is larger."""
        return self.fits and self.error <= 100.0 * self.exact

    def network(self) -> Network:
        """Give it as a network."""
        count, coefficients = len(self.neurons), self.projected.coefficients
        return Network.shallow(
            weights=self.neurons[:, :-1].copy(),
            biases=self.neurons[:, -1].copy(),
            output_weights=coefficients[:count].T.copy(),
            offset=coefficients[-1].copy(),
            activation=self.activation,
            skip=coefficients[count:-1].T.copy(),
        )

    def missed(self, *, smallest_power: float = 1e-15) -> PerNeuron:
        """Root mean square of what the other neurons and the affine part can't replace of each neuron."""
        columns, count = self.projected.columns, len(self.neurons)
        sizes = np.maximum(np.sqrt(np.mean(columns**2, axis=0)), np.finfo(float).tiny)
        powers, axes = np.linalg.eigh((columns / sizes).T @ (columns / sizes) / len(columns))
        # Raised and not cut off: where columns depend on each other exactly, their powers must stay small.
        raised = np.maximum(powers, smallest_power * powers[-1])
        alone = sizes / np.sqrt(axes**2 @ (1.0 / raised))
        return alone[:count] * np.linalg.norm(self.projected.coefficients[:count], axis=1)


@dataclass(frozen=True, kw_only=True)
class Growth:
    """How students are started, grown and thinned.

    Args:
        starts: random starts of a new student; the best goes on.
        start_steps: steps that tell which start is best: the best after 20 was the best after 40, too, 11 times of 12.
        steps: of a fit.
        tries: how often random neurons are drawn that a student is grown by; the best draw goes on.
        thin_steps: steps after a neuron was taken away.
        candidates: neurons that are tried one after the other before nothing more is taken away.
        kept_share: residual after a removal, in units of the lowest so far, up to which it is kept.
        step_work: multiplications that take as long as all of a step but its linear algebra; measured.
        damping: how steps are damped.

    Heuristic: measured on planted networks of 1 to 10 inputs, for the CPU time to an exact student.
    """

    starts: int = 3
    start_steps: int = 20
    steps: int = 150
    tries: int = 1
    thin_steps: int = 120
    candidates: int = 4
    kept_share: float = 3.0
    step_work: float = 3e6
    damping: Policy = DAMPING

    def started(self, activation: Activation, width: int, lesson: Lesson, rng: np.random.Generator) -> Student:
        """Start a student of so many neurons."""
        inputs = lesson.points.shape[1]
        first = [
            self._fitted(activation, random_neurons(rng, width, inputs), lesson, self.start_steps)
            for _ in range(self.starts)
        ]
        best = min(first, key=lambda student: student.residual)
        return _after([*first, self._fitted(activation, best.neurons, lesson, self.steps)])

    def once(self, activation: Activation, width: int, lesson: Lesson, rng: np.random.Generator) -> Student:
        """Fit a student of so many neurons from one random start."""
        return self._fitted(activation, random_neurons(rng, width, lesson.points.shape[1]), lesson, self.steps)

    def continued(self, network: Network, lesson: Lesson) -> Student:
        """Go on from the neurons of a shallow network."""
        hidden = network.layers[0]
        neurons = np.hstack([hidden.weights, hidden.biases[:, None]])
        return self._fitted(hidden.activation, neurons, lesson, self.steps)

    def patient(self) -> "Growth":
        """Give the same with fits that go on for longer where they gain little."""
        return replace(self, damping=PATIENT)

    def grown(self, student: Student, width: int, lesson: Lesson, rng: np.random.Generator) -> Student:
        """Add random neurons up to a width, and fit all."""
        more = width - len(student.neurons)
        tried = [
            np.vstack([student.neurons, random_neurons(rng, more, lesson.points.shape[1])]) for _ in range(self.tries)
        ]
        fits = [self._fitted(student.activation, neurons, lesson, self.steps) for neurons in tried]
        return _after(sorted(fits, key=lambda fit: -fit.residual))

    def thinned(self, student: Student, lesson: Lesson, *, most_work: float = np.inf) -> Student:
        """Take neurons away, the least missed first, as long as the others can replace them, and work is left."""
        student = self._fitted(student.activation, student.neurons, lesson, self.steps)
        lowest, work = student.residual, student.work
        while len(student.neurons) > 1 and work < most_work and not is_over():
            smaller = self._without_one(student, lesson)
            work += smaller.work
            if smaller.residual > max(self.kept_share * lowest, lesson.exact):
                break
            student, lowest = smaller, min(lowest, smaller.residual)
        return replace(student, work=work, is_thinned=True)

    def _without_one(self, student: Student, lesson: Lesson) -> Student:
        """Take one neuron away: the first that others replace as well as before, or the one that they replace best."""
        tried: list[Student] = []
        for neuron in np.argsort(student.missed())[: self.candidates]:
            neurons = np.delete(student.neurons, neuron, axis=0)
            tried.append(self._fitted(student.activation, neurons, lesson, self.thin_steps))
            if tried[-1].residual <= max(self.kept_share * student.residual, lesson.exact):
                break
        return _after(sorted(tried, key=lambda fit: -fit.residual))

    def _fitted(self, activation: Activation, neurons: Neurons, lesson: Lesson, steps: int) -> Student:
        problem = ProjectedFit(lesson.points, lesson.values, activation)
        found = minimise(problem, neurons, replace(self.damping, steps=steps), target=0.01 * lesson.exact)
        arguments = lift(lesson.other_points) @ found.point.T
        others = np.hstack([activation(arguments), lift(lesson.other_points)]) @ found.residuals.coefficients
        error = root_mean_square(lesson.other_values - others)
        # A step multiplies the Jacobian of one output by itself, and has a cost of its own.
        work = found.attempts * (len(lesson.points) * neurons.size**2 + self.step_work)
        return Student(activation, found.point, found.residuals, found.losses[-1], error, lesson.exact, float(work))


def _after(fits: list[Student]) -> Student:
    """Give the last of some fits with the work of all."""
    return replace(fits[-1], work=sum(fit.work for fit in fits))


def random_neurons(rng: np.random.Generator, neurons: int, inputs: int) -> Neurons:
    """Draw weights that give arguments of size one over the domain, and biases of the same size."""
    return np.hstack([rng.standard_normal((neurons, inputs)) / np.sqrt(inputs), rng.standard_normal((neurons, 1))])
