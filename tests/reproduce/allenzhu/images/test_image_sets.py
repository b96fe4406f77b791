import numpy as np
import pytest

from unweave.exceptions import InvalidInput
from unweave.explore.feature_correction.image_data import CIFAR10_CLASSES, ImageData
from unweave.reproduce.allenzhu.images.image_sets import as_two_classes, digit_images, random_subset


def test_two_classes_of_cifar(seed: int) -> None:
    labels = np.random.default_rng(seed).integers(0, 10, 12)
    images = np.zeros((12, 3, 32, 32), dtype=np.uint8)
    found = as_two_classes(ImageData(images, labels, images[10:], labels[10:], CIFAR10_CLASSES, "made"))
    animals = {"bird", "cat", "deer", "dog", "horse"}
    assert found.train_labels.tolist() == [int(CIFAR10_CLASSES[label] in animals) for label in labels]
    assert found.test_labels.tolist() == [int(CIFAR10_CLASSES[label] in animals) for label in labels[10:]]
    assert found.classes == 2


def test_two_classes_need_the_classes_of_cifar() -> None:
    with pytest.raises(InvalidInput, match="bird, cat, deer, dog, horse are missing"):
        as_two_classes(digit_images())


def test_subsets_repeat_and_keep_pairs(seed: int) -> None:
    marks = np.arange(20, dtype=np.uint8)
    images = np.broadcast_to(marks[:, None, None, None], (20, 3, 4, 4)).copy()
    labels = marks.astype(np.int64) % 2
    whole = ImageData(images, labels, images, labels, ("even", "odd"), "made")
    part, again, other = (random_subset(whole, 7, seed=each) for each in (seed, seed, seed + 1))
    assert np.array_equal(part.train_images, again.train_images)
    assert not np.array_equal(part.train_images, other.train_images)
    assert len(set(part.train_images[:, 0, 0, 0])) == len(set(part.test_images[:, 0, 0, 0])) == 7
    assert np.array_equal(part.train_images[:, 0, 0, 0] % 2, part.train_labels)
    assert np.array_equal(part.test_images[:, 0, 0, 0] % 2, part.test_labels)
    assert len(random_subset(whole, 99, seed=seed).train_labels) == 20


def test_subsets_lose_no_class_and_keep_shares(seed: int) -> None:
    labels = np.repeat(np.arange(12), [2, *[8] * 10, 40])
    images = np.zeros((len(labels), 3, 2, 2), dtype=np.uint8)
    whole = ImageData(images, labels, images, labels, tuple(map(str, range(12))), "made")
    assert np.bincount(random_subset(whole, 12, seed=seed).test_labels).tolist() == [1] * 12
    assert np.bincount(random_subset(whole, 61, seed=seed).train_labels).tolist() == [1, *[4] * 10, 20]
    orders = {tuple(random_subset(whole, 12, seed=each).train_labels) for each in range(3)}
    assert len(orders) == 3, "the order is random"
    with pytest.raises(InvalidInput, match="each of 12 classes, got 11"):
        random_subset(whole, 11, seed=seed)
