import numpy as np
import pytest

from unweave.exposure.answers import FORMS, FirstAnswers

SCORES = np.random.default_rng(0).standard_normal((50, 3))
SHOW = {form.name: form.show for form in FORMS}


def first(values: np.ndarray) -> FirstAnswers:
    return FirstAnswers(values, np.random.default_rng(1))


def test_the_table_goes_from_most_to_least() -> None:
    assert [form.name for form in FORMS] == [
        "full precision", "float32", "6 decimals", "4 decimals", "3 decimals", "float16", "bfloat16", "noise 1e-6",
        "noise 1e-3", "probabilities", "top-1",
    ]  # fmt: skip
    assert [form.name for form in FORMS if not form.defence] == ["full precision"]


@pytest.mark.parametrize("values", [SCORES, SCORES[:, :1]], ids=["three outputs", "one output"])
def test_what_is_shown(values: np.ndarray) -> None:
    seen = {name: np.asarray(show(values, first(values)), dtype=np.float64) for name, show in SHOW.items()}
    assert all(len(shown) == len(values) for shown in seen.values())
    np.testing.assert_array_equal(seen["full precision"], values)
    np.testing.assert_array_equal(seen["float32"], np.float32(values))
    np.testing.assert_allclose(seen["3 decimals"], np.rint(1e3 * values) / 1e3, rtol=1e-15)
    np.testing.assert_array_equal(seen["float16"], np.float16(values))
    np.testing.assert_allclose(seen["bfloat16"], values, rtol=2.0**-8)
    assert all(np.float32(value).view(np.uint32) & 0xFFFF == 0 for value in seen["bfloat16"].ravel())
    noise = seen["noise 1e-3"] - values
    assert 0.5e-3 < np.std(noise / np.std(values, axis=0)) < 2e-3
    shares = seen["probabilities"]
    if values.shape[1] > 1:
        np.testing.assert_allclose(np.sum(shares, axis=1), 1.0)
        np.testing.assert_array_equal(seen["top-1"][:, 0], np.argmax(shares, axis=1))
    else:
        np.testing.assert_array_equal(seen["top-1"], shares > 0.5)


def test_labels_of_two_classes_are_cut_at_one_half_of_a_probability() -> None:
    shares = np.array([[0.2], [0.7], [0.9]])
    assert SHOW["top-1"](shares, first(shares)).ravel().tolist() == [0, 1, 1]
    assert SHOW["top-1"](shares - 0.5, first(shares - 0.5)).ravel().tolist() == [0, 1, 1]


def test_forms_that_say_nothing_new_say_so() -> None:
    def useless(values: np.ndarray) -> set[str]:
        return {form.name for form in FORMS if form.useless(first(values))}

    assert useless(SCORES) == set()
    assert useless(1e5 * SCORES) == {"float16"}
    assert useless(np.full((9, 2), 0.5)) == {"probabilities"}
    assert useless(np.linspace(0.1, 0.9, 9)[:, None]) == {"probabilities"}
    assert useless(np.arange(9.0)[:, None]) == {form.name for form in FORMS} - {"full precision"}
