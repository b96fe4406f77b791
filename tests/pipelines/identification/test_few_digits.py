"""Answers with few digits: nothing is claimed that their rounding may hide."""

import numpy as np
import pytest

import unweave
from plants import hashed
from unweave import Box, Outcome


def one_neuron(points: np.ndarray) -> np.ndarray:
    return np.tanh(points @ np.array([[1.0], [0.3]]) + 0.2)


def bfloat16(values: np.ndarray) -> np.ndarray:
    bits = np.ascontiguousarray(values, dtype=np.float32).view(np.uint32)
    return ((bits + 0x8000) & np.uint32(0xFFFF0000)).view(np.float32)


class TestFewDigits:
    """Errors are relative to the spread of the answers, also if that is a few units of their last digit."""

    @pytest.mark.parametrize(
        ("kind", "offset"),
        [
            ("float16", 30.0),
            ("float16", 100.0),
            ("float16", 200.0),
            ("float32", 1e6),
            ("float64", 1e14),
            ("float64", 2e14),
        ],
    )
    def test_a_neuron_below_the_digits_is_not_identified(self, kind: str, offset: float) -> None:
        """They were "an affine function, identified" with an error of a whole spread, or "constant"."""
        found = unweave.identify(lambda x: (one_neuron(x) + offset).astype(kind), inputs=2, domain=Box(0, 1))
        assert found.outcome is Outcome.NOT_IDENTIFIED
        assert f"rounded to {float(np.spacing(np.dtype(kind).type(offset))):.2g}, which is" in found.reason

    def test_a_constant_sum_around_the_centre_is_no_lack_of_digits(self) -> None:
        """Answers of one plateau differ by the rounding of terms that are larger than their sum."""

        def model(x: np.ndarray) -> np.ndarray:
            rounding = np.spacing(0.05) * np.round(3.0 * np.sin(7.0 * np.round(x[:, :1])))
            return np.where(x @ np.array([[0.6], [0.8]]) > 6.0, 1.0, 0.05) + rounding

        assert "rounded to" not in unweave.identify(model, inputs=2).reason

    def test_one_coarse_output_is_enough(self) -> None:
        def model(points: np.ndarray) -> np.ndarray:
            return bfloat16(np.column_stack([one_neuron(points), 3.0 + one_neuron(points)]))

        found = unweave.identify(model, inputs=2, domain=Box(0, 1))
        assert found.outcome is Outcome.NOT_IDENTIFIED
        assert "of the spread of output 2" in found.reason

    def test_changes_that_first_answers_did_not_show_count(self) -> None:
        """They were "right on 95 %, by up to 1e-2 of the spread"."""

        def model(points: np.ndarray) -> np.ndarray:
            return (100.0 + np.maximum(points.sum(axis=1) - 1.6, 0.0)).astype(np.float16)

        found = unweave.identify(model, inputs=2, domain=Box(0, 1))
        assert found.outcome is Outcome.NOT_IDENTIFIED
        assert "the answers are rounded to 0.062, which is" in found.reason

    @pytest.mark.parametrize("units", [1.0, 2.0])
    def test_a_constant_that_differs_in_its_last_digit_stays_one(self, units: float) -> None:
        def model(points: np.ndarray) -> np.ndarray:
            return (3.0 + units * 2.0**-22 * (points[:, 0] > points[:, 1])).astype(np.float32)

        found = unweave.identify(model, inputs=2, domain=Box(0, 1))
        assert found.outcome is Outcome.PARTLY_IDENTIFIED
        assert "constant up to rounding on at least 99%" in found.reason

    def test_a_constant_beside_other_outputs_is_named(self) -> None:
        def model(points: np.ndarray) -> np.ndarray:
            rough = 3.0 + 2.0**-51 * np.rint(3.0 * hashed(points))
            return np.column_stack([np.maximum(points.sum(axis=1) - 0.6, 0.0), rough])

        found = unweave.identify(model, inputs=2, domain=Box(0, 1))
        assert found.outcome is Outcome.IDENTIFIED
        assert any("Output 2 is constant up to rounding" in note for note in found.notes)

    def test_an_output_that_changes_within_its_rounding_is_not_claimed(self) -> None:
        """Its weights were claimed to 5e-3, and off by 0.23 of those of their neuron: it was 2092 or 2094."""

        def model(points: np.ndarray) -> np.ndarray:
            neuron = np.clip(points @ [0.95, 0.51] + 0.25, -1.0, 1.0)
            return np.column_stack([0.99 * neuron + 0.93, 2093.16 - 1.66 * neuron]).astype(np.float16)

        found = unweave.identify(model, inputs=2)
        assert found.outcome is Outcome.PARTLY_IDENTIFIED
        assert "Output 2 was rounded to 2 and changes by 2 only: weights into it are not known" in found.reason
        assert found.certificate is not None
        assert not np.isfinite(found.certificate.radius)

    def test_a_large_constant_hides_what_is_smaller_than_its_last_digit(self) -> None:
        def model(points: np.ndarray) -> np.ndarray:
            neuron = np.tanh(points @ [0.95, 0.51] + 0.25)
            return np.column_stack([neuron, 1e9 * np.pi + 1e-8 * neuron])

        found = unweave.identify(model, inputs=2)
        assert found.outcome is Outcome.IDENTIFIED
        assert "Output 2 was 3.14159e+09 wherever it was asked" in found.reason
        assert "unless rounding by up to 4.8e-07 hides" in found.reason

    @pytest.mark.parametrize("constant", [3230.0, 0.0, np.pi])
    def test_what_rounding_hides_in_a_constant_output_is_not_claimed(self, constant: float) -> None:
        """An output of float16 was always 3230, which hid a neuron that other outputs showed; pi has no such digits."""

        def model(points: np.ndarray) -> np.ndarray:
            return np.column_stack([np.full(len(points), constant), np.maximum(points.sum(axis=1) - 0.6, 0.0)])

        found = unweave.identify(model, inputs=2, domain=Box(0, 1))
        assert found.outcome is Outcome.IDENTIFIED
        said = f"Output 1 was {constant:g} wherever it was asked: weights into it are zero, unless rounding"
        assert (said in found.reason) == (constant != np.pi)
        assert ("by up to 1 hides" in found.reason) == (constant == 3230.0)

    @pytest.mark.parametrize("constant", [0.0, 3.0])
    def test_weights_into_a_constant_output_are_exactly_zero(self, constant: float) -> None:
        """They were called zero, and were 5e-30 as the fit had left them: infinitely wrong where all answers are 0."""

        def model(points: np.ndarray) -> np.ndarray:
            neurons = np.tanh(points @ np.array([[0.9, -0.5], [0.5, 1.2], [-0.3, 0.8]]) + [0.2, -0.4])
            return np.column_stack([np.full(len(points), constant), 3.0 + neurons @ [27.0, -9.0]])

        found = unweave.identify(model, inputs=3, domain=Box(-1, 1))
        assert found.outcome is Outcome.IDENTIFIED
        assert found.network is not None
        assert not np.any(found.network.layers[-1].weights[0])
        assert np.all(found.network(np.random.default_rng(0).uniform(-1, 1, (100, 3)))[:, 0] == constant)
