"""Images of a user's folder: CIFAR's binary files, NumPy arrays, PNG or JPEG files; nothing is fetched or unpickled."""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float32, Int64, UInt8
from numpy.lib.npyio import NpzFile

from unweave.exceptions import InvalidInput
from unweave.extras import need

ImageBytes = UInt8[np.ndarray, "images channels height width"]
ImageFloats = Float32[np.ndarray, "images channels height width"]
ClassLabels = Int64[np.ndarray, "images"]
TestFloats = Float32[np.ndarray, "tests channels height width"]
TestLabels = Int64[np.ndarray, "tests"]
TrainAndTest = tuple[ImageFloats, ClassLabels, TestFloats, TestLabels]

ARRAY_NAMES = ("x_train", "y_train", "x_test", "y_test")
CIFAR10_CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
CIFAR10_BATCHES = tuple(f"data_batch_{number}.bin" for number in range(1, 6))
# A record holds its label bytes, then 32 x 32 bytes of red, of green and of blue.
CIFAR_SIDE = 32
CIFAR_PIXELS = 3 * CIFAR_SIDE**2
# Files of CIFAR's Python version, which are pickles; a folder named train or test is not meant.
PICKLES = ("data_batch_1", "test_batch", "train", "test")
LAYOUTS = (
    "data_batch_1.bin to data_batch_5.bin with test_batch.bin (CIFAR-10, binary version), "
    "train.bin with test.bin (CIFAR-100, binary version), one .npz file or four .npy files with "
    "x_train, y_train, x_test, y_test, or PNG or JPEG files in folders train/<class>/ and test/<class>/"
)
# How names of picture files end, in any case, and what may be in them.
PICTURE_ENDINGS = (".png", ".jpg", ".jpeg")
PICTURE_FORMATS = ("PNG", "JPEG")
# How Pillow calls pictures of one channel and of three, with 8 bits each.
PICTURE_MODES = {"L": 1, "RGB": 3}
# Bytes of all pictures that are held in memory, at most. Chosen: what a small machine has to spare, as floats take four
# times as much.
MOST_PICTURE_BYTES = 1_000_000_000


@dataclass(frozen=True, eq=False)
class ImageData:
    """Images of training and test with their classes.

    Attributes:
        class_names: one per class, in the order of the labels.
        source: where the images come from, in words.
    """

    train_images: ImageBytes
    train_labels: ClassLabels
    test_images: UInt8[np.ndarray, "tests channels height width"]
    test_labels: TestLabels
    class_names: tuple[str, ...]
    source: str

    @property
    def classes(self) -> int:
        """How many there are."""
        return len(self.class_names)

    @property
    def shape(self) -> tuple[int, int, int]:
        """Channels, height and width of one image."""
        channels, height, width = self.train_images.shape[1:]
        return channels, height, width

    def as_floats(self) -> TrainAndTest:
        """Training images within [0, 1], their labels, test images, their labels."""
        train, test = (images.astype(np.float32) / np.float32(255) for images in (self.train_images, self.test_images))
        return train, self.train_labels, test, self.test_labels


def load_images(folder: Path) -> ImageData:
    """Read the training and test images of a folder.

    Args:
        folder: holds one of: CIFAR-10 or CIFAR-100 in their binary version, arrays ``x_train, y_train, x_test, y_test``
            (one ``.npz`` or four ``.npy``; images are bytes with 3 channels or 1, last or first, or grey without an
            axis of channels), or PNG or JPEG files in ``train/<class>/`` and ``test/<class>/``, all grey or all RGB.

    Raises:
        InvalidInput: if the folder holds none of these, or something in it is off.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise InvalidInput(f"images need a folder, but {folder} is none: it should hold {LAYOUTS}.")
    if any((folder / name).is_file() for name in (*CIFAR10_BATCHES, "test_batch.bin")):
        return _read_cifar10(folder)
    if (folder / "train.bin").is_file() or (folder / "test.bin").is_file():
        return _read_cifar100(folder)
    if sorted(folder.glob("*.np[yz]")):
        return _read_arrays(folder)
    if (folder / "train").is_dir() or (folder / "test").is_dir():
        return _read_pictures(folder)
    raise InvalidInput(_nothing_known_in(folder))


def _nothing_known_in(folder: Path) -> str:
    names = sorted(path.name + "/" * path.is_dir() for path in folder.iterdir())
    found = ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "") or "nothing"
    is_pickled = any((folder / name).is_file() for name in PICKLES) or any(
        Path(name).suffix == ".pkl" for name in names
    )
    if is_pickled:
        return (
            f"{folder} holds {found}: these are Python pickles, which can run any code when they are read and are "
            "refused. Take the archive that CIFAR's home page calls binary version (suitable for C programs)."
        )
    return f"{folder} needs to hold {LAYOUTS}; found {found}."


def _read_cifar10(folder: Path) -> ImageData:
    train = [_records(folder / name, labels=1, classes=10) for name in CIFAR10_BATCHES]
    test_images, test_labels = _records(folder / "test_batch.bin", labels=1, classes=10)
    images, labels = (np.concatenate(parts) for parts in zip(*train, strict=True))
    return ImageData(images, labels, test_images, test_labels, CIFAR10_CLASSES, f"CIFAR-10 binary files in {folder}")


def _read_cifar100(folder: Path) -> ImageData:
    train_images, train_labels = _records(folder / "train.bin", labels=2, classes=100)
    test_images, test_labels = _records(folder / "test.bin", labels=2, classes=100)
    names = _class_names(folder / "fine_label_names.txt", classes=100)
    return ImageData(train_images, train_labels, test_images, test_labels, names, f"CIFAR-100 binary files in {folder}")


def _class_names(path: Path, *, classes: int) -> tuple[str, ...]:
    """One name per line where CIFAR's file of names is there, numbers otherwise."""
    if not path.is_file():
        return tuple(map(str, range(classes)))
    names = tuple(path.read_text().split())
    if len(set(names)) != classes:
        raise InvalidInput(f"{path} needs {classes} different names, got {len(set(names))}: restore or remove it.")
    return names


def _records(path: Path, *, labels: int, classes: int) -> tuple[ImageBytes, ClassLabels]:
    """Images and the last of their label bytes (the fine one of CIFAR-100)."""
    record = labels + CIFAR_PIXELS
    if not path.is_file():
        raise InvalidInput(f"{path.parent} lacks {path.name}: unpack the whole archive of CIFAR's binary version.")
    content = np.fromfile(path, dtype=np.uint8)
    if content.size == 0 or content.size % record:
        raise InvalidInput(
            f"{path} needs records of {record} bytes each, got {content.size} bytes: the file is cut off or is not of "
            "CIFAR's binary version."
        )
    rows = content.reshape(-1, record)
    found = rows[:, labels - 1].astype(np.int64)
    if found.max() >= classes:
        raise InvalidInput(f"{path} needs labels below {classes}, got {found.max()}: is it another dataset?")
    return rows[:, labels:].reshape(-1, 3, CIFAR_SIDE, CIFAR_SIDE), found


def read_archive(path: Path) -> dict[str, np.ndarray]:
    """Read all arrays of an .npz file, by their names.

    Raises:
        InvalidInput: if it is something else, or damaged.
    """
    try:
        found = np.load(path, allow_pickle=False)
        if not isinstance(found, NpzFile):
            raise ValueError("it holds a single array")
        with found as arrays:
            return {name: arrays[name] for name in arrays.files}
    # NumPy and zipfile raise errors of many kinds for damaged files, which have no class in common.
    except Exception as error:
        raise InvalidInput(f"{path} needs to be an .npz file of arrays: {error}.") from error


def _read_arrays(folder: Path) -> ImageData:
    archives, arrays = sorted(folder.glob("*.npz")), sorted(folder.glob("*.npy"))
    if len(archives) > 1 or (archives and arrays):
        names = ", ".join(path.name for path in archives + arrays)
        raise InvalidInput(f"{folder} needs one .npz file or four .npy files, found {names}: remove what is not meant.")
    try:
        if archives:
            found = read_archive(archives[0])
        else:
            found = {path.stem: np.load(path, allow_pickle=False) for path in arrays}
    # NumPy raises errors of many kinds for damaged files, which have no class in common.
    except Exception as error:
        raise InvalidInput(f"{folder} needs arrays of numbers that are no pickles: {error}.") from error
    missing = [name for name in ARRAY_NAMES if name not in found]
    if missing:
        raise InvalidInput(f"{folder} needs the arrays {', '.join(ARRAY_NAMES)}; found {', '.join(sorted(found))}.")
    return _from_arrays(found, f"arrays in {folder}")


def _from_arrays(found: dict[str, np.ndarray], source: str) -> ImageData:
    train_images, test_images = (_channels_first(found[name], name=name) for name in ("x_train", "x_test"))
    if train_images.shape[1:] != test_images.shape[1:]:
        shapes = f"{train_images.shape[1:]} and {test_images.shape[1:]}"
        raise InvalidInput(f"x_train and x_test need images of one shape, got {shapes}.")
    train_labels = _require_labels(found["y_train"], images=len(train_images), name="y_train")
    test_labels = _require_labels(found["y_test"], images=len(test_images), name="y_test")
    classes = int(train_labels.max()) + 1
    if test_labels.max() >= classes:
        raise InvalidInput(f"y_test needs labels that y_train has (0 to {classes - 1}), got {test_labels.max()}.")
    names = tuple(map(str, found.get("class_names", np.arange(classes))))
    if len(names) < classes:
        raise InvalidInput(f"class_names needs a name for each of {classes} classes, got {len(names)}.")
    return ImageData(train_images, train_labels, test_images, test_labels, names, source)


def _channels_first(images: np.ndarray, *, name: str) -> ImageBytes:
    if images.dtype != np.uint8 or images.ndim not in (3, 4) or len(images) == 0:
        raise InvalidInput(
            f"{name} needs bytes (uint8) of shape images x height x width, with 1 or 3 channels last or second, got "
            f"{images.dtype} of shape {images.shape}: scale to 0 to 255 and convert."
        )
    if images.ndim == 3:
        return images[:, None]
    is_first, is_last = (images.shape[axis] in PICTURE_MODES.values() for axis in (1, 3))
    if is_first == is_last:
        raise InvalidInput(f"{name} needs 3 channels, or 1, on its second or on its last axis, got {images.shape}.")
    return images if is_first else np.ascontiguousarray(images.transpose(0, 3, 1, 2))


def _require_labels(labels: np.ndarray, *, images: int, name: str) -> ClassLabels:
    if labels.shape != (images,) or not np.issubdtype(labels.dtype, np.integer):
        raise InvalidInput(
            f"{name} needs one integer per image, shape ({images},), got {labels.dtype} of shape {labels.shape}."
        )
    if labels.min() < 0:
        raise InvalidInput(f"{name} needs labels from 0 on, got {labels.min()}.")
    return labels.astype(np.int64)


def _read_pictures(folder: Path) -> ImageData:
    need("PIL", purpose="reading pictures")
    parts = {name: folder / name for name in ("train", "test")}
    classes = {name: _subfolders(path) for name, path in parts.items()}
    if not classes["train"] or classes["train"] != classes["test"]:
        found = " and ".join(", ".join(names) or "none" for names in classes.values())
        raise InvalidInput(f"{folder} needs the same class folders in train and in test; found {found}.")
    names = classes["train"]
    paths = {part: [_picture_files(path / name) for name in names] for part, path in parts.items()}
    every = [path for part in paths.values() for one_class in part for path in one_class]
    _check_alike(folder, every)
    arrays: dict[str, np.ndarray] = {"class_names": np.array(names)}
    for part, of_classes in paths.items():
        arrays[f"x_{part}"] = _decoded([path for one_class in of_classes for path in one_class])
        arrays[f"y_{part}"] = np.repeat(np.arange(len(names)), [len(one_class) for one_class in of_classes])
    return _from_arrays(arrays, f"pictures in {folder}")


def _subfolders(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.is_dir()) if folder.is_dir() else []


def _picture_files(folder: Path) -> list[Path]:
    paths = sorted(path for path in folder.iterdir() if path.suffix.lower() in PICTURE_ENDINGS)
    if not paths:
        raise InvalidInput(f"{folder} needs PNG or JPEG files, found none.")
    return paths


def _check_alike(folder: Path, paths: Sequence[Path]) -> None:
    """Look at the heads of all pictures before one is decoded: of one size and kind, and not more than fits."""
    kinds: dict[tuple[str, tuple[int, int]], Path] = {}
    for path in paths:
        with _opened(path) as picture:
            if picture.mode not in PICTURE_MODES:
                raise InvalidInput(f"{path} needs to be an RGB or a grey image, got mode {picture.mode}: convert it.")
            kinds.setdefault((picture.mode, picture.size), path)
        if len(kinds) > 1:
            (one, one_path), (other, other_path) = kinds.items()
            unlike = "size" if one[0] == other[0] else "kind, all grey or all RGB"
            raise InvalidInput(
                f"{folder} needs images of one {unlike}, found {one} in {one_path} and {other} in {other_path}: "
                "convert them."
            )
    ((mode, (width, height)),) = kinds
    size = len(paths) * width * height * PICTURE_MODES[mode]
    if size > MOST_PICTURE_BYTES:
        raise InvalidInput(
            f"{folder} holds pictures of {size:,} bytes, and {MOST_PICTURE_BYTES:,} are held in memory at most: read "
            "them with a torch Dataset of your own, from Python."
        )


def _decoded(paths: Sequence[Path]) -> UInt8[np.ndarray, "images height width *channels"]:
    """Pictures of one size and kind."""
    pixels = np.empty(0, dtype=np.uint8)
    for number, path in enumerate(paths):
        with _opened(path) as picture:
            one = np.asarray(picture)
        if number == 0:
            pixels = np.empty((len(paths), *one.shape), dtype=np.uint8)
        pixels[number] = one
    return pixels


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    """Open a picture; decoding it fails in the same words."""
    from PIL import Image, UnidentifiedImageError

    try:
        with warnings.catch_warnings():
            # A picture that would fill the memory is no picture.
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(path, formats=PICTURE_FORMATS) as picture:
                yield picture
    except (UnidentifiedImageError, OSError, Image.DecompressionBombWarning, Image.DecompressionBombError) as error:
        raise InvalidInput(f"{path} needs to be a PNG or JPEG file: {error}.") from error
