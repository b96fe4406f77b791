"""Starts for the refinement from Hessians: by activation, and with several neurons per direction where needed."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from jaxtyping import Float64

from unweave.activations import Activation, base_of, simplest_activations
from unweave.identification.candidates import ranked_fits
from unweave.identification.hessians.collinear import SplitRules, split_collinear
from unweave.identification.hessians.diagnostics import hessian_quality
from unweave.identification.hessians.span import Span
from unweave.identification.profile_networks import assemble, without_skip
from unweave.identification.profiles import ProfileFit, ProfileRules, Profiles, fit_profiles, neuron_profiles
from unweave.identification.refiner import Start
from unweave.networks.network import Network
from unweave.numerics.subspace_power import Directions


@dataclass(frozen=True, kw_only=True)
class ProfileStarts:
    """Settings of the way from profiles to networks that are worth a refinement.

    Args:
        fit: how neurons are fitted to profiles.
        jury: neurons whose profiles decide on the activation, the strongest ones; chosen, for the time.
        trials: activations that are tried to the end if the best profile fit does not lead to an exact network; chosen.
        sure_profiles: typical misfit of the profiles up to which no activation is tried that seldom occurs. That of 55
            planted networks of tanh in a box was 5e-6 at most; noise raises it.
        visible_skip: mean gradient of the remainder, relative to the gradients, above which an affine part comes first;
            chosen: both orders are tried, and the first one is cheaper.
        split: when an atom carries several neurons.
    """

    fit: ProfileRules = field(default_factory=ProfileRules)
    jury: int = 16
    trials: int = 3
    sure_profiles: float = 1e-3
    visible_skip: float = 1e-2
    split: SplitRules = field(default_factory=SplitRules)

    def __call__(
        self,
        span: Span,
        directions: Directions,
        *,
        activation: Activation | None,
        outside: Float64[np.ndarray, "outputs inputs"],
    ) -> Iterator[Start]:
        """Networks to refine: by activation, then with several neurons per direction where one does not fit."""
        profiles = neuron_profiles(span.sample, directions.atoms)
        for likely in self._ranked_activations(profiles, activation)[: self.trials]:
            fit = fit_profiles(profiles, likely, rules=self.fit)
            for network in self._skip_variants(assemble(span.sample, directions.atoms, fit, outside=outside), span):
                yield _start(network, fit, span, directions)
            split = split_collinear(profiles, fit, self.split)
            if split is not None:
                atoms = directions.atoms[split.atom]
                for network in self._skip_variants(assemble(span.sample, atoms, split.fit, outside=outside), span):
                    yield _start(network, split.fit, span, directions)

    def _ranked_activations(self, profiles: Profiles, given: Activation | None) -> list[Activation]:
        """Fit a jury of the strongest neurons with every known activation, best first."""
        if given is not None:
            return [base_of(given)]
        strength = np.linalg.norm(profiles.coefficients, axis=(0, 1))
        jury = np.argsort(-strength)[: self.jury]
        known = simplest_activations(lambda activation: activation.is_curved)
        fit = partial(fit_profiles, profiles, neurons=jury, rules=self.fit)
        fits = ranked_fits(fit, known, clear_misfit=self.sure_profiles)
        return [fit.activation for fit in fits]

    def _skip_variants(self, start: Network, span: Span) -> list[Network]:
        """With or without an affine part: what the activation needs, then what the gradients suggest."""
        if start.skip is None or start.layers[0].activation.reflected_slope != 0.0:
            return [start]
        size = float(np.sqrt(np.mean(span.sample.gradients**2)))
        is_visible = float(np.max(np.abs(start.skip), initial=0.0)) > self.visible_skip * size
        return [start, without_skip(start)] if is_visible else [without_skip(start), start]


def _start(network: Network, fit: ProfileFit, span: Span, directions: Directions) -> Start:
    return Start(network, fit.typical_misfit, tuple(hessian_quality(span.subspace, directions, fit)))
