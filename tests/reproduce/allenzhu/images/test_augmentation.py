import numpy as np
import pytest

from late import LateModule, nn, torch
from unweave.exceptions import InvalidInput
from unweave.explore.feature_correction.recipes import Compose

augmentation = LateModule("unweave.reproduce.allenzhu.images.augmentation")

# As they write themselves: listing the tests needs no torch.
TRANSFORMS = [
    "RandomCrop(padding=4)",
    "RandomFlip()",
    "Cutout(share=0.5)",
    "Compose(transforms=(RandomCrop(padding=2), RandomFlip(), Cutout(share=0.25)))",
]


@pytest.fixture
def transform(request: pytest.FixtureRequest) -> object:
    kinds = {name: getattr(augmentation, name) for name in ("RandomCrop", "RandomFlip", "Cutout")}
    made = eval(request.param, kinds | {"Compose": Compose})
    assert repr(made) == request.param
    return made


def batch(seed: int, images: int = 40, size: int = 10) -> "tuple[torch.Tensor, torch.Tensor]":
    generator = torch.Generator().manual_seed(seed)
    # Never zero, so that zeros are what a transform put there.
    return torch.rand(images, 3, size, size, generator=generator) + 1.0, torch.zeros(images, dtype=torch.int64)


def applied(transform: object, seed: int) -> "torch.Tensor":
    images, labels = batch(seed)
    assert callable(transform)
    return transform(nn.Identity(), images, labels, torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("transform", TRANSFORMS, indirect=True)
def test_the_generator_decides_everything(transform: object, seed: int) -> None:
    images, labels = batch(seed)
    torch.testing.assert_close(applied(transform, seed), applied(transform, seed), rtol=0, atol=0)
    assert callable(transform)
    other = transform(nn.Identity(), images, labels, torch.Generator().manual_seed(seed + 1))
    assert not torch.equal(applied(transform, seed), other)
    assert other.shape == images.shape


def test_crops_are_windows_of_the_padded_image(seed: int) -> None:
    images, _ = batch(seed)
    padded = nn.functional.pad(images, (4, 4, 4, 4))
    shifts = set()
    for image, found in zip(padded, applied(augmentation.RandomCrop(), seed), strict=True):
        windows = {(top, left): image[:, top : top + 10, left : left + 10] for top in range(9) for left in range(9)}
        matching = [place for place, window in windows.items() if torch.equal(window, found)]
        assert len(matching) == 1
        shifts.add(matching[0])
    assert len(shifts) > 20


def test_about_half_of_the_images_are_flipped(seed: int) -> None:
    images, _ = batch(seed)
    found = applied(augmentation.RandomFlip(), seed)
    flipped = [torch.equal(each, image.flip(2)) for each, image in zip(found, images, strict=True)]
    kept = [torch.equal(each, image) for each, image in zip(found, images, strict=True)]
    assert sum(flipped) + sum(kept) == 40
    assert 8 <= sum(flipped) <= 32


def test_cutout_cuts_one_rectangle_within_its_square(seed: int) -> None:
    images, _ = batch(seed)
    found = applied(augmentation.Cutout(), seed)
    for image, cut in zip(images, found, strict=True):
        rows, columns = torch.nonzero(cut[0] == 0, as_tuple=True)
        height, width = (int(each.max() - each.min()) + 1 for each in (rows, columns))
        assert len(rows) == height * width
        assert 2 <= height <= 5
        assert 2 <= width <= 5
        is_kept = cut != 0
        assert torch.equal(cut[is_kept], image[is_kept])
        assert torch.equal(is_kept[0], is_kept[2])
    assert (found == 0).sum(dim=(1, 2, 3)).max() == 3 * 25


def test_normalised_training_images_have_mean_0_and_deviation_1(seed: int) -> None:
    images, labels = batch(seed)
    images = images * torch.tensor([1.0, 2.0, 0.1])[:, None, None]
    found = augmentation.Normalisation.of(images.numpy())(nn.Identity(), images, labels, torch.Generator())
    torch.testing.assert_close(found.mean(dim=(0, 2, 3)), torch.zeros(3), atol=1e-5, rtol=0)
    torch.testing.assert_close(found.std(dim=(0, 2, 3), correction=0), torch.ones(3))


def test_constant_channels_are_refused() -> None:
    with pytest.raises(InvalidInput, match="channels that vary"):
        augmentation.Normalisation.of(np.ones((4, 3, 2, 2), dtype=np.float32))
