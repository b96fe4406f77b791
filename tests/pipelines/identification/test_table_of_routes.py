"""The table of routes: every route says why it was taken or not, and hands on what it has found as a value."""

from collections.abc import Callable
from dataclasses import FrozenInstanceError, dataclass

import numpy as np
import pytest

import unweave
from plants import planter
from unweave.activations import GAUSSIAN, RELU, STEP, TANH, Activation
from unweave.exceptions import BudgetExhausted, OracleError, OracleFailed
from unweave.identification.found import FirstLayer, Found
from unweave.identification.identifier import Identifier
from unweave.identification.probing import Probing
from unweave.identification.refiner import Refiner, Start
from unweave.identification.routes import Condition, Known, Route, Survey, Trail, leave, take
from unweave.identification.session import Session
from unweave.networks.network import Layer, Network
from unweave.networks.planted import deep_network, general_network
from unweave.numerics.network_fit import LevenbergMarquardt
from unweave.oracles.oracle import CallableOracle
from unweave.result import RouteChoice, RouteEnd

INPUTS = 5
TABLE = [route.name for route in Identifier().routes]


planted = planter(general_network, 61, inputs=INPUTS, neurons=4)


def ends_of(found: unweave.Result) -> dict[str, RouteEnd]:
    """What came of the routes that were taken."""
    return {choice.route: choice.end for choice in found.routes if choice.end is not RouteEnd.NOT_TAKEN}


def assert_explained(found: unweave.Result) -> None:
    """Every route of the table is there, in order and with a reason, and that of the result was taken."""
    assert [choice.route for choice in found.routes] == TABLE
    assert all(choice.because.endswith(".") for choice in found.routes)
    assert found.route in ends_of(found)


@pytest.mark.parametrize(
    ("activation", "ends"),
    [
        (TANH, {"saturation walk": RouteEnd.NETWORK}),
        (RELU, {"kink walk": RouteEnd.NETWORK}),
        (GAUSSIAN, {"saturation walk": RouteEnd.NOTHING, "Hessians": RouteEnd.NETWORK}),
    ],
    ids=str,
)
def test_every_route_says_why(activation: Activation, ends: dict[str, RouteEnd], seed: int) -> None:
    found = unweave.identify(planted(seed, activation=activation), seed=seed)
    assert_explained(found)
    assert ends_of(found) == ends
    for choice in found.routes:
        # A route that failed says why; the others have nothing to excuse.
        assert bool(choice.reason) == (choice.end is RouteEnd.NOTHING)


def test_the_assertion_on_reasons_can_fail(seed: int) -> None:
    found = unweave.identify(planted(seed, activation=TANH), seed=seed)
    for wrong in (found.routes[:-1], (RouteChoice("plateau walk", RouteEnd.NOT_TAKEN, ""), *found.routes[1:])):
        with pytest.raises(AssertionError):
            assert_explained(unweave.Result(found.outcome, found.reason, routes=wrong, route=found.route))


def test_a_box_leaves_no_walk_far_away(seed: int) -> None:
    found = unweave.identify(planted(seed, activation=TANH), inputs=INPUTS, domain=unweave.Box(-2.0, 2.0), seed=seed)
    assert_explained(found)
    assert ends_of(found) == {"Hessians": RouteEnd.NETWORK}
    assert "box" in next(choice.because for choice in found.routes if choice.route == "saturation walk")


def test_walks_that_are_switched_off_say_so(seed: int) -> None:
    found = Identifier(walks=False)(CallableOracle(planted(seed, activation=RELU), inputs=INPUTS), seed=seed)
    reasons = {choice.because for choice in found.routes if choice.route == "saturation walk"}
    assert reasons == {"walks are switched off."}


def test_a_first_layer_is_handed_on_to_the_route_that_needs_it(seed: int) -> None:
    truth = deep_network(np.random.default_rng([seed, 62]), shape=(6, 4, 3, 2), shift_deviation=0.3)
    found = unweave.identify(truth, seed=seed)
    assert_explained(found)
    assert found.is_identified
    assert ends_of(found) == {"saturation walk": RouteEnd.FIRST_LAYER, "peeling of layers": RouteEnd.NETWORK}


def test_steps_end_with_their_layer(seed: int) -> None:
    rng = np.random.default_rng([seed, 63])
    weights, heights = rng.standard_normal((3, INPUTS)), rng.uniform(1.0, 2.0, 3)
    found = unweave.identify(lambda points: (points @ weights.T > 0.2) @ heights, inputs=INPUTS, seed=seed)
    assert_explained(found)
    assert ends_of(found) == {"plateau walk": RouteEnd.FIRST_LAYER}
    assert found.first_layer is not None
    assert found.first_layer.activation == STEP


def test_a_budget_that_ends_is_the_reason_for_what_was_left(seed: int) -> None:
    found = unweave.identify(planted(seed, activation=TANH), budget=150, seed=seed)
    assert not found.is_identified
    assert found.routes[-1].because == "the budget was spent before."


def test_the_lowest_layer_has_one_route(seed: int) -> None:
    rng = np.random.default_rng([seed, 64])
    weights = rng.standard_normal((2, INPUTS))
    found = unweave.identify_lowest_layer(lambda points: np.sum(points @ weights.T > 0.2, axis=1), inputs=INPUTS)
    assert [(choice.route, choice.end) for choice in found.routes] == [("plateau walk", RouteEnd.FIRST_LAYER)]


@pytest.mark.parametrize("route", Identifier().routes, ids=lambda route: route.name)
def test_routes_are_values(route: Route) -> None:
    assert isinstance(route, Route)
    with pytest.raises(FrozenInstanceError):
        route.name = "another"


def started(seed: int) -> tuple[Survey, Refiner, Network]:
    truth = planted(seed, activation=TANH)
    session = Session(CallableOracle(truth, inputs=INPUTS, outputs=1), np.random.default_rng(seed))
    probe = Probing()(session)
    return Survey(session, probe), Refiner(probe.answers, LevenbergMarquardt(), probe.scale.noise), truth


def test_answers_that_change_between_all_neighbours_are_not_asked_for_plateaus(seed: int) -> None:
    survey, _, _ = started(seed)
    asked = survey.session.oracle.ledger.sent
    assert not survey.is_constant_in_parts
    assert survey.session.oracle.ledger.sent == asked


def test_a_session_holds_the_oracle_the_streams_and_the_record(seed: int) -> None:
    survey, _, _ = started(seed)
    record = {"diagnostics", "notes", "fresh_errors", "_record", "_rounding"}
    assert {name for name in vars(survey.session) if not name.startswith("rng_")} == {"oracle"} | record


@dataclass(frozen=True)
class Fixed:
    """A route that always ends in one way."""

    end: Callable[[Survey, Known, Refiner], Found]
    suits: Condition = lambda *_: take("it is a test.")
    name: str = "fixed"
    asks_far: bool = True

    def __call__(self, survey: Survey, known: Known, refiner: Refiner) -> Found:
        return self.end(survey, known, refiner)


def failing(problem: Exception) -> Callable[..., Found]:
    def fail(*_: object) -> Found:
        raise problem

    return fail


def start_of(survey: Survey, truth: Network) -> Start:
    oracle, (hidden, output) = survey.probe.oracle, truth.layers
    scaled = Layer(
        output.weights / oracle.size[:, None], (output.biases - oracle.offset) / oracle.size, output.activation
    )
    return Start(Network((hidden, scaled)), 0.0)


def test_a_route_that_fails_is_followed_by_the_next(seed: int) -> None:
    survey, refiner, truth = started(seed)
    candidate = refiner(start_of(survey, truth))
    trail = Trail(survey)
    for route in (
        Fixed(lambda *_: Found("nothing was there.")),
        Fixed(lambda *_: Found(), suits=lambda *_: leave("it does not suit.")),
        Fixed(lambda *_: Found(candidate=candidate), name="last"),
        Fixed(failing(AssertionError("this one is not needed"))),
    ):
        trail = trail.after(route, refiner)
    assert candidate.explains
    assert trail.best is not None
    assert trail.best.candidate.network is candidate.network
    assert trail.best.is_passed
    assert trail.best_route == "last"
    ends = [choice.end for choice in trail.choices]
    assert ends == [RouteEnd.NOTHING, RouteEnd.NOT_TAKEN, RouteEnd.NETWORK, RouteEnd.NOT_TAKEN]
    assert "The fixed ended without a network: nothing was there." in survey.session.notes


def test_later_routes_know_the_first_layer(seed: int) -> None:
    survey, refiner, truth = started(seed)
    layer = FirstLayer(truth.layers[0], truth.layers[0], "a layer.", is_last=False)
    seen: list[FirstLayer | None] = []

    def look(_: Survey, known: Known, __: Refiner) -> Found:
        seen.append(known.first_layer)
        return Found("nothing.")

    trail = Trail(survey).after(Fixed(lambda *_: Found("a layer.", first_layer=layer), name="below"), refiner)
    trail = trail.after(Fixed(look, name="above"), refiner)
    assert seen == [layer]
    assert (trail.known.tried, trail.layer_route, trail.route) == (("below", "above"), "below", "above")


def test_a_model_that_fails_far_away_is_left_for_the_next_route_and_one_that_fails_nearby_is_not(seed: int) -> None:
    survey, refiner, _ = started(seed)
    problem = OracleFailed("too far out.", queries=3)
    trail = Trail(survey).after(Fixed(failing(problem)), refiner)
    assert trail.failure is problem
    assert not trail.end
    with pytest.raises(OracleError, match="too far out"):
        Trail(survey).after(Fixed(failing(problem), asks_far=False), refiner)


@pytest.mark.parametrize("has_network", [False, True])
def test_a_spent_budget_ends_the_trail(has_network: bool, seed: int) -> None:
    survey, refiner, truth = started(seed)
    spent = BudgetExhausted(needed=5, left=2, budget=100)
    trail = Trail(survey)
    if has_network:
        rough = refiner.again(refiner(start_of(survey, truth)), planted(seed + 1, activation=TANH))
        trail = trail.after(Fixed(lambda *_: Found(candidate=rough)), refiner)
    trail = trail.after(Fixed(failing(spent)), refiner)
    assert trail.end
    # A network that does not explain everything is still better than none.
    assert (trail.spent is None) == has_network
