"""Optimisers and schedules of recipes."""

import math
from functools import partial
from typing import Any

import numpy as np
import pytest

from unweave.exceptions import InvalidInput
from unweave.explore.feature_correction.recipes import CosineSchedule, LinearSchedule, Recipe


def test_a_cosine_falls_from_one_to_its_end() -> None:
    schedule = CosineSchedule(final=0.2)
    assert schedule(0.0) == 1.0
    assert schedule(0.5) == pytest.approx(0.6)
    assert schedule(0.25) == pytest.approx(0.2 + 0.8 * (1 + math.cos(math.pi / 4)) / 2)
    assert schedule(1.0) == pytest.approx(0.2)


@pytest.mark.parametrize("kind", [CosineSchedule, LinearSchedule])
def test_a_warmup_rises_in_proportion_and_then_it_falls(kind: Any) -> None:
    schedule = kind(warmup=0.2, final=0.1)
    shares = np.linspace(0.0, 1.0, 101)
    factors = np.array([schedule(share) for share in shares])
    assert np.allclose(factors[:20], shares[:20] / 0.2)
    assert factors.argmax() == 20
    assert np.all(np.diff(factors[20:]) < 0)
    assert factors[-1] == pytest.approx(0.1)


def test_a_line_is_one() -> None:
    assert [LinearSchedule(final=0.5)(share) for share in (0.0, 0.5, 1.0)] == pytest.approx([1.0, 0.75, 0.5])


def test_rates_follow_the_share_of_the_training_whatever_its_length() -> None:
    recipe = Recipe(epochs=10, learning_rate=0.4, schedule=LinearSchedule())
    assert [recipe.learning_rate_at(epoch) for epoch in (0, 2.5, 5)] == pytest.approx([0.4, 0.3, 0.2])
    assert recipe.shortened(4).learning_rate_at(2) == pytest.approx(0.2)


@pytest.mark.parametrize("wrong", [{"warmup": 1.0}, {"warmup": -0.1}, {"final": 1.5}, {"final": math.nan}])
def test_schedules_have_shares(wrong: dict[str, float]) -> None:
    with pytest.raises(InvalidInput, match="from 0 to"):
        CosineSchedule(**wrong)


def test_steps_are_those_of_the_optimiser_and_rates_those_of_the_schedule(seed: int) -> None:
    import torch

    from unweave.explore.feature_correction.subjects import Deadline
    from unweave.explore.feature_correction.training import RecipeLoop, pull

    generator = torch.Generator().manual_seed(seed)
    inputs, labels = torch.randn(8, 3, generator=generator), torch.randn(8, 1, generator=generator)
    ours, theirs = (torch.nn.Linear(3, 1, bias=False) for _ in range(2))
    theirs.load_state_dict(ours.state_dict())
    making = partial(torch.optim.AdamW, betas=(0.8, 0.99))
    recipe = Recipe(
        epochs=4, batch=8, learning_rate=0.1, weight_decay=0.02, optimiser=making, schedule=LinearSchedule()
    )
    RecipeLoop(recipe, inputs, labels, None)(ours, list(ours.parameters()), pull([], 0.0), seed, Deadline())
    optimiser = making(theirs.parameters(), lr=0.1, weight_decay=0.02)
    for rate in (0.1, 0.075, 0.05, 0.025):
        optimiser.param_groups[0]["lr"] = rate
        optimiser.zero_grad()
        torch.nn.functional.mse_loss(theirs(inputs), labels).backward()
        optimiser.step()
    assert torch.allclose(ours.weight, theirs.weight, atol=1e-7)


def rate_of_nothing(_: float) -> float:
    return math.nan


def rate_that_raises(_: float) -> float:
    raise ZeroDivisionError("no rate")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"schedule": rate_of_nothing}, "finite factors"),
        ({"schedule": rate_that_raises}, "raised ZeroDivisionError: no rate"),
        ({"schedule": CosineSchedule(), "milestones": (1,)}, "milestones or a schedule, and not both"),
        ({"optimiser": "LBFGS"}, "unexpected keyword argument 'weight_decay'"),
        ({"optimiser": "SparseAdam"}, "an optimiser|optimiser of a recipe"),
        ({"optimiser": "nothing"}, "needs to be one of torch, got NoneType"),
        ({"optimiser": "closure"}, "step by gradients alone"),
    ],
)
def test_recipes_that_cannot_run_are_refused_before_any_training(settings: dict[str, Any], message: str) -> None:
    import torch

    import unweave
    from correction_models import perceptron, small_points

    named = {
        "LBFGS": torch.optim.LBFGS,
        "SparseAdam": torch.optim.SparseAdam,
        "nothing": lambda *_, **__: None,
        "closure": lambda parameters, lr, weight_decay: torch.optim.LBFGS(parameters, lr=lr + 0 * weight_decay),
    }
    settings = {name: named.get(value, value) if name == "optimiser" else value for name, value in settings.items()}
    with pytest.raises(InvalidInput, match=message):
        unweave.measure_feature_correction(
            perceptron(), small_points(0), recipe=Recipe(**settings), on_progress=lambda _: pytest.fail("it trains")
        )


def test_another_optimiser_is_another_measurement(tmp_path: Any) -> None:
    import torch

    import unweave
    from correction_models import perceptron, small_points

    def measured(**settings: Any) -> unweave.FeatureCorrection:
        recipe = Recipe(epochs=1, batch=20, learning_rate=1e-3, **settings)
        quick: dict[str, Any] = {"seeds": 1, "depths": (1,), "windows": (0,), "prox": (), "has_layerwise": False}
        return unweave.measure_feature_correction(
            perceptron(), small_points(0), recipe=recipe, folder=tmp_path, **quick
        )

    measured(optimiser=torch.optim.Adam)
    measured(optimiser=torch.optim.Adam)
    for other in ({}, {"optimiser": torch.optim.AdamW}, {"optimiser": torch.optim.Adam, "schedule": CosineSchedule()}):
        with pytest.raises(InvalidInput, match=r"other settings \(recipe\)"):
            measured(**other)


def test_what_a_schedule_ends_is_not_told_as_converged() -> None:
    import torch

    from correction_models import perceptron, small_points
    from unweave.explore.feature_correction.plan import Plan
    from unweave.explore.feature_correction.samples import check_samples
    from unweave.explore.feature_correction.subjects import Deadline
    from unweave.explore.feature_correction.torch_subject import torch_subject

    samples, found = check_samples(small_points(0), has_validation=False, random_state=0), []
    for schedule in (None, CosineSchedule(), CosineSchedule(final=0.5)):
        recipe = Recipe(epochs=5, batch=20, learning_rate=1e-2, optimiser=torch.optim.Adam, schedule=schedule)
        subject = torch_subject(perceptron(), samples, units=None, recipe=recipe)
        trained = subject.train(Plan(2, (1,), (), (), (0,)).only(0, 1), None, Deadline())
        found.append(trained.late_progress is not None)
    assert found == [True, False, True]
