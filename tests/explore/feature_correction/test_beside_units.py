"""Parameters that stand beside units: where they act, and that they are frozen and carried over there."""

from types import ModuleType
from typing import Any

import numpy as np
import pytest

from unweave.exceptions import InvalidInput

UNITS = ("patches", "encoder.layers.0", "encoder.layers.1")


@pytest.fixture
def given() -> ModuleType:
    import correction_datasets

    return correction_datasets


@pytest.fixture
def transformer(given: ModuleType) -> Any:
    import torch

    torch.manual_seed(0)
    return given.TokenTransformer(is_batch_first=True)


def laid_out(model: Any, units: tuple[str, ...] = UNITS) -> Any:
    import torch

    from unweave.explore.feature_correction.units import lay_out

    return lay_out(model, units, torch.randn(2, 1, 4, 4))


def test_tokens_and_positions_belong_to_the_unit_below_them_and_scales_of_the_head_to_none(transformer: Any) -> None:
    from unweave.explore.feature_correction.units import find_units

    assert find_units(transformer) == UNITS
    layout = laid_out(transformer)
    assert layout.beside == {"patches": ("token", "encoder.positions"), "encoder.layers.0": (), "encoder.layers.1": ()}
    # They are no neurons, whatever axes they have.
    assert layout.filters["patches"] == ("patches.weight",)


def test_what_acts_before_the_first_unit_belongs_to_it(transformer: Any) -> None:
    layout = laid_out(transformer, UNITS[1:])
    assert layout.beside["encoder.layers.0"] == ("token", "encoder.positions")
    assert "patches" in layout.members["encoder.layers.0"]


def test_they_are_frozen_with_their_unit_and_carried_over(transformer: Any, given: ModuleType) -> None:
    import torch

    from unweave.explore.feature_correction.units import freeze, read_units, write_units

    layout = laid_out(transformer)
    held = read_units(transformer, layout, 1)
    assert held["patches"].keys() >= {"token", "encoder.positions", "patches.weight"}
    other = given.TokenTransformer(is_batch_first=True)
    other.reset_parameters()
    assert not np.array_equal(other.token.detach(), held["patches"]["token"])
    write_units(other, held, ("patches",))
    assert np.array_equal(other.token.detach(), held["patches"]["token"])
    freeze(other, layout, 1)
    learnt = [weight for weight in other.parameters() if weight.requires_grad]
    other(torch.randn(4, 1, 4, 4)).square().sum().backward()
    torch.optim.SGD(learnt, lr=1.0).step()
    assert np.array_equal(other.token.detach(), held["patches"]["token"])
    assert np.array_equal(other.encoder.positions.detach(), held["patches"]["encoder.positions"])
    assert not torch.equal(other.scale, torch.ones(8))


def test_looking_leaves_the_model_as_it_was(transformer: Any) -> None:
    transformer.token.requires_grad_(False)
    laid_out(transformer)
    assert not transformer.token.requires_grad
    assert transformer.scale.requires_grad
    assert transformer.scale.grad is None
    assert transformer.training
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in transformer.modules())


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("twice", "acts on '0' and '1': it can't be frozen in one"),
        ("unit and head", "acts on '0' and the head"),
        ("around", "acts on '0' and '1'"),
        ("nowhere", "acts on nothing"),
    ],
)
def test_parameters_that_act_on_several_units_or_on_nothing_are_refused(
    kind: str, message: str, given: ModuleType
) -> None:
    import torch

    from unweave.explore.feature_correction.units import lay_out

    with pytest.raises(InvalidInput, match=f"'scale' stands beside units and {message}"):
        lay_out(given.Scaled(kind), ("0", "1", "2"), torch.randn(2, 3))


@pytest.mark.parametrize("is_batch_first", [True, False])
def test_sequences_have_their_rows_where_they_are(is_batch_first: bool, given: ModuleType) -> None:
    import torch

    from unweave.explore.feature_correction.channels import by_places
    from unweave.explore.feature_correction.cuts import CutModel

    torch.manual_seed(3)
    model, images = given.TokenTransformer(is_batch_first=is_batch_first), torch.randn(6, 1, 4, 4)
    model.eval()
    layout = laid_out(model)
    cut = CutModel(model, "encoder.layers.1", images[:2], 3, layout.channels["encoder.layers.0"])
    with torch.no_grad():
        whole, alone = cut.pooled(images), torch.cat([cut.pooled(images[row : row + 1]) for row in range(6)])
    assert whole.shape == (6, 8)
    # A row does not depend on those beside it.
    assert torch.allclose(whole, alone, atol=1e-6)
    told = layout.channels["encoder.layers.0"]
    assert by_places(torch.zeros((6, 5, 8) if is_batch_first else (5, 6, 8)), told).shape == (6, 5, 8)


def test_rows_that_are_mixed_with_places_are_refused(given: ModuleType) -> None:
    import torch
    from torch import nn

    from unweave.explore.feature_correction.units import lay_out

    model = nn.Sequential(nn.Linear(3, 4), given.Mixed(), nn.Linear(4, 2), nn.Linear(2, 2))
    with pytest.raises(InvalidInput, match=r"what reaches '2' has shape \(14, 4\) for 2 rows"):
        lay_out(model, ("0", "2"), torch.randn(2, 7, 3))


def test_attention_draws_its_weights_anew(seed: int) -> None:
    import torch
    from torch import nn

    from unweave.explore.feature_correction.builders import rebuilt

    model = nn.TransformerEncoderLayer(8, 2, 16)
    first, again, other = rebuilt(model, seed), rebuilt(model, seed), rebuilt(model, seed + 1)
    for name, weight in first.named_parameters():
        assert torch.equal(weight, again.get_parameter(name))
        if weight.ndim > 1:
            assert not torch.equal(weight, other.get_parameter(name))
            assert not torch.equal(weight, model.get_parameter(name))
