import pytest
import torch
from torch import nn

from unweave.exceptions import InvalidInput
from unweave.explore.feature_correction.channels import Channels, by_places, channel_axis, channels_after, pooled
from unweave.explore.feature_correction.cuts import CutModel
from unweave.explore.feature_correction.units import lay_out


class Unknown(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3, 3))


@pytest.mark.parametrize(
    ("modules", "expected"),
    [
        ([nn.Linear(3, 4), nn.Conv1d(3, 5, 1), nn.ReLU()], Channels(1, 5)),
        ([nn.Conv1d(3, 5, 1), nn.Linear(3, 4), nn.Dropout()], Channels(-1, 4)),
        ([nn.Linear(3, 4), nn.LayerNorm(6)], Channels(-1, 6)),
        ([nn.Conv2d(3, 4, 1), nn.LayerNorm((4, 2, 2))], Channels(1, 4)),
        ([nn.Conv1d(3, 4, 1), nn.BatchNorm1d(4)], Channels(1, 4)),
        ([nn.Linear(3, 4), nn.MultiheadAttention(4, 2)], Channels(-1, 4)),
        ([nn.Linear(3, 4), nn.GRU(4, 5)], Channels(-1, 0)),
        ([nn.Linear(3, 4), Unknown()], None),
        ([nn.ReLU()], None),
    ],
)
def test_the_last_module_with_weights_tells_the_axis(modules: list[nn.Module], expected: Channels | None) -> None:
    assert channels_after(modules) == expected


def test_features_are_averaged_over_everything_else(seed: int) -> None:
    value = torch.randn(2, 3, 4, 5, generator=torch.Generator().manual_seed(seed))
    assert torch.allclose(pooled(value, Channels(1, 3)), value.mean((2, 3)))
    assert torch.allclose(pooled(value, Channels(-1, 5)), value.mean((1, 2)))
    assert torch.allclose(by_places(value, Channels(-1, 5)).mean(1), value.mean((1, 2)))
    assert torch.equal(pooled(value[:, :, 0, 0], None), value[:, :, 0, 0])


def test_a_transposition_is_seen_by_the_number_of_features() -> None:
    assert channel_axis(torch.zeros(2, 9, 4), Channels(1, 4)) == -1
    assert channel_axis(torch.zeros(2, 4, 9), Channels(-1, 4)) == 1
    assert channel_axis(torch.zeros(2, 4, 4), Channels(1, 4)) == 1


def test_sequences_after_something_unknown_are_refused() -> None:
    with pytest.raises(InvalidInput, match=r"shape \(2, 3, 4\) reaches a cut after a module of unknown kind"):
        channel_axis(torch.zeros(2, 3, 4), None)
    assert channel_axis(torch.zeros(2, 3, 4, 4), None) == 1


class TokenModel(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.head = nn.Linear(3, 6), nn.Linear(6, 6), nn.Linear(6, 2)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.head(torch.relu(self.second(torch.relu(self.first(tokens)))).mean(1))


def test_sequences_are_pooled_over_their_tokens(seed: int) -> None:
    model, tokens = TokenModel(), torch.randn(5, 7, 3, generator=torch.Generator().manual_seed(seed))
    layout = lay_out(model, ("first", "second"), tokens)
    cut = CutModel(model, "second", tokens, outputs=2, channels=layout.channels["first"])
    assert torch.allclose(cut.pooled(tokens), torch.relu(model.first(tokens)).mean(1), atol=1e-6)
