"""Layers above a known one from values alone: fit them wider than they can be, then thin them out.

For networks too small, or with too few outputs, for their Hessians to tell the layers apart. A wide student reaches
the exact function from random starts; what is too much in it is linearly dependent and can be taken away.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice, pairwise

import numpy as np

from unweave.activations import IDENTITY, TANH
from unweave.arrays import Points, Values
from unweave.identification.answers import AnswerPool
from unweave.identification.peeling.thinning import removals
from unweave.identification.peeling.wide_fit import WideFit
from unweave.networks.network import Layer, Network


@dataclass(frozen=True, kw_only=True)
class WideStudents:
    """How students are fitted that are wider than the layers above.

    Args:
        more_width: neurons that they have more than a layer can have.
        surplus: answers per parameter, over those of a refinement.
        narrow: width of the layers above that answers are counted with.
        most: that are refined: where the answers tell which network it is, one is enough.

    Heuristic: no formula gives these numbers; planted networks in tests and benchmarks are what they were checked on.
    """

    more_width: int = 2
    surplus: float = 1.25
    narrow: int = 4
    most: int = 3

    def ask(self, answers: AnswerPool, *, size: int, width: int) -> None:
        """Ask as many answers as a student of so many parameters is fitted to."""
        answers.prepare(int(self.surplus * size), narrowest=min(width, self.narrow))


@dataclass(frozen=True)
class WideStarts:
    """Settings of the search by wide students.

    Args:
        starts: random starts for every number of layers: where students are wide enough, most of them end exact.
        cheap_parameters: of a student, up to which it has all its starts; chosen. The time of a fit grows with the cube
            of its parameters, so that larger ones have fewer starts.
        most_parameters: of a student; a larger one takes too long.
        fit: how students are fitted.
        exact: residual, relative to the spread of the answers, up to which a fit is taken for exact: the known layer
            is right to a few digits only.
        enough: the same at which a fit may stop.
        roughly_exact: instead of `exact` where the known layer is right to three digits only.
        bias_spread: standard deviation of random biases.
        tried_removals: neurons of a layer that are tried for removal before the layer is left as it is.
        smallest_power: of a combination of neurons, as a share of the largest, below which it is rounding: eigenvalues
            are exact to a few units of the last digit of the largest.

    Heuristic: no formula gives these numbers; planted networks in tests and benchmarks are what they were checked on.
    """

    starts: int = 6
    cheap_parameters: int = 400
    most_parameters: int = 1_000
    fit: WideFit = field(default_factory=WideFit)
    exact: float = 1e-4
    enough: float = 1e-7
    roughly_exact: float = 1e-3
    bias_spread: float = 0.1
    tried_removals: int = 3
    smallest_power: float = 1e-15

    def parameters(self, below: Layer, *, outputs: int, width: int, depth: int) -> int:
        """Parameters of a student above a layer."""
        widths = [below.neurons, *[width] * depth, outputs]
        return sum(before * after + after for before, after in pairwise(widths))

    def __call__(
        self,
        below: Layer,
        points: Points,
        values: Values,
        *,
        width: int,
        depth: int,
        is_below_exact: bool,
        floor: float,
        rng: np.random.Generator,
    ) -> Iterator[Network]:
        """Exact networks of `depth` more hidden layers above a layer, thinned out; none if no start led to one.

        Args:
            below: the known layer.
            points, values: answers of the whole network, the values before any output activation.
            width: at least that of every layer above.
            depth: number of hidden layers above.
            is_below_exact: whether the biases of the known layer stay as they are; its weights do.
            floor: noise of the values.
            rng: for the starts.
        """
        spread = float(np.sqrt(np.mean(np.var(values, axis=0))))
        exact = max((self.exact if is_below_exact else self.roughly_exact) * spread, 10 * floor)
        enough = max(self.enough * spread, floor)
        size = self.parameters(below, outputs=values.shape[1], width=width, depth=depth)
        affordable = int(self.starts * min(1.0, (self.cheap_parameters / size) ** 3))
        for _ in range(max(affordable, 1)):
            student = self._random(below, [width] * depth, values, rng)
            fitted = self.fit(student, points, values, target=enough, is_first_exact=is_below_exact)
            if fitted.residual <= exact:
                yield self._thinned(
                    fitted.network, points, values, exact=exact, enough=enough, is_below_exact=is_below_exact
                )

    def _thinned(
        self,
        network: Network,
        points: Points,
        values: Values,
        *,
        exact: float,
        enough: float,
        is_below_exact: bool,
    ) -> Network:
        """Take neurons away as long as the fit stays exact, from the top down."""
        for index in range(len(network.layers) - 2, 0, -1):
            smaller: Network | None = network
            while smaller is not None:
                network, smaller = smaller, None
                if network.layers[index].neurons == 1:
                    break
                trials = removals(network, index, points, smallest_power=self.smallest_power)
                for trial in islice(trials, self.tried_removals):
                    fitted = self.fit(trial, points, values, target=enough, is_first_exact=is_below_exact)
                    if fitted.residual <= exact:
                        smaller = fitted.network
                        break
        return network

    def _random(self, below: Layer, widths: list[int], values: Values, rng: np.random.Generator) -> Network:
        layers, inputs = [below], below.neurons
        for width in widths:
            weights = rng.standard_normal((width, inputs)) / np.sqrt(inputs)
            layers.append(Layer(weights, self.bias_spread * rng.standard_normal(width), TANH))
            inputs = width
        weights = rng.standard_normal((values.shape[1], inputs)) / np.sqrt(inputs)
        return Network((*layers, Layer(weights, np.mean(values, axis=0), IDENTITY)))
