"""The finite-width tangent kernel of [allenzhu, Fig. 12]: a network that is linear in its parameters; needs torch.

Near random weights w a network answers ``f(x; w + t) = f(x; w) + <grad f(x; w), t>`` to first order. What trains here
is the linear term alone, by Adam, with parameters t of its own for every class [allenzhu, App. A.3].
"""

import warnings
from dataclasses import dataclass
from functools import cache

import torch
from torch import nn
from torch.func import functional_call, jvp, vmap

from unweave.explore.feature_correction.recipes import BatchTransform, Recipe
from unweave.explore.feature_correction.subjects import Deadline
from unweave.explore.feature_correction.training import EVALUATION_ROWS, Penalty, Stream, loss_of, seed_of
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


@dataclass(frozen=True, eq=False)
class AdamLoop:
    """A training loop like `RecipeLoop`, with Adam's steps in place of momentum.

    Args:
        recipe: epochs, batches and learning rates.
        inputs: of training.
        labels: classes.
        prepare: what is done to a batch first.
    """

    recipe: Recipe
    inputs: torch.Tensor
    labels: torch.Tensor
    prepare: BatchTransform | None

    def __call__(
        self, model: nn.Module, parameters: list[nn.Parameter], penalty: Penalty, seed: int, deadline: Deadline
    ) -> list[float]:
        """Train; batches are drawn by the seed alone. Gives the loss of every step."""
        recipe, generator = self.recipe, torch.Generator().manual_seed(seed_of(Stream.BATCHES, seed))
        optimiser = torch.optim.Adam(parameters, lr=recipe.learning_rate, weight_decay=recipe.weight_decay)
        model.train()
        batches = max(min(round(len(self.inputs) / recipe.batch), len(self.inputs) // 2), 1)
        losses: list[float] = []
        for epoch in range(recipe.epochs):
            for group in optimiser.param_groups:
                group["lr"] = recipe.learning_rate_at(epoch)
            for rows in torch.randperm(len(self.inputs), generator=generator).tensor_split(batches):
                deadline.check()
                rows = rows.to(self.inputs.device)
                inputs, labels = self.inputs[rows], self.labels[rows]
                inputs = inputs if self.prepare is None else self.prepare(model, inputs, labels, generator)
                optimiser.zero_grad(set_to_none=True)
                loss = loss_of(model(inputs), labels) + penalty()
                loss.backward()
                optimiser.step()
                losses.append(loss.item())
        return losses
