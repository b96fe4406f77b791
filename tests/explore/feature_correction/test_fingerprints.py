from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import unweave
from late import LateModule, torch
from unweave.exceptions import InvalidInput
from unweave.explore.feature_correction.recipes import Recipe

fingerprints = LateModule("unweave.explore.feature_correction.fingerprints")
models = LateModule("correction_models")


def scaled(_: object, inputs: "torch.Tensor", *__: object, factor: float = 1.0) -> "torch.Tensor":
    return factor * inputs


def shifting(shift: object) -> "Callable[..., torch.Tensor]":
    return lambda _, inputs, *__: inputs + shift


class Shift:
    def __init__(self, shift: object) -> None:
        self.shift = shift

    def __call__(self, _: object, inputs: "torch.Tensor", *__: object) -> "torch.Tensor":
        return inputs + self.shift

    def method(self) -> None: ...


@dataclass(frozen=True)
class Held:
    inner: object


def nested(number: int) -> Callable[[], int]:
    def outer() -> int:
        return (lambda: number)()

    return outer


MAKERS: dict[str, Callable[[int], object]] = {
    "a default": lambda k: partial(scaled, factor=float(k)),
    "a closure": shifting,
    "an array in a closure": lambda k: shifting(np.full(3, k)),
    "a tensor in an instance": lambda k: Shift(torch.full((3,), k)),
    "an instance": Shift,
    "a method": lambda k: Shift(k).method,
    "a dataclass of an instance": lambda k: Held(Shift(k)),
    "a function in a function": nested,
    "code": lambda k: (lambda: 1) if k else (lambda: 2),
    "large arrays that look alike": lambda k: shifting(np.eye(2_000, dtype=np.int8) * (np.arange(2_000) == 1_000 + k)),
}


@pytest.mark.parametrize("name", MAKERS)
def test_what_does_something_else_has_another_fingerprint(name: str) -> None:
    first, again, other = (fingerprints.fingerprint(MAKERS[name](number)) for number in (0, 0, 1))
    assert first == again
    assert first != other


def test_places_in_memory_are_not_told() -> None:
    assert fingerprints.described(object()) == fingerprints.described(object())
    assert fingerprints.fingerprint(Held(object())) == fingerprints.fingerprint(Held(object()))
    assert fingerprints.fingerprint(None) is None


def test_what_holds_itself_has_a_fingerprint() -> None:
    shift = Shift(0)
    shift.shift = [shift]
    assert fingerprints.fingerprint(shift) is not None


def test_a_folder_is_only_gone_on_with_by_the_same_model_and_functions(seed: int, tmp_path: Path) -> None:
    settings = {"recipe": Recipe(epochs=1, batch=20), "seeds": 1, "windows": (), "prox": (), "folder": tmp_path}
    units, data = ("inner.0", "inner.2"), models.small_points(seed)

    def measure(model: torch.nn.Module, **more: object) -> unweave.FeatureCorrection:
        return unweave.measure_feature_correction(model, data, units=units, **settings, **more)  # pyright: ignore

    assert measure(models.Powered(1)) == measure(models.Powered(1))
    for other in (models.Powered(2), models.Powered(1, drop=0.5), models.Powered(1).double()):
        with pytest.raises(InvalidInput, match="other settings"):
            measure(other)
    with pytest.raises(InvalidInput, match=r"other settings \(prepare_test\)"):
        measure(models.Powered(1), prepare_test=shifting(1.0))
