"""Sizes of a landscape in a folder: one file each, whole or absent, from which a run that was ended goes on."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar, runtime_checkable

from unweave.activations import Activation
from unweave.exceptions import InvalidInput, UnreadableFile
from unweave.explore.configurations import check_same
from unweave.explore.landscape.experiment import LandscapeDesign
from unweave.folders import names_in, read_file, write_files
from unweave.jobs import Workers, run_jobs
from unweave.seals import check_document, sealed
from unweave.writing import Document, as_json, for_json

CONFIGURATION = "configuration.json"


@runtime_checkable
class NamedSize(Protocol):
    """A job with a name of its own among those of its configuration."""

    @property
    def name(self) -> str:
        """Of its file."""
        ...


Size = TypeVar("Size", bound=NamedSize)


@dataclass(frozen=True, eq=False)
class KeptSizes:
    """A folder of sizes that are done, all of one configuration."""

    folder: Path

    @classmethod
    def open(cls, folder: str | Path, configuration: Mapping[str, Any], *, overwrite: bool = False) -> "KeptSizes":
        """Begin in an empty folder, or go on in one of the same configuration.

        Args:
            folder: of the sizes.
            configuration: all that decides what a size gives, beside the size itself.
            overwrite: whether sizes of another configuration are removed.

        Raises:
            InvalidInput: if the folder holds something else, or sizes of another configuration.
            NotWritten: if it can't be written.
        """
        folder, asked = Path(folder), for_json(configuration)
        try:
            names = names_in(folder) if folder.exists() else set()
            held = json.loads(read_file(folder / CONFIGURATION)) if CONFIGURATION in names else None
        except (OSError, ValueError, RecursionError) as error:
            raise InvalidInput(f"{folder} can't be used for measurements: {error}: name another.") from error
        if names and not isinstance(held, dict):
            raise InvalidInput(f"{folder} holds no measurements of Unweave, so it is left alone: name another.")
        if held is not None and not overwrite:
            check_same(folder, held, asked)
        if held != asked:
            write_files(folder, {CONFIGURATION: as_json(asked) + "\n"}, removed=names - {CONFIGURATION})
        return cls(folder)

    def read(self, name: str) -> Document | None:
        """The numbers of a size, if it is done.

        Raises:
            UnreadableFile: if its file is damaged.
        """
        path = self.folder / f"{name}.json"
        if not path.exists():
            return None
        try:
            document = json.loads(read_file(path))
            check_document(document)
        except (OSError, ValueError, TypeError, RecursionError) as error:
            raise UnreadableFile(f"{path} does not hold what was measured: {error}: remove it.") from error
        return document

    def write(self, name: str, document: Document) -> None:
        """Keep the numbers of a size.

        Raises:
            NotWritten: if the disk is full, or the folder turns out to be protected.
        """
        write_files(self.folder, {f"{name}.json": as_json(sealed(document)) + "\n"})


def configuration_of(design: LandscapeDesign, **settings: Any) -> Document:
    """All that decides what a size gives, for JSON.

    Args:
        design: what is planted.
        settings: how it is searched, the seed, ...

    Raises:
        InvalidInput: for an activation without a name.
    """
    if not isinstance(design.activation, Activation):
        raise InvalidInput("sizes can be kept for activations of the library only, which have names.")
    told = {name: getattr(design, name) for name in design.__dataclass_fields__} | {
        "activation": str(design.activation)
    }
    return for_json(told | settings)


def described(search: Any) -> Document:
    """The name and the settings of a search, for a configuration."""
    return {"name": type(search).__name__} | asdict(search)


def run_sizes(
    function: Callable[[Size], Document],
    sizes: Sequence[Size],
    *,
    workers: Workers,
    kept: KeptSizes | None,
    progress: Callable[[tuple[Size, Document]], None],
) -> list[Document]:
    """Take the sizes that are kept, compute the others, and keep each at the moment at which it is done."""
    done = {place: held for place, size in enumerate(sizes) if kept and (held := kept.read(size.name)) is not None}
    for place, document in done.items():
        progress((sizes[place], document))
    missing = [place for place in range(len(sizes)) if place not in done]
    for number, document in run_jobs(function, [sizes[place] for place in missing], workers=workers):
        place = missing[number]
        if kept is not None:
            kept.write(sizes[place].name, document)
        done[place] = document
        progress((sizes[place], document))
    return [done[place] for place in range(len(sizes))]
