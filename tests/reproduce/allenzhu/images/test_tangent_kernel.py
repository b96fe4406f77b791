"""The tangent kernel against differences of the network, whitening, and the sizes of miniatures."""

import numpy as np
import pytest

from late import LateModule, torch
from unweave.exceptions import InvalidInput
from unweave.explore.feature_correction.recipes import Recipe
from unweave.explore.feature_correction.subjects import Deadline
from unweave.reproduce.allenzhu.images.blueprints import ResidualBlueprint
from unweave.reproduce.allenzhu.images.configurations import FIGURES
from unweave.reproduce.allenzhu.images.miniatures import configuration_at, sizes_at
from unweave.reproduce.experiment import Scale

tangents = LateModule("unweave.reproduce.allenzhu.images.tangent_kernel")


def tangent(seed: int) -> "tuple[tangents.TangentNetwork, torch.Tensor]":
    base = ResidualBlueprint(10, 0.125).build(seed, classes=3, shape=(3, 8, 8)).double()
    images = torch.rand(12, 3, 8, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    tangents.settle_norms(base, images)
    return tangents.TangentNetwork(base, 3), images


def test_answers_are_derivatives_along_the_direction_of_each_class(seed: int) -> None:
    model, images = tangent(seed)
    assert not torch.any(model(images))
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for each in model.directions:
            each.copy_(torch.randn(each.shape, generator=generator, dtype=each.dtype))
        answers, step = model.train()(images), 1e-6
        for label in range(3):
            moved = []
            for sign in (1, -1):
                for weight, direction in zip(model.base.parameters(), model.directions, strict=True):
                    weight.add_(sign * step * direction[label])
                moved.append(model.base(images)[:, label])
                for weight, direction in zip(model.base.parameters(), model.directions, strict=True):
                    weight.sub_(sign * step * direction[label])
            torch.testing.assert_close(answers[:, label], (moved[0] - moved[1]) / (2 * step), rtol=1e-4, atol=1e-4)


def test_norms_have_the_statistics_of_the_images(seed: int) -> None:
    model, images = tangent(seed)
    norm = next(each for each in model.base.modules() if isinstance(each, torch.nn.BatchNorm2d))
    stem = model.base.get_submodule("stem")
    hidden = stem(images)
    torch.testing.assert_close(norm.running_mean, hidden.mean(dim=(0, 2, 3)), rtol=1e-6, atol=1e-8)


def test_adam_lowers_the_loss(seed: int) -> None:
    from unweave.explore.feature_correction.training import RecipeLoop, pull

    model, images = tangent(seed)
    labels = torch.arange(12) % 3
    recipe = Recipe(epochs=8, learning_rate=1e-2, weight_decay=0.0, batch=6, optimiser=torch.optim.Adam)
    loop = RecipeLoop(recipe, images, labels, None)
    trained = [each for each in model.parameters() if each.requires_grad]
    losses = loop(model, trained, pull([], 0.0), seed, Deadline.after(None))
    assert losses[0] == pytest.approx(np.log(3.0))
    assert losses[-1] < 0.9 * losses[0]


def test_whitening_decorrelates_what_images_have(seed: int) -> None:
    from unweave.reproduce.allenzhu.images.augmentation import ZcaWhitening

    rng = np.random.default_rng(seed)
    images = (rng.standard_normal((400, 12)) @ rng.standard_normal((12, 12))).reshape(400, 3, 2, 2).astype(np.float32)
    whitening = ZcaWhitening.of(images)
    given = torch.from_numpy(images)
    found = (
        whitening(torch.nn.Identity(), given, torch.zeros(400, dtype=torch.int64), torch.Generator())
        .flatten(start_dim=1)
        .numpy()
    )
    covariance = np.cov(images.reshape(400, -1).T.astype(np.float64), bias=True)
    values = np.linalg.eigvalsh(covariance)
    expected = values / (values + 0.1 * values.mean())
    np.testing.assert_allclose(np.linalg.eigvalsh(np.cov(found.T, bias=True)), np.sort(expected), atol=1e-4)
    with pytest.raises(InvalidInput, match="images that differ"):
        ZcaWhitening.of(np.ones((5, 3, 2, 2), dtype=np.float32))


@pytest.mark.parametrize("name", FIGURES)
def test_miniatures_grow_with_the_scale(name: str) -> None:
    quick, usual, full = (configuration_at(name, scale, {}) for scale in Scale)
    assert [each.is_miniature for each in (quick, usual, full)] == [True, True, False]
    assert quick.images is not None
    assert usual.images is not None
    assert quick.images < usual.images
    assert quick.networks[0].recipes[0].epochs < usual.networks[0].recipes[0].epochs
    assert sizes_at(name, Scale.FULL) == {}
    # What is asked for by name counts more.
    assert configuration_at(name, Scale.QUICK, {"seeds": 7}).seeds == 7
