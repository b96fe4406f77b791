import pytest

from commands import document, output

INPUTS, NEURONS = 5, 3


def test_the_demo_recovers_what_it_planted(capsys: pytest.CaptureFixture[str]) -> None:
    out, err = output(capsys, "demo", "--inputs", str(INPUTS), "--neurons", str(NEURONS), code=0)
    assert err == ""
    assert out.startswith("identified: from ")
    assert all(word in out for word in ("planted", "recovered", "difference", "certificate", "queries per parameter"))
    assert max(map(len, out.splitlines())) <= 100


def test_the_demo_in_json_compares_with_the_truth(capsys: pytest.CaptureFixture[str]) -> None:
    sizes = ["--inputs", str(INPUTS), "--neurons", str(NEURONS)]
    result = document(capsys, "demo", *sizes, "--activation", "sigmoid", code=0)
    assert result["planted"]["activations"] == ["sigmoid", "identity"]
    assert result["found"]["outcome"] == "identified"
    assert result["found"]["network"]["neurons"] == [NEURONS]
    assert result["match"]["largest_error"] < 1e-10
    assert set(result["match"]["errors"]) == {"weights", "biases", "output weights", "offset"}


def test_a_demo_that_fails_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    sizes = ["--inputs", str(INPUTS), "--neurons", str(NEURONS)]
    out, _ = output(capsys, "demo", *sizes, "--activation", "quadratic", code=1)
    assert out.startswith("not identified: ")
    result = document(capsys, "demo", *sizes, "--activation", "quadratic", code=1)
    assert result["match"]["largest_error"] is None
