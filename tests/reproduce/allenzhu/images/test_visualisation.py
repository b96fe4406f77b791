import numpy as np
import pytest

from late import LateModule, nn, torch
from unweave.exceptions import InvalidInput

architectures = LateModule("unweave.reproduce.allenzhu.images.architectures")
visualisation = LateModule("unweave.reproduce.allenzhu.images.visualisation")

SHAPE = (3, 8, 8)

pytestmark = pytest.mark.usefixtures("one_thread_of_torch")


def linear_model() -> "nn.Sequential":
    return nn.Sequential(nn.Conv2d(3, 4, 3, padding=1, bias=False), nn.ReLU(), nn.Flatten(), nn.Linear(256, 2))


def slope(model: "nn.Module", channel: int, *, is_averaged: bool) -> np.ndarray:
    """The gradient of a linear unit, entry by entry: its answers at all unit images."""
    basis = torch.eye(3 * 64).reshape(-1, *SHAPE)
    with torch.no_grad():
        maps = model[0](basis)[:, channel]
    answers = maps.mean(dim=(1, 2)) if is_averaged else maps[:, 4, 4]
    return answers.numpy().reshape(SHAPE)


@pytest.mark.each_value
@pytest.mark.parametrize("is_averaged", [False, True])
@pytest.mark.parametrize("steps", [1, 300])
def test_a_linear_unit_converges_to_its_filter(is_averaged: bool, steps: int, seed: int) -> None:
    model, decay, rate = linear_model(), 0.05, 0.4
    found = visualisation.visualise_features(
        model, "0", (2, 0), shape=SHAPE, steps=steps, weight_decay=decay, learning_rate=rate,
        is_averaged=is_averaged, seed=seed,
    )  # fmt: skip
    start = torch.rand((2, *SHAPE), generator=torch.Generator().manual_seed(seed)).numpy()
    left = (1 - rate * decay) ** steps
    for image, first, channel in zip(found.images, start, (2, 0), strict=True):
        limit = slope(model, channel, is_averaged=is_averaged) / decay
        np.testing.assert_allclose(image, left * first + (1 - left) * limit, atol=2e-4)


def test_without_a_decay_the_image_moves_by_the_filter(seed: int) -> None:
    model = linear_model()
    found = visualisation.visualise_features(
        model, "0", (1,), shape=SHAPE, steps=5, weight_decay=0.0, learning_rate=2.0, seed=seed
    )
    start = torch.rand((1, *SHAPE), generator=torch.Generator().manual_seed(seed)).numpy()
    np.testing.assert_allclose(found.images - start, 10 * slope(model, 1, is_averaged=False)[None], atol=1e-5)


@pytest.mark.parametrize("unit", ["stem", "blocks.1", "blocks.2"])
def test_activations_grow_and_the_model_is_left_alone(unit: str, seed: int) -> None:
    model = architectures.WideResidualNetwork(10, 0.25)
    model.get_submodule("blocks.0").eval()
    modes = [module.training for module in model.modules()]
    state = {name: value.clone() for name, value in model.state_dict().items()}
    found = visualisation.visualise_features(model, unit, range(4), shape=SHAPE, steps=20, learning_rate=0.1, seed=seed)
    assert (found.activations_after > found.activations_before).all()
    assert [module.training for module in model.modules()] == modes
    assert all(torch.equal(value, state[name]) for name, value in model.state_dict().items())
    assert all(each.grad is None for each in model.parameters())
    assert model(torch.rand(2, *SHAPE)).shape == (2, 10), "no hook stays behind"


def test_what_comes_after_the_unit_does_not_run(seed: int) -> None:
    model, ran = architectures.WideResidualNetwork(10, 0.25), []
    model.get_submodule("blocks.1").register_forward_hook(lambda *_: ran.append(1))
    visualisation.visualise_features(model, "blocks.0", (0,), shape=SHAPE, steps=2, seed=seed)
    assert not ran


def test_progress_is_told_and_results_repeat(seed: int) -> None:
    model, told = architectures.WideResidualNetwork(10, 0.25), []
    found = [
        visualisation.visualise_features(model, "stem", (0, 3), shape=SHAPE, steps=3, seed=seed, on_progress=progress)
        for progress in (None, lambda done, steps: told.append((done, steps)))
    ]
    assert np.array_equal(found[0].images, found[1].images)
    assert told == [(1, 3), (2, 3), (3, 3)]


@pytest.mark.parametrize(
    ("unit", "channels", "settings", "words"),
    [
        ("block", (0,), {}, "no unit 'block' in the model: it has stem"),
        ("stem", (4,), {}, r"no channels \[4\]"),
        ("readouts.0", (0,), {}, "no channels"),
        ("stem", (), {}, "at least one channel"),
        ("stem", (0,), {"steps": 0}, "at least one step"),
        ("stem", (0,), {"learning_rate": 400.0}, "lower one of them"),
    ],
)
def test_wrong_use_is_refused(unit: str, channels: tuple[int, ...], settings: dict, words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        visualisation.visualise_features(
            architectures.WideResidualNetwork(10, 0.25), unit, channels, shape=SHAPE, **settings
        )
