"""Files of separated values with a head line: their separator and coding, their rows, and what is wrong with a row.

pyarrow reads them, in blocks. Where it fails, the file is read again by Python's own reader, which knows the line.
"""

import codecs
import csv
import io
import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from unweave.exceptions import InvalidInput
from unweave.samples.sources import Chunk, SourcePiece
from unweave.samples.tables import COMPRESSED, Columns, TableSource, load_pyarrow, readable, rows_of

KIND = "a file of separated values"
# In the order of preference where several cut all lines into equally many cells.
SEPARATORS = (",", ";", "\t", "|", " ")
# From which separator and kinds of columns are told; a head line needs to fit.
BEGIN_BYTES = 2**20
BEGIN_LINES = 50
# Bytes that are read at once: 26,000 rows of 20 numbers. A row needs to fit.
BLOCK_BYTES = 2**22
# With or without the mark at the beginning that some programs write.
UTF8 = "utf-8-sig"
FLAGS = {"true", "false"}
DECIMAL_COMMA = re.compile(r"\s*[-+]?\d*,\d+\s*")
# What decoding leaves of bytes that are none of its letters.
NO_LETTER = "\ufffd"


@dataclass(frozen=True)
class CsvFile:
    """A file with its head line read.

    Args:
        path: of the file, which may be compressed (gz, bz2, zst).
        separator: between cells.
        encoding: of its letters.
        is_utf8: whether the first ones are such letters.
        names: of its columns, without blanks around them.
        head_lines: lines before the first row of numbers.
        has_open_end: whether rows end with a separator, which the names do not count.
        flags: places of the columns that hold true and false.
        rows_about: rows in all, guessed from the length of the first ones; None if the file is compressed.
    """

    path: Path
    separator: str
    encoding: str
    is_utf8: bool
    names: tuple[str, ...]
    head_lines: int
    has_open_end: bool
    flags: frozenset[int]
    rows_about: int | None

    @classmethod
    def of(cls, path: Path, *, separator: str | None = None) -> "CsvFile":
        """Read the head line, and tell the separator from the first lines if it is not given.

        Raises:
            InvalidInput: without pyarrow, and for files that are empty, no text, or have names that are no UTF-8.
        """
        with readable(path, kind=KIND):
            begin = _open(path).read(BEGIN_BYTES)
            encoding = _encoding(begin)
            text = codecs.getincrementaldecoder(encoding)(errors="replace").decode(begin, len(begin) < BEGIN_BYTES)
            _check_begin(path, text)
            whole = text if len(begin) < BEGIN_BYTES else text[: max(text.rfind("\n"), text.rfind("\r")) + 1]
            separator = separator or _separator(whole)
            records = _first_records(whole, separator)
        if not records:
            raise InvalidInput(f"{path} needs a head line of less than {BEGIN_BYTES:,} bytes, got none.")
        (head_lines, names), rows = records[0], [cells for _, cells in records[1:]]
        names, has_open_end = _columns(names, rows)
        if any(NO_LETTER in name for name in names):
            raise InvalidInput(f"{path}, line {head_lines}: names of columns are no UTF-8: save the file as UTF-8.")
        flags, rows_about = _flags(rows, len(names)), _rows_about(path, begin)
        return cls(path, separator, encoding, NO_LETTER not in text, names, head_lines, has_open_end, flags, rows_about)

    def batches(self, columns: Sequence[str], *, texts: Sequence[str] = ()) -> Iterator[Any]:
        """Yield batches of pyarrow with these columns: numbers, but for those of `texts`."""
        if next(self._rows(), None) is None:
            # pyarrow refuses a head line without rows if nothing ends it.
            return
        pyarrow, reader = load_pyarrow(""), load_pyarrow("csv")
        # Names may be there twice: pyarrow gets numbers of columns. Behind the last separator there is nothing.
        kinds = {str(self.names.index(name)): self._kind(name, texts) for name in columns}
        kinds |= {str(len(self.names)): pyarrow.null()} if self.has_open_end else {}
        batches = reader.open_csv(
            _open(self.path),
            read_options=reader.ReadOptions(
                column_names=list(map(str, range(len(self.names) + self.has_open_end))),
                skip_rows=self.head_lines,
                # With threads, blocks are read ahead while a batch is worked on.
                use_threads=False,
                block_size=BLOCK_BYTES,
                encoding="utf8" if self.encoding == UTF8 else self.encoding,
            ),
            parse_options=reader.ParseOptions(
                delimiter=self.separator,
                newlines_in_values=True,
                # pyarrow can't hand over rows of other letters.
                invalid_row_handler=_skip_blank if self.is_utf8 else None,
            ),
            convert_options=reader.ConvertOptions(include_columns=list(kinds), column_types=kinds),
        )
        for batch in batches:
            yield pyarrow.RecordBatch.from_arrays(batch.columns[: len(columns)], names=list(columns))

    def problem(self, columns: Sequence[str], *, texts: Sequence[str] = ()) -> str | None:
        """What is wrong with the first row that has something wrong, with line and column; None if nothing is found."""
        try:
            return self._first_problem(columns, texts)
        except csv.Error:
            return None

    def _first_problem(self, columns: Sequence[str], texts: Sequence[str]) -> str | None:
        checks = {self.names.index(name): self._check(name, texts) for name in columns}
        expected = len(self.names) + self.has_open_end
        for line, cells in self._rows():
            if len(cells) != expected or (self.has_open_end and cells[-1].strip()):
                told = "1 cell" if len(cells) == 1 else f"{len(cells)} cells"
                return f"{self.path}, line {line}, has {told}, but the head line names {len(self.names)} columns."
            for place, check in checks.items():
                if told := check(cells[place]):
                    return f"{self.path}, line {line}, column {self.names[place]!r} {told}."
        return None

    def _kind(self, name: str, texts: Sequence[str]) -> Any:
        pyarrow = load_pyarrow("")
        if name in texts:
            return pyarrow.string()
        return pyarrow.bool_() if self.names.index(name) in self.flags else pyarrow.float64()

    def _check(self, name: str, texts: Sequence[str]) -> Callable[[str], str]:
        if name in texts:
            return _wrong_text
        return _wrong_flag if self.names.index(name) in self.flags else _wrong_number

    def _rows(self) -> Iterator[tuple[int, list[str]]]:
        """All rows below the head line with the line in which they end, as Python's reader sees them."""
        with io.TextIOWrapper(_open(self.path), encoding=self.encoding, errors="replace", newline="") as text:
            records = _records(text, self.separator)
            next(records)
            yield from records


def _open(path: Path) -> Any:
    """The bytes of a file, which may be compressed."""
    return load_pyarrow("", kind="CSV").input_stream(str(path), compression=COMPRESSED.get(path.suffix.lower()))


def _encoding(begin: bytes) -> str:
    """UTF-16 if the file begins as spreadsheets mark it, UTF-8 otherwise."""
    return "utf-16" if begin.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else UTF8


def _check_begin(path: Path, text: str) -> None:
    if not text.strip():
        raise InvalidInput(f"{path} is empty: samples need a head line and rows.")
    if "\0" in text:
        raise InvalidInput(f"{path} needs to be {KIND}, but it is no text.")


def _records(lines: Iterable[str], separator: str) -> Iterator[tuple[int, list[str]]]:
    """Cells of all lines that are not blank, and the line in which they end."""
    reader = csv.reader(lines, delimiter=separator)
    for cells in reader:
        if any(cell.strip() for cell in cells) or len(cells) > 1:
            yield reader.line_num, cells


def _first_records(text: str, separator: str) -> list[tuple[int, list[str]]]:
    return list(islice(_records(io.StringIO(text, newline=""), separator), BEGIN_LINES))


def _separator(text: str) -> str:
    """The separator that cuts all of the first lines into equally many cells, the most; otherwise the head line."""
    counts = {each: [len(cells) for _, cells in _first_records(text, each)] for each in SEPARATORS}
    # Rows may end with a separator where the head line does not.
    alike = {each: found for each, found in counts.items() if max(found) - min(found) <= 1 and min(found) > 1}
    # Names and texts have blanks as well.
    chosen = {each: found for each, found in alike.items() if each != " "} or alike or counts
    return max(chosen, key=lambda each: (len(set(chosen[each][1:])) <= 1, chosen[each][0]))


def _columns(head: Sequence[str], rows: Sequence[Sequence[str]]) -> tuple[tuple[str, ...], bool]:
    """Names of the columns, and whether rows end with a separator."""
    # Behind a blank, quotes are part of a cell for the reader.
    names = tuple(name.strip().strip('"').strip() for name in head)
    if len(names) > 1 and not names[-1] and not any("".join(cells[len(names) - 1 :]).strip() for cells in rows):
        names = names[:-1]
    return names, bool(rows) and all(len(cells) == len(names) + 1 and not cells[-1].strip() for cells in rows)


def _flags(rows: Sequence[Sequence[str]], columns: int) -> frozenset[int]:
    """Columns whose first cells are all true or false."""
    whole = [cells for cells in rows if len(cells) >= columns]
    return frozenset(
        place for place in range(columns) if whole and all(cells[place].strip().lower() in FLAGS for cells in whole)
    )


def _rows_about(path: Path, begin: bytes) -> int | None:
    """Rows of the whole file, if they are as long as the first ones; None for a compressed file."""
    size, lines = path.stat().st_size, begin.count(b"\n")
    is_compressed = path.suffix.lower() in COMPRESSED
    return None if is_compressed or lines < 2 else round(size / len(begin) * lines)


def _skip_blank(row: Any) -> str:
    """Skip lines of blanks; what else has another number of cells is an error."""
    return "error" if row.text.strip() else "skip"


def _wrong_text(cell: str) -> str:
    if not cell.strip():
        return "is empty"
    return "is no UTF-8: save the file as UTF-8" if NO_LETTER in cell else ""


def _wrong_flag(cell: str) -> str:
    return "" if cell.strip().lower() in FLAGS else f"needs true or false as above, got {cell!r}"


def _wrong_number(cell: str) -> str:
    if not cell.strip():
        return "is empty"
    hint = ": write it with a decimal point" if DECIMAL_COMMA.fullmatch(cell) else ""
    try:
        return "" if math.isfinite(float(cell)) else f"needs a finite number, got {cell!r}"
    except ValueError:
        return f"needs a number, got {cell!r}{hint}"


@dataclass(frozen=True)
class CsvPiece(SourcePiece):
    """One file, read from its start."""

    columns: Columns
    file: CsvFile

    def chunks(self) -> Iterator[Chunk]:
        """Batches of the file, as large as the reader likes.

        Raises:
            InvalidInput: with line and column of the first cell that is missing or no number.
        """
        names = self.columns.names
        texts = names[-1:] if self.columns.has_classes else []
        try:
            yield from rows_of(self.columns, self.file.batches(names, texts=texts))
        except InvalidInput as error:
            # pyarrow names neither line nor column of what it can't read.
            raise InvalidInput(self.file.problem(names, texts=texts) or str(error)) from error


@dataclass(frozen=True)
class CsvSource(TableSource):
    """Read samples from files of separated values with a head line: one column per input, one for the label.

    Files may be compressed (gz, bz2, zst). Blanks around names and numbers are left out; empty cells are refused.

    Args:
        paths, label, inputs: files, and columns in them; all columns but the label are inputs if none are named.
        has_classes: whether labels are names of classes, which may be text.
        separator: between cells; told from the first lines (comma, semicolon, tab, bar or blank) if omitted.

    Raises:
        InvalidInput: if pyarrow is not installed, a file cannot be read or a column is missing.
    """

    separator: str | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if self.separator is not None and (len(self.separator) != 1 or self.separator in '"\r\n'):
            raise InvalidInput(f"a separator needs to be one character, no quote or line end, got {self.separator!r}.")
        super().__post_init__()

    def _file(self, path: Path) -> CsvFile:
        return CsvFile.of(path, separator=self.separator)

    def _names(self, path: Path) -> tuple[str, ...]:
        return self._file(path).names

    def _count(self, path: Path) -> int | None:
        return self._file(path).rows_about

    def pieces(self) -> Iterator[SourcePiece]:
        """Yield one piece per file."""
        yield from (CsvPiece(self.columns(path), self._file(path)) for path in self.paths)
