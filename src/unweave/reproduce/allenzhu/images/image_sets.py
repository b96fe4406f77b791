"""Images that the figures run on beside whole data sets: CIFAR-2, random subsets, and digits for miniatures."""

from dataclasses import replace

import numpy as np
from jaxtyping import Int64

from unweave.exceptions import InvalidInput
from unweave.explore.feature_correction.image_data import ImageData
from unweave.extras import need

# One of the two classes of "CIFAR-2"; all others are the other one.
CIFAR2_ANIMALS = ("bird", "cat", "deer", "dog", "horse")


def as_two_classes(images: ImageData) -> ImageData:
    """Make CIFAR-2 of CIFAR-10: bird, cat, deer, dog and horse are class 1, all others class 0.

    Raises:
        InvalidInput: if these classes are not all there.
    """
    missing = sorted(set(CIFAR2_ANIMALS) - set(images.class_names))
    if missing:
        raise InvalidInput(
            f"two classes of CIFAR-10 need class names with {', '.join(CIFAR2_ANIMALS)}; {', '.join(missing)} are "
            f"missing among {', '.join(images.class_names)}: use CIFAR-10, or add an array class_names to the file."
        )
    is_animal = np.array([name in CIFAR2_ANIMALS for name in images.class_names], dtype=np.int64)
    return replace(
        images,
        train_labels=is_animal[images.train_labels],
        test_labels=is_animal[images.test_labels],
        class_names=("other", "animal"),
        source=f"{images.source}, two classes",
    )


def random_subset(images: ImageData, count: int, *, seed: int) -> ImageData:
    """Draw at most `count` random training images, and as many test images; the same for the same seed.

    Classes keep their shares, as far as whole images allow, and at least one image each.

    Raises:
        InvalidInput: if there would be fewer images than classes.
    """
    if count < images.classes:
        raise InvalidInput(f"a subset needs an image of each of {images.classes} classes, got {count}: take more.")
    rng = np.random.default_rng(seed)
    train, test = (_draw_by_class(each, count, rng) for each in (images.train_labels, images.test_labels))
    return replace(
        images,
        train_images=images.train_images[train],
        train_labels=images.train_labels[train],
        test_images=images.test_images[test],
        test_labels=images.test_labels[test],
        source=f"{images.source}, {len(train)} and {len(test)} random images",
    )


def _draw_by_class(
    labels: Int64[np.ndarray, "labels"], count: int, rng: np.random.Generator
) -> Int64[np.ndarray, "drawn"]:
    """Draw numbers of images, in random order."""
    order = rng.permutation(len(labels))
    # Where an image stands in its class, from 0 for the first to 1; first ones come before all others.
    places = np.empty(len(labels))
    for label in np.unique(labels):
        members = labels[order] == label
        places[members] = np.arange(members.sum()) / members.sum()
    # Ties, which are as many as classes of one size, go to random classes.
    taken = np.argsort(places, kind="stable")[:count]
    return order[np.sort(taken)]


def digit_images(train: int = 500) -> ImageData:
    """Take the digits of scikit-learn, 8 x 8, the same in all three channels: an example that needs no folder."""
    need("sklearn", purpose="the example of handwritten digits")
    from sklearn.datasets import load_digits

    flat, labels = load_digits(return_X_y=True)
    # 16 grey levels, and full ink is white.
    grey = np.rint(np.asarray(flat) * (255 / 16)).astype(np.uint8).reshape(-1, 1, 8, 8)
    order = np.random.default_rng(0).permutation(len(grey))
    images, labels = grey[order].repeat(3, axis=1), np.asarray(labels)[order].astype(np.int64)
    names = tuple(map(str, range(10)))
    return ImageData(images[:train], labels[:train], images[train:], labels[train:], names, "digits of scikit-learn")
