from pathlib import Path

import numpy as np
import pytest

from late import LateModule
from unweave.exceptions import InvalidInput
from unweave.explore.feature_correction.image_data import load_images

Image = LateModule("PIL.Image")


def write_cifar(path: Path, labels: np.ndarray, images: np.ndarray) -> None:
    path.write_bytes(np.concatenate([labels, images.reshape(len(images), -1)], axis=1).astype(np.uint8).tobytes())


def cifar10(folder: Path, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    images, labels = rng.integers(0, 256, (12, 3, 32, 32), dtype=np.uint8), rng.integers(0, 10, 12)
    for number in range(5):
        part = slice(2 * number, 2 * number + 2)
        write_cifar(folder / f"data_batch_{number + 1}.bin", labels[part, None], images[part])
    write_cifar(folder / "test_batch.bin", labels[10:, None], images[10:])
    return images, labels


def arrays(rng: np.random.Generator, *, size: int = 8) -> dict[str, np.ndarray]:
    return {
        "x_train": rng.integers(0, 256, (6, size, size, 3), dtype=np.uint8),
        "y_train": np.array([0, 1, 2, 0, 1, 2]),
        "x_test": rng.integers(0, 256, (3, size, size, 3), dtype=np.uint8),
        "y_test": np.array([2, 1, 0]),
    }


def test_cifar_10_in_binary_version(tmp_path: Path, seed: int) -> None:
    images, labels = cifar10(tmp_path, np.random.default_rng(seed))
    found = load_images(tmp_path)
    assert np.array_equal(np.concatenate([found.train_images, found.test_images]), images)
    assert np.array_equal(np.concatenate([found.train_labels, found.test_labels]), labels)
    assert (found.classes, found.shape) == (10, (3, 32, 32))


def test_cifar_100_takes_the_fine_label(tmp_path: Path, seed: int) -> None:
    images = np.random.default_rng(seed).integers(0, 256, (3, 3, 32, 32), dtype=np.uint8)
    for name in ("train.bin", "test.bin"):
        write_cifar(tmp_path / name, np.array([[1, 99], [19, 50], [0, 0]]), images)
    found = load_images(tmp_path)
    assert found.train_labels.tolist() == [99, 50, 0]
    assert found.classes == 100
    assert np.array_equal(found.test_images, images)


@pytest.mark.parametrize("is_archive", [True, False])
def test_arrays_with_channels_last_and_first(tmp_path: Path, is_archive: bool, seed: int) -> None:
    given = arrays(np.random.default_rng(seed))
    given["x_test"] = given["x_test"].transpose(0, 3, 1, 2)
    if is_archive:
        np.savez(tmp_path / "images.npz", **given)
    else:
        for name, array in given.items():
            np.save(tmp_path / f"{name}.npy", array)
    found = load_images(tmp_path)
    assert np.array_equal(found.train_images, given["x_train"].transpose(0, 3, 1, 2))
    assert np.array_equal(found.test_images, given["x_test"])
    assert found.class_names == ("0", "1", "2")


def test_pictures_in_folders(tmp_path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for part in ("train", "test"):
        for name in ("dog", "cat"):
            (tmp_path / part / name).mkdir(parents=True)
            pixels = rng.integers(0, 256, (8, 8, 3), dtype=np.uint8)
            Image.fromarray(pixels).save(tmp_path / part / name / "one.png")
    found = load_images(tmp_path)
    assert found.class_names == ("cat", "dog")
    assert found.test_labels.tolist() == [0, 1]
    assert np.array_equal(found.test_images[1], pixels.transpose(2, 0, 1)) is False
    assert np.array_equal(found.test_images[0], pixels.transpose(2, 0, 1))


@pytest.mark.parametrize(("mode", "channels"), [("L", 1), ("RGB", 3)])
def test_jpeg_files_are_read_as_they_are_decoded(tmp_path: Path, mode: str, channels: int, seed: int) -> None:
    rng, written = np.random.default_rng(seed), []
    for part in ("train", "test"):
        for name in ("dog", "cat"):
            (tmp_path / part / name).mkdir(parents=True)
            path = tmp_path / part / name / ("one.JPG" if name == "dog" else "one.jpeg")
            pixels = rng.integers(0, 256, (6, 8, channels), dtype=np.uint8)
            Image.fromarray(pixels[:, :, 0] if mode == "L" else pixels).save(path, format="JPEG")
            written.append(np.asarray(Image.open(path)).reshape(6, 8, channels).transpose(2, 0, 1))
    found = load_images(tmp_path)
    assert found.shape == (channels, 6, 8)
    assert np.array_equal(found.train_images[[1, 0]], written[:2])
    assert np.array_equal(found.test_images[[1, 0]], written[2:])


@pytest.mark.parametrize("axis", [None, 1, 3])
def test_grey_arrays_need_no_axis_of_channels(tmp_path: Path, axis: int | None, seed: int) -> None:
    given = arrays(np.random.default_rng(seed))
    grey = {name: given[name][:, :, :, 0] for name in ("x_train", "x_test")}
    shown = grey if axis is None else {name: np.expand_dims(each, axis) for name, each in grey.items()}
    np.savez(tmp_path / "images.npz", **{**given, **shown})
    found = load_images(tmp_path)
    assert found.shape == (1, 8, 8)
    assert np.array_equal(found.train_images[:, 0], grey["x_train"])


def test_pictures_that_would_fill_the_memory_are_refused_before_they_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for part in ("train", "test"):
        for name in ("dog", "cat"):
            (tmp_path / part / name).mkdir(parents=True)
            Image.new("L", (8, 8)).save(tmp_path / part / name / "one.png")
    monkeypatch.setattr("unweave.explore.feature_correction.image_data.MOST_PICTURE_BYTES", 4 * 64)
    assert len(load_images(tmp_path).train_images) == 2
    monkeypatch.setattr("unweave.explore.feature_correction.image_data.MOST_PICTURE_BYTES", 4 * 64 - 1)
    with pytest.raises(InvalidInput, match="holds pictures of 256 bytes"):
        load_images(tmp_path)


def test_a_picture_of_more_points_than_anybody_draws_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for part in ("train", "test"):
        (tmp_path / part / "dog").mkdir(parents=True)
        Image.new("L", (30, 30)).save(tmp_path / part / "dog" / "one.png")
    monkeypatch.setattr("PIL.Image.MAX_IMAGE_PIXELS", 600)
    with pytest.raises(InvalidInput, match="decompression bomb"):
        load_images(tmp_path)


def test_floats_lie_between_0_and_1(tmp_path: Path, seed: int) -> None:
    np.savez(tmp_path / "images.npz", **arrays(np.random.default_rng(seed)))
    found = load_images(tmp_path)
    train, labels, _, _ = found.as_floats()
    assert train.dtype == np.float32
    assert np.array_equal(np.rint(train * 255), found.train_images)
    assert np.array_equal(labels, found.train_labels)


@pytest.mark.parametrize("names", [("data_batch_1", "test_batch"), ("train", "test", "meta"), ("images.pkl",)])
def test_pickles_are_refused_in_words(tmp_path: Path, names: tuple[str, ...]) -> None:
    for name in names:
        (tmp_path / name).write_bytes(b"\x80\x04")
    with pytest.raises(InvalidInput, match="binary version"):
        load_images(tmp_path)


def test_arrays_of_objects_are_refused(tmp_path: Path, seed: int) -> None:
    given = arrays(np.random.default_rng(seed))
    given["y_train"] = np.array([object()] * 6)
    np.savez(tmp_path / "images.npz", **given)
    with pytest.raises(InvalidInput, match="no pickles"):
        load_images(tmp_path)


def test_unknown_folders_are_described(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="found nothing"):
        load_images(tmp_path)
    (tmp_path / "notes.txt").touch()
    (tmp_path / "pictures").mkdir()
    with pytest.raises(InvalidInput, match=r"found notes.txt, pictures/"):
        load_images(tmp_path)
    with pytest.raises(InvalidInput, match="need a folder"):
        load_images(tmp_path / "notes.txt")


def test_broken_cifar_files_are_refused(tmp_path: Path, seed: int) -> None:
    cifar10(tmp_path, np.random.default_rng(seed))
    third = tmp_path / "data_batch_3.bin"
    content = third.read_bytes()
    third.write_bytes(content[:-1])
    with pytest.raises(InvalidInput, match="records of 3073 bytes each, got 6145"):
        load_images(tmp_path)
    third.write_bytes(b"\x0b" + content[1:])
    with pytest.raises(InvalidInput, match="labels below 10, got 11"):
        load_images(tmp_path)
    third.unlink()
    with pytest.raises(InvalidInput, match=r"lacks data_batch_3.bin"):
        load_images(tmp_path)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"x_train": np.zeros((6, 8, 8, 3))}, "needs bytes"),
        ({"x_train": np.zeros((6, 8, 8, 2), dtype=np.uint8)}, "3 channels"),
        ({"x_train": np.zeros((6, 8, 8, 1), dtype=np.uint8)}, "images of one shape"),
        ({"x_train": np.zeros((6, 3, 3, 3), dtype=np.uint8)}, "3 channels"),
        ({"x_test": np.zeros((3, 9, 9, 3), dtype=np.uint8)}, "images of one shape"),
        ({"y_train": np.zeros(5, dtype=int)}, r"one integer per image, shape \(6,\)"),
        ({"y_train": np.zeros(6)}, "one integer per image"),
        ({"y_train": np.array([-1, 1, 2, 0, 1, 2])}, "from 0 on"),
        ({"y_test": np.array([3, 0, 0])}, "labels that y_train has"),
        ({"class_names": np.array(["one"])}, "a name for each of 3 classes"),
    ],
)
def test_wrong_arrays_are_refused(tmp_path: Path, changes: dict[str, np.ndarray], words: str, seed: int) -> None:
    np.savez(tmp_path / "images.npz", **{**arrays(np.random.default_rng(seed)), **changes})
    with pytest.raises(InvalidInput, match=words):
        load_images(tmp_path)


def test_missing_and_doubled_arrays_are_refused(tmp_path: Path, seed: int) -> None:
    given = arrays(np.random.default_rng(seed))
    np.save(tmp_path / "x_train.npy", given["x_train"])
    with pytest.raises(InvalidInput, match="found x_train"):
        load_images(tmp_path)
    np.savez(tmp_path / "images.npz", **given)
    with pytest.raises(InvalidInput, match="remove what is not meant"):
        load_images(tmp_path)


def test_wrong_pictures_are_refused(tmp_path: Path) -> None:
    for part in ("train", "test"):
        (tmp_path / part / "cat").mkdir(parents=True)
    with pytest.raises(InvalidInput, match="needs PNG or JPEG files, found none"):
        load_images(tmp_path)
    for part in ("train", "test"):
        Image.new("RGBA", (8, 8)).save(tmp_path / part / "cat" / "one.png")
    with pytest.raises(InvalidInput, match="mode RGBA"):
        load_images(tmp_path)
    for part in ("train", "test"):
        Image.new("RGB", (8, 8)).save(tmp_path / part / "cat" / "one.png")
    Image.new("RGB", (9, 8)).save(tmp_path / "train" / "cat" / "two.png")
    with pytest.raises(InvalidInput, match="images of one size"):
        load_images(tmp_path)
    Image.new("L", (8, 8)).save(tmp_path / "train" / "cat" / "two.png")
    with pytest.raises(InvalidInput, match="one kind, all grey or all RGB"):
        load_images(tmp_path)
    (tmp_path / "train" / "cat" / "two.png").write_bytes(b"no image")
    with pytest.raises(InvalidInput, match="needs to be a PNG or JPEG file"):
        load_images(tmp_path)
    (tmp_path / "train" / "dog").mkdir()
    with pytest.raises(InvalidInput, match="the same class folders"):
        load_images(tmp_path)
