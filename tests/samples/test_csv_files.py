"""Files of separated values as people write them: the right numbers, or an error with file, line and column."""

import bz2
import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from unweave.exceptions import InvalidInput
from unweave.samples import csv_files
from unweave.samples.csv_files import CsvSource
from unweave.samples.sources import first_rows
from unweave.samples.tables import column_names, read_columns, rows_with_classes, table_source

NUMBERS = np.array([[1.0, -2.5, 3.0], [4.0, 5e-7, 6.0], [0.0, 8.25, -9.0]])
PLAIN = "a,b,y\n1,-2.5,3\n4,5e-7,6\n0,8.25,-9\n"


def read(path: Path, data: bytes | str, *, separator: str | None = None) -> np.ndarray:
    """The columns a, b and y of a file with this content."""
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    source = table_source((path,), label="y", inputs=("a", "b"), separator=separator)
    points, labels = first_rows(source, inputs=2, most=100_000)
    return np.column_stack([points, labels])


def complaint(path: Path, data: bytes | str) -> str:
    """What is wrong with a file."""
    with pytest.raises(InvalidInput) as raised:
        read(path, data)
    assert str(path) in str(raised.value)
    return str(raised.value)


@pytest.mark.parametrize(
    "data",
    [
        PLAIN,
        PLAIN.rstrip("\n"),
        PLAIN.replace("\n", "\r\n"),
        PLAIN.replace("\n", "\r"),
        "\ufeff" + PLAIN,
        PLAIN.encode("utf-16"),
        PLAIN.replace(",", ";"),
        PLAIN.replace(",", "\t"),
        PLAIN.replace(",", "|"),
        PLAIN.replace(",", " "),
        PLAIN.replace(",", " , ").replace("\n", "  \n"),
        PLAIN + "\n   \n\n",
        "\n\n" + PLAIN,
        PLAIN.replace("\n", ",\n"),
        PLAIN.replace("\n", ",\n").replace("y,", "y"),
        PLAIN.replace("a,b,y", "a,b,y,"),
        '"a","b","y"\n"1","-2.5","3"\n"4","5e-7","6"\n"0","8.25","-9"\n',
        'note,a,b,y\n"one, two",1,-2.5,3\n"three\nlines",4,5e-7,6\n"""q"", r",0,8.25,-9\n',
        "a;note;b;y\n1;x,y,z;-2.5;3\n4;x,y,z;5e-7;6\n0;x,y,z;8.25;-9\n",
        "a,b,y,day\n1,-2.5,3,2024-01-01\n4,5e-7,6,2024-01-02\n0,8.25,-9,2024-01-03\n",
        "a,b,y,name\n1,-2.5,3,caf\xe9\n4,5e-7,6,x\n0,8.25,-9,x\n".encode("latin-1"),
        'a, "b", y\n1,-2.5,3\n4,5e-7,6\n0,8.25,-9\n',
        "a,b,y,what it was\n1,-2.5,3,one two x y\n4,5e-7,6,one two x y\n0,8.25,-9,one two x y\n",
        "n,y,b,n,a\n7,3,-2.5,7,1\n7,6,5e-7,7,4\n7,-9,8.25,7,0\n",
    ],
)
def test_files_of_many_programs_hold_the_same_numbers(data: bytes | str, tmp_path: Path) -> None:
    np.testing.assert_array_equal(read(tmp_path / "samples.csv", data), NUMBERS)


@pytest.mark.parametrize(
    ("name", "squeeze"),
    [("a.csv.gz", gzip.compress), ("a.TSV.GZ", gzip.compress), ("a.txt.bz2", bz2.compress), ("a.tsv", bytes)],
)
def test_compressed_files_are_read(name: str, squeeze: type[bytes], tmp_path: Path) -> None:
    np.testing.assert_array_equal(read(tmp_path / name, squeeze(PLAIN.replace(",", "\t").encode())), NUMBERS)


def test_a_separator_may_be_given(tmp_path: Path) -> None:
    np.testing.assert_array_equal(read(tmp_path / "a.csv", PLAIN.replace(",", "~"), separator="~"), NUMBERS)
    with pytest.raises(InvalidInput, match="one character"):
        CsvSource((tmp_path / "a.csv",), "y", separator="::")


def test_truth_values_are_zeros_and_ones(tmp_path: Path) -> None:
    data = "a,b,y\n1,True,3\n2,False,4\n"
    np.testing.assert_array_equal(read(tmp_path / "a.csv", data), [[1, 1, 3], [2, 0, 4]])
    told = complaint(tmp_path / "a.csv", "a,b,y\n" + "1,True,3\n" * 60 + "2,7.5,4\n")
    assert "line 62, column 'b' needs true or false as above, got '7.5'" in told


@pytest.mark.parametrize(
    ("data", "told"),
    [
        ("", "is empty"),
        ("   \n\n", "is empty"),
        (b"\x00\x01\x02", "is no text"),
        ("x,b,y\n1,2,3\n", "has no column a: its columns are x, b, y"),
        ("1,2,3\n4,5,6\n", "its columns are 1, 2, 3. Its first line needs to hold names"),
        (
            "a,b,y\n" + "1,2,3\n" * 60 + "1,2," + "3" * 200_000,
            "row 61 (counted from 1), column 'y' needs a finite number",
        ),
        ("a,a,b,y\n1,2,3,4\n", "more than one column 'a'"),
        ("a,b,y\n1,2,3\n1,2\n", "line 3, has 2 cells, but the head line names 3 columns"),
        ("a,b,y\n1,2,3\n\n1,2,3,4\n", "line 4, has 4 cells"),
        ("a,b,y\n1,2,3\n1,,3\n", "line 3, column 'b' is empty"),
        ("a,b,y\n1,2,3\n1,  ,3\n", "line 3, column 'b' is empty"),
        ("a,b,y\n1,2,3\n1,NA,3\n", "line 3, column 'b' needs a number, got 'NA'"),
        ("a,b,y\n1,2,3\n1,inf,3\n", "line 3, column 'b' needs a finite number, got 'inf'"),
        ("a,b,y\n1,2,3\n1,2,three\n", "line 3, column 'y' needs a number, got 'three'"),
        ("a,b,y\n1,red,3\n1,red,4\n", "line 2, column 'b' needs a number, got 'red'"),
        ("a,b,y\n2024-01-01,2,3\n", "line 2, column 'a' needs a number, got '2024-01-01'"),
        ("a;b;y\n1,5;2,5;3\n", "line 2, column 'a' needs a number, got '1,5': write it with a decimal point"),
        ("a,b,y\n1,2,3\ncaf\xe9,5,6\n".encode("latin-1"), "line 3, column 'a' needs a number"),
        ("caf\xe9,a,b,y\n0,1,2,3\n".encode("latin-1"), "line 1: names of columns are no UTF-8"),
        ('n,a,b,y\n"two\nlines",1,2,3\nx,1,?,3\n', "line 4, column 'b' needs a number, got '?'"),
        ("a,b,y,\n" + "1,2,3,\n" * 60 + "1,2,3,4\n", "line 62, has 4 cells, but the head line names 3 columns"),
        ('a,b,y\n1,2,"3\n4,5,6\n', ", line 3"),
    ],
)
def test_what_is_wrong_is_told_with_line_and_column(data: bytes | str, told: str, tmp_path: Path) -> None:
    assert told in complaint(tmp_path / "samples.csv", data)


def test_numbers_far_below_are_told_with_their_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_files, "BLOCK_BYTES", 2**12)
    many = "a,b,y\n" + "1,2,3\n" * 8_000
    assert "line 8002, column 'a' needs a number, got 'x'" in complaint(tmp_path / "a.csv", many + "x,1,2\n")
    # The first rows look like whole numbers, which says nothing about the others.
    assert read(tmp_path / "a.csv", many + "0.5,1,2\n").shape == (8_001, 3)
    assert column_names(tmp_path / "a.csv") == ("a", "b", "y")
    np.testing.assert_array_equal(read_columns(tmp_path / "a.csv", ["y", "a"])[-1], [2, 0.5])


@pytest.mark.parametrize("head", [",a,b,y\n0,1,2,3\n", "a,b,,y\n1,2,0,3\n", "a,b,y,\n1,2,3,9\n"])
def test_a_column_without_a_name_is_no_input(head: str, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(head)
    with pytest.raises(InvalidInput, match=r"column \d of .* has no name"):
        table_source((tmp_path / "a.csv",), label="y")
    np.testing.assert_array_equal(read(tmp_path / "a.csv", head), [[1, 2, 3]])


@pytest.mark.parametrize("data", ["a,b,y\n", "a,b,y", "a,b,y,\n"])
def test_a_head_line_alone_has_no_rows(data: str, tmp_path: Path) -> None:
    assert read(tmp_path / "a.csv", data).shape == (0, 3)


def classes_of(path: Path, *, most: int = 100) -> tuple[np.ndarray, np.ndarray]:
    """Points of one input, and their classes."""
    source = table_source((path,), label="y", has_classes=True)
    return rows_with_classes(source, inputs=1, most=most, name=f"column 'y' of {path}")


def test_labels_of_classes_may_be_text(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("a,y\n1, benign\n2,malignant \n3,NA\n4,x1\n")
    points, classes = classes_of(path)
    assert classes.tolist() == ["benign", "malignant", "NA", "x1"]
    np.testing.assert_array_equal(points[:, 0], [1, 2, 3, 4])
    path.write_text("a,y\n1,0\n2,1.0\n")
    assert classes_of(path, most=1)[1].tolist() == [0.0]
    path.write_text("a,y\n1,0\n2,1.0\n3,x\n")
    with pytest.raises(InvalidInput, match=r"column 'y' of .*a.csv needs all numbers or all text, got 'x' in row 3"):
        classes_of(path)
    path.write_bytes("a,y\n1,caf\xe9\n2,x\n".encode("latin-1"))
    with pytest.raises(InvalidInput, match="line 2, column 'y' is no UTF-8"):
        classes_of(path)
    path.write_text("a,y\n1,x\n2, \n")
    with pytest.raises(InvalidInput, match="line 3, column 'y' is "):
        classes_of(path)


def test_files_may_have_their_columns_in_another_order(tmp_path: Path) -> None:
    first, second = tmp_path / "1.csv", tmp_path / "2.csv"
    first.write_text("a,b,y\n1,2,3\n")
    second.write_text("y;b;a\n6;5;4\n")
    points, labels = first_rows(table_source((first, second), label="y"), inputs=2, most=9)
    np.testing.assert_array_equal(np.column_stack([points, labels]), [[1, 2, 3], [4, 5, 6]])
    second.write_text("a,b,c,y\n1,2,3,4\n")
    with pytest.raises(InvalidInput, match="has a column 'c', which"):
        table_source((first, second), label="y")


@given(data=st.one_of(st.binary(max_size=60), st.text(alphabet='aby,;\t \n\r"1.-e', max_size=60).map(str.encode)))
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_bytes_are_numbers_or_an_error(data: bytes, tmp_path: Path) -> None:
    for begin in (b"", b"a,b,y\n1,2,3\n"):
        told = ""
        try:
            assert np.all(np.isfinite(read(tmp_path / "a.csv", begin + data)))
        except InvalidInput as error:
            told = str(error)
        assert not told or str(tmp_path / "a.csv") in told
