import pytest

from late import LateModule, nn, torch
from unweave.exceptions import InvalidInput

models = LateModule("correction_models")
channels = LateModule("unweave.explore.feature_correction.channels")


@pytest.mark.parametrize(
    ("modules", "expected"),
    [
        ([("Linear", 3, 4), ("Conv1d", 3, 5, 1), ("ReLU",)], (1, 5)),
        ([("Conv1d", 3, 5, 1), ("Linear", 3, 4), ("Dropout",)], (-1, 4)),
        ([("Linear", 3, 4), ("LayerNorm", 6)], (-1, 6)),
        ([("Conv2d", 3, 4, 1), ("LayerNorm", (4, 2, 2))], (1, 4)),
        ([("Conv1d", 3, 4, 1), ("BatchNorm1d", 4)], (1, 4)),
        ([("Linear", 3, 4), ("MultiheadAttention", 4, 2)], (-1, 4)),
        ([("Linear", 3, 4), ("GRU", 4, 5)], (-1, 0)),
        ([("Linear", 3, 4), ("Unknown",)], None),
        ([("ReLU",)], None),
    ],
)
def test_the_last_module_with_weights_tells_the_axis(modules: list[tuple], expected: tuple[int, int] | None) -> None:
    made = [getattr(models if name == "Unknown" else nn, name)(*settings) for name, *settings in modules]
    assert channels.channels_after(made) == (expected and channels.Channels(*expected))


def test_features_are_averaged_over_everything_else(seed: int) -> None:
    value = torch.randn(2, 3, 4, 5, generator=torch.Generator().manual_seed(seed))
    assert torch.allclose(channels.pooled(value, channels.Channels(1, 3)), value.mean((2, 3)))
    assert torch.allclose(channels.pooled(value, channels.Channels(-1, 5)), value.mean((1, 2)))
    assert torch.allclose(channels.by_places(value, channels.Channels(-1, 5)).mean(1), value.mean((1, 2)))
    assert torch.equal(channels.pooled(value[:, :, 0, 0], None), value[:, :, 0, 0])


def test_a_transposition_is_seen_by_the_number_of_features() -> None:
    assert channels.channel_axis(torch.zeros(2, 9, 4), channels.Channels(1, 4)) == -1
    assert channels.channel_axis(torch.zeros(2, 4, 9), channels.Channels(-1, 4)) == 1
    assert channels.channel_axis(torch.zeros(2, 4, 4), channels.Channels(1, 4)) == 1


def test_sequences_after_something_unknown_are_refused() -> None:
    with pytest.raises(InvalidInput, match=r"shape \(2, 3, 4\) reaches a cut after a module of unknown kind"):
        channels.channel_axis(torch.zeros(2, 3, 4), None)
    assert channels.channel_axis(torch.zeros(2, 3, 4, 4), None) == 1


def test_sequences_are_pooled_over_their_tokens(seed: int) -> None:
    from unweave.explore.feature_correction.cuts import CutModel
    from unweave.explore.feature_correction.units import lay_out

    model, tokens = models.TokenModel(), torch.randn(5, 7, 3, generator=torch.Generator().manual_seed(seed))
    layout = lay_out(model, ("first", "second"), tokens)
    cut = CutModel(model, "second", tokens, outputs=2, channels=layout.channels["first"])
    assert torch.allclose(cut.pooled(tokens), torch.relu(model.first(tokens)).mean(1), atol=1e-6)
