"""The finite-width tangent kernel of [allenzhu, Fig. 12]: a network that is linear in its parameters; needs torch.

Near random weights w a network answers ``f(x; w + t) = f(x; w) + <grad f(x; w), t>`` to first order. What trains here
is the linear term alone, by Adam, with parameters t of its own for every class [allenzhu, App. A.3].
"""

import warnings
from collections.abc import Callable
from functools import cache

import torch
from torch import nn
from torch.func import functional_call, jvp, vmap

from unweave.explore.feature_correction.recipes import BatchTransform, Recipe
from unweave.explore.feature_correction.subjects import Deadline
from unweave.explore.feature_correction.training import EVALUATION_ROWS, Penalty, Stream, loss_of, seed_of
from unweave.reproduce.allenzhu.images.tensors import Images, Logits

# Trains parameters of a model by a penalty, a seed and a deadline, and gives losses.
Loop = Callable[[nn.Module, list[nn.Parameter], Penalty, int, Deadline], list[float]]


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


def adam_loop(recipe: Recipe, inputs: torch.Tensor, labels: torch.Tensor, prepare: BatchTransform | None) -> Loop:
    """Make a training loop like `RecipeLoop`, with Adam's steps in place of momentum, which gives all losses."""
    batches = max(min(round(len(inputs) / recipe.batch), len(inputs) // 2), 1)

    def train(
        model: nn.Module, parameters: list[nn.Parameter], penalty: Penalty, seed: int, deadline: Deadline
    ) -> list[float]:
        generator = torch.Generator().manual_seed(seed_of(Stream.BATCHES, seed))
        optimiser = torch.optim.Adam(parameters, lr=recipe.learning_rate, weight_decay=recipe.weight_decay)
        model.train()
        losses: list[float] = []
        for epoch in range(recipe.epochs):
            for group in optimiser.param_groups:
                group["lr"] = recipe.learning_rate_at(epoch)
            for rows in torch.randperm(len(inputs), generator=generator).tensor_split(batches):
                deadline.check()
                rows = rows.to(inputs.device)
                batch = inputs[rows]
                batch = batch if prepare is None else prepare(model, batch, labels[rows], generator)
                optimiser.zero_grad(set_to_none=True)
                loss = loss_of(model(batch), labels[rows]) + penalty()
                loss.backward()
                optimiser.step()
                losses.append(loss.item())
        return losses

    return train
