"""Pages as text: valid HTML, everything escaped, nothing loaded, small."""

import re
from dataclasses import replace
from itertools import pairwise
from xml.etree.ElementTree import Element

import numpy as np
import pytest

from browsers import opened_browser
from shown_pages import HOSTILE, PAGE_NAMES, landscape_document, plain_origin, text_of, whole_result
from unweave.activations import IDENTITY, RELU, STEP, Activation
from unweave.networks.network import Network
from unweave.networks.planted import general_network
from unweave.reports.html.elements import element
from unweave.reports.html.landscapes import landscape_page
from unweave.reports.html.origin import Origin, command_of
from unweave.reports.html.page import embedded
from unweave.reports.html.results import result_page
from unweave.result import Cost, InputRanges, Outcome, Result

XHTML = "{http://www.w3.org/1999/xhtml}"
LARGEST_PAGE = 2_000_000


def parsed(text: str) -> Element:
    """Read a page as browsers do; errors of markup, which browsers forgive, are raised."""
    import html5lib

    return html5lib.HTMLParser(strict=True).parse(text)


def of_tag(root: Element, tag: str) -> list[Element]:
    return list(root.iter(f"{XHTML}{tag}"))


@pytest.mark.parametrize("name", PAGE_NAMES)
def test_pages_are_valid_and_small(name: str) -> None:
    root = parsed(text_of(name))
    ids = [each.get("id") for each in root.iter() if each.get("id")]
    assert len(ids) == len(set(ids))
    targets = {link.get("href") for link in of_tag(root, "a") if not link.get("href").startswith("https://")}
    assert targets <= {f"#{each}" for each in ids}
    assert len(text_of(name).encode()) < LARGEST_PAGE


def test_wrong_markup_is_noticed() -> None:
    import html5lib

    with pytest.raises(html5lib.html5parser.ParseError):
        parsed("<!DOCTYPE html><html><head><title>x</title></head><body><p><div></p></body></html>")


@pytest.mark.parametrize("name", PAGE_NAMES)
def test_headings_are_in_order_and_fields_have_labels(name: str) -> None:
    root = parsed(text_of(name))
    levels = [int(each.tag[-1]) for each in root.iter() if re.fullmatch(rf"{re.escape(XHTML)}h[1-6]", str(each.tag))]
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    labels = {label.get("for") for label in of_tag(root, "label")}
    assert {field.get("id") for field in of_tag(root, "input")} <= labels
    assert all(len(of_tag(root, tag)) == 1 for tag in ("main", "header", "nav", "footer"))
    drawings = [each for each in root.iter("{http://www.w3.org/2000/svg}svg") if each.get("aria-hidden") is None]
    assert all(each.get("role") == "img" and each.get("aria-label") for each in drawings)


@pytest.mark.parametrize("name", ["hostile", "correction", "audit"])
def test_hostile_names_stay_text(name: str) -> None:
    root = parsed(text_of(name))
    assert len(of_tag(root, "script")) == 2, "the data, and the script of the page"
    assert of_tag(root, "img") == []
    assert not [each for each in root.iter() for attribute in each.attrib if attribute.startswith("on")]
    shown = "".join(root.itertext())
    assert HOSTILE[:30] in shown
    assert "\x00" not in text_of(name)


def test_text_becomes_text_wherever_it_stands() -> None:
    made = element("p", {"title": HOSTILE}, HOSTILE, element("b", None, HOSTILE), HOSTILE)
    assert [child.tag for child in made] == ["b"]
    clean = HOSTILE.replace("\x00", "\ufffd").replace("\ud800", "\ufffd")
    assert (made.text, made[0].tail, made.get("title")) == (clean, clean, clean)


def test_data_never_ends_its_element() -> None:
    assert not re.search("[<>&]", embedded({"name": "</script><!--&"}))


@pytest.mark.parametrize("name", PAGE_NAMES)
def test_nothing_is_loaded(name: str) -> None:
    root = parsed(text_of(name))
    sources = [each.get(kind) for each in root.iter() for kind in ("src", "href", "srcset", "data") if each.get(kind)]
    # Catalogues are linked, which loads nothing until somebody follows the link.
    known = ("#", "data:,", "https://owasp.org/", "https://atlas.mitre.org/")
    assert all(source.startswith(known) for source in sources)
    assert all(each.tag == f"{XHTML}a" for each in root.iter() if (each.get("href") or "").startswith("https"))
    assert not re.search(r"url\(|@import", "".join(each.text or "" for each in of_tag(root, "style")))
    (policy,) = [each.get("content") for each in of_tag(root, "meta") if each.get("http-equiv")]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


def test_the_same_result_gives_the_same_page() -> None:
    once, again = (result_page(whole_result(), plain_origin()).as_html() for _ in range(2))
    # But for the date.
    assert len(once) == len(again)
    assert result_page(whole_result(), replace(plain_origin(), environment={})).as_html() == (
        result_page(whole_result(), replace(plain_origin(), environment={})).as_html()
    )


def test_numbers_of_texts_stay_on_one_line() -> None:
    """A browser would break a line after the sign of an exponent."""
    assert 'less than <span class="whole">1.0e-12</span> of their spread' in text_of("whole")


@pytest.mark.parametrize(
    ("value", "is_said"),
    [(0, True), (0.0, True), (True, True), (False, False), (None, False), ([], False), ("", False)],
)
def test_settings_that_were_not_used_are_left_out(value: object, is_said: bool) -> None:
    text = result_page(whole_result(), replace(plain_origin(), settings={"target": "a", "patience": value})).as_html()
    assert ("patience" in text) == is_said


def test_what_could_still_hide_is_what_the_reason_says() -> None:
    said = "Whatever changes the answers by less than 1.0e-12 of their spread on average"
    assert re.sub("</?span[^>]*>", "", text_of("whole")).count(said) == 2
    assert "no larger on at least 95.6% of the domain" in text_of("whole")
    assert "Nothing is claimed about single parameters" in text_of("not pinned down")


def test_of_an_imitation_no_neuron_is_claimed() -> None:
    said = " ".join(re.sub("<[^>]*>", "", text_of("imitation")).split())
    assert "a network was found that only answers like the model: 6 → 5 tanh → 1" in said
    assert "Nothing is claimed about neurons and activation" in said
    for claim in ("give away the network", "every parameter is within", "with more neurons"):
        assert claim in " ".join(re.sub("<[^>]*>", "", text_of("whole")).split())
        assert claim not in said


def test_places_where_rounded_answers_switch_are_evidence() -> None:
    said = " ".join(re.sub("<[^>]*>", "", text_of("rounded")).split())
    assert "and 1,124 on vertices, faces and kinks, network and model differ" in said
    assert "At 59 other places where rounded answers switch" in said
    assert "differ by at most 8.0e-11 of the spread" in said
    assert "rounded answers switch" not in text_of("whole")


def test_of_a_large_network_some_parameters_are_left_out_and_the_page_says_so() -> None:
    network = general_network(np.random.default_rng(0), inputs=784, neurons=300)
    text = result_page(replace(whole_result(), network=network, ranges=None), plain_origin()).as_html()
    assert len(text.encode()) < LARGEST_PAGE
    assert f"of {network.parameters:,} parameters" in text
    assert "left out" in text
    assert "network.safetensors" in text
    assert "60 neurons of 300" in text
    assert "left out" not in text_of("wide")


def test_a_crossing_outside_of_the_range_is_none() -> None:
    for crossing in ("nan", "inf", 9.0):
        page = landscape_page(landscape_document() | {"crossing": crossing}, plain_origin())
        assert "no crossing of one half" in page.as_html()


def test_commands_of_runs_are_told() -> None:
    assert "unweave identify models.py:predict --inputs 6 --seed 7 --box -1.0 1.0" in text_of("whole")


@pytest.mark.parametrize(("said", "kind"), [("", pytest.skip.Exception), ("1", pytest.fail.Exception)])
def test_a_missing_browser_skips_tests_of_users_and_fails_those_of_ci(
    said: str, kind: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UNWEAVE_NEEDS_BROWSER", said)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(kind, match="there is no chromium"), opened_browser():
        pass


def shallow(weights: np.ndarray, biases: np.ndarray, activation: Activation) -> Network:
    return Network.shallow(weights, biases, np.ones((1, len(biases))), np.zeros(1), activation)


HUGE = shallow(1e200 * np.ones((2, 3)), np.array([1e300, -1e300]), RELU)
FLAT = shallow(np.zeros((1, 3)), np.zeros(1), STEP)
AFFINE = Network.shallow(np.empty((0, 3)), np.empty(0), np.empty((2, 0)), np.zeros(2), IDENTITY, np.ones((2, 3)))
EXTREMES = {
    "nothing at all": Result(Outcome.NOT_IDENTIFIED, ""),
    "no neurons, no errors": Result(Outcome.PARTLY_IDENTIFIED, "affine.", AFFINE, fresh_errors=(0.0, 0.0)),
    "huge numbers": Result(Outcome.IDENTIFIED, "huge.", HUGE, fresh_errors=(1e-300, 1e300, np.inf), cost=Cost(5)),
    "a constant column": Result(
        Outcome.IDENTIFIED, "one row.", FLAT, cost=Cost(samples=1), ranges=InputRanges(*((5.0,) * 3,) * 3, (0.0,) * 3)
    ),
    "a box far from zero": Result(
        Outcome.IDENTIFIED,
        "far.",
        FLAT,
        cost=Cost(9),
        ranges=InputRanges((99_999.0,) * 3, (1e5 + 1,) * 3, (1e5,) * 3, (1.0,) * 3, True),
    ),
    "a layer alone": Result(Outcome.PARTLY_IDENTIFIED, "alone.", Network((FLAT.layers[0],))),
}


@pytest.mark.parametrize("name", EXTREMES)
def test_whatever_a_result_holds_has_a_page(name: str) -> None:
    text = result_page(EXTREMES[name], Origin("A model")).as_html()
    parsed(text)
    assert not re.search(
        r'"[^"]*\bnan\b[^"]*"', " ".join(re.findall(r'(?:points|x|y|width|height|cx|cy)="[^"]*"', text))
    )


@pytest.mark.parametrize(
    ("settings", "command"),
    [
        ({}, ""),
        ({"seed": 3}, ""),
        ({"target": "a b.onnx", "inputs": None, "box": [0, 1]}, "unweave identify 'a b.onnx' --box 0 1"),
        (
            {"target": "m:f", "names": [], "quick": True, "slow": False, "most": 0},
            "unweave identify m:f --quick --most 0",
        ),
        (
            {"learner": "halfspaces", "files": ["s.csv"], "union": False},
            "unweave learn halfspaces s.csv --intersection",
        ),
        ({"command": "audit", "target": "$(rm -rf)", "rate": 2.0}, "unweave audit '$(rm -rf)' --rate 2.0"),
        (
            {"target": "http://a/v2/models/m", "headers": ["X-Api-Key"], "is_binary": False},
            "unweave identify http://a/v2/models/m --header 'X-Api-Key: $X_API_KEY' --no-binary",
        ),
        (
            {"call": "identify", "model": "m.onnx", "seed": 3, "activation": "tanh"},
            "# model: m.onnx\nunweave.identify(model, seed=3, activation='tanh')",
        ),
        (
            {"call": "identify", "model": "a\nb", "oracle": {"inputs": 2, "budget": 9}},
            "# model: a b, inputs=2, budget=9\nunweave.identify(model)",
        ),
        (
            {"call": "identify", "model": "f", "domain": {"kind": "Box", "lower": [0.0, 1.0], "upper": 2.0}},
            "# model: f\nunweave.identify(model, domain=unweave.Box(lower=np.array([0.0, 1.0]), upper=2.0))",
        ),
    ],
)
def test_commands_are_written_from_settings(settings: dict, command: str) -> None:
    assert command_of(settings) == command
