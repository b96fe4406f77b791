"""The finite-width tangent kernel of [allenzhu, Fig. 12]: a network that is linear in its parameters; needs torch.

Near random weights w a network answers ``f(x; w + t) = f(x; w) + <grad f(x; w), t>`` to first order. What trains here
is the linear term alone, by Adam, with parameters t of its own for every class [allenzhu, App. A.3].
"""

import warnings
from functools import cache

import torch
from torch import nn
from torch.func import functional_call, jvp, vmap

from unweave.explore.feature_correction.feeds import EVALUATION_ROWS
from unweave.reproduce.allenzhu.images.tensors import Images, Logits


class TangentNetwork(nn.Module):
    """The derivative of a network in its weights, along a direction for every class.

    Args:
        base: with one output per class; it never changes, and its norms keep the statistics that they have.
        classes: number of its outputs.
    """

    def __init__(self, base: nn.Module, classes: int) -> None:
        super().__init__()
        load_forward_mode()
        self.base = base.requires_grad_(False).eval()
        self.names = tuple(name for name, _ in base.named_parameters())
        self.directions = nn.ParameterList(
            torch.zeros((classes, *weight.shape), dtype=weight.dtype, device=weight.device)
            for weight in base.parameters()
        )

    def train(self, mode: bool = True) -> "TangentNetwork":
        """Keep the norms of the network as they are: features must not depend on the batch."""
        super().train(mode)
        self.base.eval()
        return self

    def forward(self, images: Images) -> Logits:  # noqa: D102
        weights = dict(self.base.named_parameters())

        def change(directions: tuple[torch.Tensor, ...]) -> torch.Tensor:
            given = dict(zip(self.names, directions, strict=True))
            return jvp(lambda moved: functional_call(self.base, moved, (images,)), (weights,), (given,))[1]

        # Of every class its own output along its own direction.
        return torch.diagonal(vmap(change)(tuple(self.directions)), dim1=0, dim2=2)


@cache
def load_forward_mode() -> None:
    """Let torch load what derivatives along directions need: it warns of itself when it first does."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        jvp(torch.sin, (torch.zeros(()),), (torch.ones(()),))


def settle_norms(network: nn.Module, images: Images) -> None:
    """Give the norms of a random network the statistics of its hidden values at these images."""
    norms = [module for module in network.modules() if isinstance(module, nn.BatchNorm2d)]
    for norm in norms:
        norm.reset_running_stats()
        # The plain average over all batches.
        norm.momentum = None
    network.train()
    with torch.no_grad():
        for batch in images.split(EVALUATION_ROWS):
            network(batch)
    network.eval()
