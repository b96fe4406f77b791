"""The state of a training under way: it goes on bit by bit, and nothing in it is pickled."""

from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from unweave.exceptions import InvalidInput, UnreadableFile


@pytest.fixture
def given() -> ModuleType:
    import correction_datasets

    return correction_datasets


@pytest.fixture
def checkpoints() -> ModuleType:
    from unweave.explore.feature_correction import checkpoints

    return checkpoints


def equal(one: Any, other: Any) -> bool:
    import torch

    if isinstance(one, torch.Tensor):
        return one.dtype == other.dtype and torch.equal(one, other)
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(equal(value, other[key]) for key, value in one.items())
    if isinstance(one, list | tuple):
        return type(one) is type(other) and len(one) == len(other) and all(map(equal, one, other))
    return type(one) is type(other) and one == other


def test_a_tree_comes_back_as_it_was(checkpoints: ModuleType) -> None:
    import torch

    shared = torch.arange(6.0).reshape(2, 3)
    tree = {
        "state": {0: {"step": torch.tensor(3.0), "buffer": None}, 1: {"rows": [shared, shared.T]}},
        "betas": (0.9, 0.1 + 0.2),
        "flags": [True, False, 0, "word"],
        "bytes": torch.arange(5, dtype=torch.uint8),
        "empty": {},
    }
    assert equal(checkpoints.unpacked(checkpoints.packed(tree)), tree)


def test_what_is_no_number_is_not_written(checkpoints: ModuleType) -> None:
    with pytest.raises(TypeError, match="can't hold object"):
        checkpoints.packed({"model": object()})


def test_damage_is_noticed(checkpoints: ModuleType) -> None:
    import torch

    data = checkpoints.packed({"weights": torch.ones(4)})
    for damaged in (data[:-1], data[:-1] + bytes([data[-1] ^ 1]), b"", b"\x80\x04pickle"):
        with pytest.raises(InvalidInput):
            checkpoints.unpacked(damaged)


@pytest.mark.parametrize("kind", ["tensor", "dataset"])
@pytest.mark.parametrize("optimiser", ["sgd", "adamw"])
def test_a_training_goes_on_from_every_step_to_the_same_bits(
    kind: str, optimiser: str, given: ModuleType, seed: int
) -> None:
    import torch

    from unweave.explore.feature_correction.feeds import feed_of
    from unweave.explore.feature_correction.recipes import Recipe
    from unweave.explore.feature_correction.samples import check_samples

    recipe = given.ADAM if optimiser == "adamw" else Recipe(epochs=2, batch=20, learning_rate=0.05, milestones=(1,))
    data = given.small_images(seed)
    data = data if kind == "tensor" else (given.Jittered(seed), given.Jittered(seed, is_test=True))
    samples = check_samples(data, has_validation=False, random_state=0)
    feed, labels = feed_of(samples.train_inputs, torch.zeros(0)), torch.as_tensor(samples.train_labels)
    kept = given.MemoryHalfway()
    weights, losses = given.trained(feed, labels, recipe, kept)
    assert len(kept.states) == len(losses[1:]) * round(40 / recipe.batch)
    for state in kept.states[1:]:
        again, those = given.trained(feed, labels, recipe, given.MemoryHalfway(state))
        assert those == losses
        assert equal(again, weights)


def test_a_state_is_not_taken_for_that_of_another_model(given: ModuleType, seed: int) -> None:
    import torch
    from torch import nn

    from unweave.explore.feature_correction.checkpoints import Checkpoints, TrainingState

    kept = given.MemoryHalfway()
    images = torch.as_tensor(given.small_images(seed)[0])
    given.trained(images, torch.as_tensor(given.small_images(seed)[1]), given.ADAM, kept)
    other = nn.Linear(3, 2)
    state = TrainingState(other, torch.optim.AdamW(other.parameters()), torch.Generator())
    with pytest.raises(UnreadableFile, match="the state of another training"):
        Checkpoints(kept).resume(state)


def test_states_are_kept_as_often_as_the_rules_say(given: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    from unweave.explore.feature_correction.checkpoints import CheckpointRules, Checkpoints, TrainingState

    class State(TrainingState):
        def __init__(self) -> None:
            pass

        def packed(self) -> bytes:
            clock[0] += 2.0
            return b"state"

    clock, kept = [0.0], given.MemoryHalfway()
    monkeypatch.setattr("unweave.explore.feature_correction.checkpoints.time.monotonic", lambda: clock[0])
    checkpoints, times = Checkpoints(kept, CheckpointRules(seconds=10.0, most_share=0.1)), []
    for second in range(100):
        clock[0] = max(clock[0], float(second))
        before = len(kept.states)
        checkpoints.look(State())
        times += [second] if len(kept.states) > before else []
    # Keeping takes 2 s, which may be a tenth of the time.
    assert times == [10, 32, 54, 76, 98]


@pytest.mark.usefixtures("given")
def test_time_that_is_over_loses_no_step(tmp_path: Path, seed: int) -> None:
    import torch

    from correction_models import perceptron, small_points
    from unweave.explore.feature_correction.recipes import Recipe
    from unweave.explore.feature_correction.store import HalfwayFile
    from unweave.explore.feature_correction.subjects import Deadline, OutOfTime
    from unweave.explore.feature_correction.training import RecipeLoop, pull

    class Ending(Deadline):
        def __init__(self) -> None:
            super().__init__(0.0)

        @property
        def is_over(self) -> bool:
            steps.append(0)
            return len(steps) > 10

    x_train, y_train = (torch.as_tensor(each) for each in small_points(seed)[:2])
    steps: list[int] = []
    loop, kept = RecipeLoop(Recipe(epochs=3, batch=10), x_train, y_train, None), HalfwayFile(tmp_path / "halfway")
    results = []
    for deadline in (Deadline(), Ending(), Deadline()):
        torch.manual_seed(0)
        model = perceptron()
        try:
            halfway = kept if results else None
            losses = loop(model, list(model.parameters()), pull([], 0.0), 1, deadline, halfway)
        except OutOfTime:
            assert kept.path.exists()
            continue
        results.append((losses, np.concatenate([each.detach().numpy().ravel() for each in model.parameters()])))
    (whole, weights), (gone_on, others) = results
    assert whole == gone_on
    assert np.array_equal(weights, others)
