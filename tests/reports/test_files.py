import dataclasses
import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import unweave
from shown_reports import strange_result
from unweave.activations import TANH
from unweave.certificates.certify import Certificate
from unweave.exceptions import InvalidInput, UnreadableFile
from unweave.networks.network import Network
from unweave.networks.planted import general_network
from unweave.networks.quadratic.teacher import make_teacher
from unweave.reports.fields import CERTIFICATES
from unweave.reports.files import check_folder, read_network, read_run, write_run
from unweave.reports.json import as_document, network_document
from unweave.result import Cost, Outcome, Result
from unweave.seals import checksum, sealed
from unweave.writing import FORMAT, as_json

SETTINGS = {"target": "models:answer", "inputs": 4, "seed": 7, "box": [-1.0, 1.0], "budget": None}

# The user that owns nothing.
NOBODY = 65534


def planted(inputs: int = 4) -> Network:
    return general_network(np.random.default_rng(0), inputs=inputs, neurons=3, outputs=2, activation=TANH)


def strict_json(text: str) -> Any:
    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is not JSON")

    return json.loads(text, parse_constant=refuse)


def edited(folder: Path, name: str, **changes: Any) -> None:
    """Change fields, and all checksums with them: what is refused then is what the fields say."""
    document = json.loads((folder / name).read_text(encoding="utf-8")) | changes
    (folder / name).write_text(json.dumps(sealed(document)), encoding="utf-8")
    if name == "result.json":
        told(folder)


def told(folder: Path) -> None:
    """Put the checksums of the other files into the settings."""
    files = {each.name: checksum(each.read_bytes()) for each in folder.iterdir() if each.name != "settings.json"}
    edited(folder, "settings.json", files=files)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run(tmp_path_factory.mktemp("written") / "run", strange_result(planted()), SETTINGS)


@pytest.fixture
def folder(written: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(written, tmp_path / "run"))


@pytest.mark.parametrize("has_network", [True, False])
def test_what_is_read_is_what_was_written(tmp_path: Path, has_network: bool) -> None:
    found = strange_result(planted() if has_network else None)
    run = read_run(write_run(tmp_path / "a" / "run", found, SETTINGS))
    read = run.result
    assert run.settings == SETTINGS
    for name in (
        "outcome",
        "reason",
        "queries",
        "equivalent_activations",
        "notes",
        "cost",
        "fresh_errors",
        "ranges",
        "certificate",
    ):
        assert getattr(read, name) == getattr(found, name)
    assert str(read.diagnostics) == str(found.diagnostics)
    if found.network is None:
        assert read.network is None
        assert not (tmp_path / "a" / "run" / "network.safetensors").exists()
    else:
        assert read.network is not None
        for layer, true in zip(read.network.layers, found.network.layers, strict=True):
            np.testing.assert_array_equal(layer.weights, true.weights)
            np.testing.assert_array_equal(layer.biases, true.biases)


def test_settings_tell_what_is_needed_to_repeat_the_run(folder: Path) -> None:
    environment = read_run(folder).environment
    assert environment["versions"]["unweave"] == unweave.__version__
    assert environment["versions"]["numpy"] == np.__version__
    assert set(environment["versions"]) == {"unweave", "python", "numpy", "scipy", "jax", "torch"}
    assert environment["platform"]
    assert environment["date"].endswith("+00:00")


def test_files_are_strict_json(folder: Path) -> None:
    result = strict_json((folder / "result.json").read_text(encoding="utf-8"))
    assert result["certificate"]["radius"] == "inf"
    assert result["diagnostics"][1]["value"] == "nan"
    assert result["diagnostics"][1]["threshold"] == "-inf"
    assert result["diagnostics"][1]["verdict"] == "not applicable"
    assert result["network"] == network_document(planted())
    strict_json((folder / "settings.json").read_text(encoding="utf-8"))


def test_every_field_of_the_result_is_in_the_document() -> None:
    document = as_document(strange_result(planted()))
    envelope = {"format", "format_version", "kind"}
    assert set(document) - envelope == {field.name for field in dataclasses.fields(Result)}
    names = {field.name for field in dataclasses.fields(Certificate)}
    assert set(document["certificate"]) - {"kind", "statements"} == names
    assert set(document["cost"]) == {field.name for field in dataclasses.fields(Cost)}


def test_a_foreign_folder_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    (tmp_path / "result.json").write_text("{}")
    for overwrite in (False, True):
        with pytest.raises(InvalidInput, match="not empty and holds no run"):
            write_run(tmp_path, strange_result(planted()), SETTINGS, overwrite=overwrite)
    assert {path.name for path in tmp_path.iterdir()} == {"thesis.tex", "result.json"}
    assert (tmp_path / "result.json").read_text() == "{}"


def test_an_earlier_run_is_replaced_only_on_request(folder: Path) -> None:
    (folder / "remarks.txt").write_text("mine")
    with pytest.raises(InvalidInput, match="earlier run"):
        write_run(folder, strange_result(None), SETTINGS)
    assert read_run(folder).result.network is not None
    write_run(folder, strange_result(None), SETTINGS, overwrite=True)
    assert read_run(folder).result.network is None
    # Neither the old network nor the user's own file may be mixed up with the new run.
    assert {path.name for path in folder.iterdir()} == {"remarks.txt", "result.json", "settings.json"}


def test_a_run_that_was_cut_short_is_not_read_but_may_be_replaced(folder: Path) -> None:
    (folder / "result.json").unlink()
    with pytest.raises(UnreadableFile, match=r"not a complete run of Unweave: it has no result\.json"):
        read_run(folder)
    write_run(folder, strange_result(planted()), SETTINGS, overwrite=True)
    assert read_run(folder).result.queries == 123


def test_an_empty_folder_and_missing_parents_are_fine_and_left_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert check_folder(tmp_path / "empty") == tmp_path / "empty"
    check_folder(tmp_path / "not" / "there")
    assert not (tmp_path / "not").exists()


@pytest.mark.parametrize("name", ["file", "file/below"])
def test_a_file_is_not_a_folder(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidInput, match="file is not a folder"):
        check_folder(tmp_path / name)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that everybody may enter, while this process is somebody who may not write everywhere."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o777)
        is_root = os.getuid() == 0
        # Access is asked for the real user; the effective one stays root, so that it can be undone.
        if is_root:
            os.setreuid(NOBODY, 0)
        try:
            yield Path(folder)
        finally:
            if is_root:
                os.setreuid(0, 0)


@pytest.mark.parametrize("name", ["protected", "protected/below"])
def test_a_protected_folder_is_refused(open_folder: Path, name: str) -> None:
    (open_folder / "protected").mkdir(mode=0o555)
    with pytest.raises(InvalidInput, match="is protected"):
        check_folder(open_folder / name)
    assert check_folder(open_folder / "beside") == open_folder / "beside"


def test_settings_that_json_can_not_hold_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="JSON"):
        write_run(tmp_path / "run", strange_result(None), {"model": object()})
    assert not (tmp_path / "run").exists()


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFile, match="no such folder"):
        read_run(tmp_path / "nowhere")


@pytest.mark.parametrize("name", ["result.json", "settings.json"])
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "Expecting property name"),
        ("[1, 2]", "format"),
        ("{}", "format"),
        ('{"format": "unweave", "format_version": 99}', "format version is 99"),
        ('{"format": "unweave-run", "format_version": 1}', "format version is 1, this Unweave reads 2 and 3"),
        ('{"format": "unweave", "format_version": 2, "kind": "landscape"}', "kind needs to be"),
        ('{"format": "unweave", "format_version": 2, "queries": NaN}', "NaN is not JSON"),
        ("[" * 100_000, "recursion"),
        ("\udcff", "decode"),
    ],
)
def test_text_that_is_no_document_is_refused(folder: Path, name: str, text: str, message: str) -> None:
    (folder / name).write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(UnreadableFile, match=message) as caught:
        read_run(folder)
    assert str(folder / name) in str(caught.value)


WRONG_FIELDS = [
    (key, value)
    for key in sorted(set(as_document(strange_result(None))) - {"format", "format_version"})
    for value in (None, 3.5, {"a": "b"}, [[1]], True)
    # Null means that there is none.
    if not (value is None and key in ("network", "certificate", "first_layer", "ranges"))
    if not (value is True and key == "is_imitation")
    # Settings have any names.
    if not (isinstance(value, dict) and key == "settings")
]


@pytest.mark.parametrize(("key", "value"), WRONG_FIELDS)
def test_a_result_with_a_wrong_field_is_refused(folder: Path, key: str, value: Any) -> None:
    edited(folder, "result.json", **{key: value})
    with pytest.raises(UnreadableFile, match=r"result\.json needs to be a file of a run"):
        read_run(folder)


def test_a_certificate_with_a_wrong_number_is_refused(folder: Path) -> None:
    certificate = json.loads((folder / "result.json").read_text(encoding="utf-8"))["certificate"]
    for wrong in ("infinite", None, True, [], 10**400):
        edited(folder, "result.json", certificate=certificate | {"radius": wrong})
        with pytest.raises(UnreadableFile, match="radius"):
            read_run(folder)
    del certificate["noise"]
    edited(folder, "result.json", certificate=certificate)
    with pytest.raises(UnreadableFile, match="noise"):
        read_run(folder)


@pytest.mark.parametrize("key", ["settings", "environment"])
def test_settings_with_a_missing_part_are_refused(folder: Path, key: str) -> None:
    edited(folder, "settings.json", **{key: None})
    with pytest.raises(UnreadableFile, match=key):
        read_run(folder)


def test_a_network_that_is_missing_or_another_one_is_refused(folder: Path) -> None:
    planted(inputs=6).save(folder / "network.safetensors")
    with pytest.raises(UnreadableFile, match="tells of another network"):
        read_run(folder)
    told(folder)
    with pytest.raises(UnreadableFile, match="shape"):
        read_run(folder)
    (folder / "network.safetensors").write_bytes(b"no tensors")
    told(folder)
    with pytest.raises(UnreadableFile, match="written by Network"):
        read_run(folder)
    (folder / "network.safetensors").unlink()
    with pytest.raises(UnreadableFile, match="there is no network"):
        read_run(folder)


def test_other_parameters_than_those_told_are_refused(folder: Path) -> None:
    layer, last = planted().layers
    Network((dataclasses.replace(layer, biases=layer.biases + 1e-9), last)).save(folder / "network.safetensors")
    told(folder)
    with pytest.raises(UnreadableFile, match="other parameters"):
        read_run(folder)


CERTIFICATE_CLASSES = [getattr(import_module(module), name) for name, module in CERTIFICATES.items()]
EXAMPLES: dict[Any, Any] = {float: 0.25, int: 3, bool: True, str: "some words", tuple[int, ...]: (2, 1)}


@pytest.mark.parametrize("kind", CERTIFICATE_CLASSES, ids=lambda kind: kind.__name__)
def test_certificates_of_all_doors_are_read_back(kind: Any, tmp_path: Path) -> None:
    certificate = kind(**{each.name: EXAMPLES[each.type] for each in dataclasses.fields(kind)})
    found = Result(Outcome.IDENTIFIED, "known.", planted(), certificate, cost=Cost(samples=8))
    read = read_run(write_run(tmp_path / "run", found, SETTINGS)).result
    assert read.certificate == certificate
    assert type(read.certificate) is kind
    assert read.report() == found.report()


def test_every_certificate_of_a_door_can_be_read_back() -> None:
    source = Path(unweave.__file__).parent
    defined = {
        name
        for path in source.rglob("*.py")
        for name in re.findall(r"^class (\w*Certificate)\b", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    }
    assert defined == set(CERTIFICATES)


def test_a_certificate_of_another_kind_is_refused(folder: Path) -> None:
    certificate = json.loads((folder / "result.json").read_text(encoding="utf-8"))["certificate"]
    edited(folder, "result.json", certificate=certificate | {"kind": "Diploma"})
    with pytest.raises(UnreadableFile, match="Diploma"):
        read_run(folder)


def test_quadratic_networks_and_first_layers_are_read_back(tmp_path: Path) -> None:
    quadratic = make_teacher(np.random.default_rng(0), inputs=4, widths=(2, 1), level_weights=(1.0, 0.3))
    found = Result(Outcome.IDENTIFIED, "known.", quadratic, first_layer=planted().layers[0])
    folder = write_run(tmp_path / "run", found, SETTINGS)
    read = read_run(folder).result
    assert as_document(read) == as_document(found)
    assert read_network(folder) is not None
    assert network_document(read_network(folder / "network.safetensors")) == network_document(quadratic)
    planted(inputs=6).save(folder / "first_layer.safetensors")
    told(folder)
    with pytest.raises(UnreadableFile, match="another first layer"):
        read_run(folder)


@pytest.mark.parametrize("name", ["result.json", "settings.json", "network.safetensors"])
def test_a_flipped_bit_anywhere_in_a_run_is_noticed(folder: Path, name: str) -> None:
    """audit B6: bytes all over every file, one bit each."""
    whole = (folder / name).read_bytes()
    for place in range(0, len(whole), 9):
        # Of the lowest bits in turn: all of them are tried on a network in `test_no_flipped_bit_loads`.
        damaged = whole[:place] + bytes([whole[place] ^ (1 << place % 7)]) + whole[place + 1 :]
        (folder / name).write_bytes(damaged)
        with pytest.raises(UnreadableFile, match=re.escape(str(folder))):
            read_run(folder)
    (folder / name).write_bytes(whole)
    assert read_run(folder).result.network is not None


def test_the_settings_of_another_run_are_noticed(folder: Path, tmp_path: Path) -> None:
    """audit B6: two writers mixed settings and result (14 of 54)."""
    other = write_run(tmp_path / "other", strange_result(None), SETTINGS)
    (other / "settings.json").replace(folder / "settings.json")
    with pytest.raises(UnreadableFile, match=r"settings\.json tells of another"):
        read_run(folder)


@pytest.mark.parametrize("length", [0, 5, 60])
def test_a_torn_file_of_an_earlier_version_does_not_block(tmp_path: Path, length: int) -> None:
    """audit B6: kill -9 left a torn settings.json that `--overwrite` refused (22 of 120)."""
    folder = tmp_path / "run"
    folder.mkdir()
    whole = as_json({"format": "unweave", "format_version": 2, "kind": "settings", "settings": {"seed": 7}})
    (folder / "settings.json").write_text(whole[:length])
    write_run(folder, strange_result(None), SETTINGS, overwrite=True)
    assert read_run(folder).result.network is None
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign" / "settings.json").write_text("{ // of an editor")
    with pytest.raises(InvalidInput, match="left alone"):
        check_folder(tmp_path / "foreign", overwrite=True)


def test_the_format_has_a_name() -> None:
    assert as_document(strange_result(None))["format"] == FORMAT == "unweave"


def test_a_run_of_version_2_is_read(folder: Path) -> None:
    document = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    settings = json.loads((folder / "settings.json").read_text(encoding="utf-8"))
    for name in ("fresh_errors", "ranges"):
        del document[name]
    del document["cost"]["stage_queries"]
    (folder / "result.json").write_text(json.dumps(sealed(document | {"format_version": 2})), encoding="utf-8")
    (folder / "settings.json").write_text(json.dumps(sealed(settings | {"format_version": 2})), encoding="utf-8")
    told(folder)
    read = read_run(folder).result
    assert (read.fresh_errors, read.ranges, read.cost.stage_queries) == ((), None, {})
    assert read.queries == 123
