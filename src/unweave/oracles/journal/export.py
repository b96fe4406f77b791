"""A journal as a table for others: one row per answer, in the order in which they came."""

import csv
import os
from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Any

from unweave.exceptions import InvalidInput
from unweave.extras import need
from unweave.folders import writing_to
from unweave.oracles.journal.store import HeldModel, JournalFile, Request

# Endings of the tables that can be written.
CSV, PARQUET = ".csv", ".parquet"
# What every row begins with; inputs x0, x1, ... and answers y0, y1, ... follow.
BEGINNING = ("request", "row", "time", "is_probe")


def export_answers(journal: str | Path, table: str | Path, *, model: str | None = None) -> int:
    """Write all answers of a model as a table, and count them.

    Args:
        journal: file that holds them.
        table: where to; its ending says whether it is CSV or Parquet.
        model: whose answers, if the journal holds those of several.

    Raises:
        InvalidInput: if there is no such model, or the ending is another one.
        UnreadableFile: if there is no journal.
        MissingExtra: for Parquet, without pyarrow.
        NotWritten: if the table can't be written.
    """
    table = Path(table)
    if table.suffix not in (CSV, PARQUET):
        raise InvalidInput(f"answers are written to a file that ends in {CSV} or {PARQUET}, got {table}.")
    if table.suffix == PARQUET:
        need("pyarrow", purpose="writing Parquet")
    file = JournalFile(journal, is_read=True)
    chosen = _chosen(file, model)
    part = table.with_name(f".{table.name}.part")
    requests = file.requests(chosen)
    first = next(requests, None)
    if first is None:
        raise InvalidInput(f"the journal {journal} holds no answers of {chosen.name} yet.")
    write = _write_parquet if table.suffix == PARQUET else _write_csv
    with writing_to(table):
        try:
            count = write(part, first, requests)
            os.replace(part, table)
        finally:
            part.unlink(missing_ok=True)
    return count


def _chosen(file: JournalFile, name: str | None) -> HeldModel:
    models = {model.name: model for model in file.models()}
    if not models:
        raise InvalidInput(f"the journal {file.path} holds no answers yet.")
    if name is None and len(models) == 1:
        return next(iter(models.values()))
    if name not in models:
        raise InvalidInput(f"the journal {file.path} holds answers of several models: name one of {', '.join(models)}.")
    return models[name]


def _columns(request: Request) -> tuple[str, ...]:
    inputs, outputs = request.points.shape[1], request.answers.shape[1]
    return (*BEGINNING, *(f"x{i}" for i in range(inputs)), *(f"y{i}" for i in range(outputs)))


def _write_csv(path: Path, first: Request, others: Iterator[Request]) -> int:
    count = 0
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(_columns(first))
        for request in chain([first], others):
            when = datetime.fromtimestamp(request.time, UTC).isoformat()
            rows = zip(request.points.tolist(), request.answers.tolist(), strict=True)
            for row, (point, answer) in enumerate(rows, start=request.first_row):
                writer.writerow([request.number, row, when, int(request.is_probe), *point, *answer])
            count += len(request.points)
    return count


def _write_parquet(path: Path, first: Request, others: Iterator[Request]) -> int:
    import pyarrow as arrow
    from pyarrow import parquet

    schema, count = _record_batch(arrow, first).schema, 0
    with closing(parquet.ParquetWriter(path, schema)) as writer:
        for request in chain([first], others):
            writer.write_batch(_record_batch(arrow, request).cast(schema))
            count += len(request.points)
    return count


def _record_batch(arrow: Any, request: Request) -> Any:
    rows = len(request.points)
    beginning: Sequence[Any] = (
        arrow.array([request.number] * rows, arrow.int64()),
        arrow.array(range(request.first_row, request.first_row + rows), arrow.int32()),
        arrow.array([int(1e6 * request.time)] * rows, arrow.timestamp("us", tz="UTC")),
        arrow.array([request.is_probe] * rows, arrow.bool_()),
    )
    numbers = [arrow.array(column) for table in (request.points, request.answers) for column in table.T.copy()]
    return arrow.record_batch([*beginning, *numbers], names=list(_columns(request)))
