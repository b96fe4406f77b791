"""Networks that scikit-learn has trained on its bundled data, recovered through `predict` or `predict_proba` only.

python benchmarks/trained_networks.py
python benchmarks/trained_networks.py --data diabetes --widths 5 10 --states 5
python benchmarks/trained_networks.py --widths 10 --solvers lbfgs --iterations 2000
python benchmarks/trained_networks.py --widths 10 --solvers lbfgs --iterations 1000 --alpha 1.0
python benchmarks/trained_networks.py --widths 5 10 --solvers lbfgs --raw
python benchmarks/trained_networks.py --widths 5 10 --solvers lbfgs --raw --box
python benchmarks/trained_networks.py --data diabetes --widths 10 --solvers lbfgs --states 5 --first 1000
python benchmarks/trained_networks.py --classes --data iris wine cancer --widths 5 --solvers adam --raw
"""

import time
import warnings

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

import unweave
from command_line import parsed, parser_of, say
from unweave.activations import RELU, SIGMOID, TANH
from unweave.networks.network import Network

DATA = {"diabetes": load_diabetes, "cancer": load_breast_cancer, "digits": load_digits}
CLASSES = {"iris": load_iris, "wine": load_wine, "cancer": load_breast_cancer, "digits": load_digits}
ACTIVATIONS = {"tanh": TANH, "logistic": SIGMOID, "relu": RELU}
SOLVERS = ("lbfgs", "adam")
# Error of a parameter above which a network called identified would be wrong.
WRONG = 1e-6


def main() -> None:
    """Train, ask, compare; one line per data set and activation, and one per network that is not identified."""
    parser = parser_of(__doc__)
    parser.add_argument("--data", nargs="+", choices=DATA | CLASSES, default=list(DATA))
    parser.add_argument("--classes", action="store_true", help="classifiers, asked for their probabilities")
    parser.add_argument("--widths", nargs="+", type=int, default=[5, 10, 20, 40])
    parser.add_argument("--states", type=int, default=3, help="values of random_state")
    parser.add_argument("--first", type=int, default=0, help="the first of them")
    parser.add_argument("--solvers", nargs="+", choices=SOLVERS, default=list(SOLVERS))
    parser.add_argument("--iterations", type=int, default=200, help="of the training")
    parser.add_argument("--alpha", type=float, default=1e-4, help="penalty on large weights")
    parser.add_argument("--raw", action="store_true", help="targets and columns as they are, behind a StandardScaler")
    parser.add_argument("--box", action="store_true", help="ask within the ranges of the data only")
    settings = parsed(parser)
    print("data, activation: networks, identified / partly / not, wrong | queries per parameter | error | seconds")
    for data in settings.data:
        points, target = (CLASSES if settings.classes else DATA)[data](return_X_y=True)
        if not settings.raw:
            points = StandardScaler().fit_transform(points)
            target = target if settings.classes else (target - target.mean()) / target.std()
        # A column that is always the same has no range, and no weight of it is ever trained.
        points = points[:, np.ptp(points, axis=0) > 0.0]
        domain = unweave.Box(points.min(axis=0), points.max(axis=0)) if settings.box else None
        for activation in ACTIVATIONS:
            models = [
                make_pipeline(
                    StandardScaler() if settings.raw else "passthrough",
                    (MLPClassifier if settings.classes else MLPRegressor)(
                        hidden_layer_sizes=(width,),
                        activation=activation,
                        solver=solver,
                        random_state=state,
                        max_iter=settings.iterations,
                        alpha=settings.alpha,
                    ),
                )
                for width in settings.widths
                for solver in settings.solvers
                for state in range(settings.first, settings.first + settings.states)
            ]
            rows = [recovered(fitted(model, points, target), domain) for model in models]
            name = f"{data}, {activation}{', in the box of the data' if settings.box else ''}"
            settings.json.keep("trained networks", **report(name, rows))


def fitted(model: Pipeline, points: np.ndarray, target: np.ndarray) -> Pipeline:
    """A trained model, whether or not its training has ended."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(points, target)


def recovered(pipeline: Pipeline, domain: unweave.Box | None) -> tuple[str, float, float, float]:
    """Give outcome, queries per parameter, largest error of a parameter, seconds."""
    scaler, model = pipeline[0], pipeline[-1]
    weights, biases = model.coefs_[0].T, model.intercepts_[0]
    if isinstance(scaler, StandardScaler):
        weights = weights / scaler.scale_
        biases = biases - weights @ scaler.mean_
    outputs, offset = model.coefs_[1].T, model.intercepts_[1]
    if isinstance(model, MLPClassifier):
        outputs, offset = centred_logits(outputs, offset)
    truth = Network.shallow(weights, biases, outputs, offset, ACTIVATIONS[model.activation])
    start = time.perf_counter()
    found = unweave.identify(pipeline, domain=domain)
    seconds = time.perf_counter() - start
    error = np.inf if found.network is None else largest_error(found.network, truth, domain)
    if not found.is_identified:
        print(f"  {found.outcome.value}: width {truth.widths[0]}, {model.solver}, random_state {model.random_state}: ")
        say(f"    error {error:.0e}, {found.queries} queries, {seconds:.1f} s; {found.reason}")
    return found.outcome.value, found.queries / truth.parameters, error, seconds


def centred_logits(outputs: np.ndarray, offset: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Write the logits of all classes as they are recovered: shifted, so that they sum to zero."""
    if len(offset) == 1:
        # One output is the logit of the second class against the first one.
        outputs, offset = np.concatenate([-outputs, outputs]) / 2.0, np.concatenate([-offset, offset]) / 2.0
    return outputs - outputs.mean(axis=0), offset - offset.mean()


def largest_error(network: Network, truth: Network, domain: unweave.Box | None) -> float:
    """Compare parameters; where some kinks lie outside of a box, answers of a network with as many as lie inside."""
    hidden = truth.layers[0]
    if domain is not None and hidden.activation == RELU:
        center, half_width = domain.frame(truth.inputs)
        reach = np.abs(hidden.weights) @ half_width
        visible = int(np.count_nonzero(np.abs(hidden.preactivations(center[None])[0]) < reach))
        if visible < hidden.neurons:
            standard = np.random.default_rng(0).uniform(-1.0, 1.0, (100_000, truth.inputs))
            answers, others = truth(center + half_width * standard), network(center + half_width * standard)
            alike = float(np.max(np.abs(others - answers)) / np.std(answers))
            return alike if network.widths == (visible,) else np.inf
    return unweave.match(network, truth).largest_error if network.widths == truth.widths else np.inf


def report(name: str, rows: list[tuple[str, float, float, float]]) -> dict[str, object]:
    """Summarise the networks of one data set and activation."""
    outcomes, queries, errors, seconds = zip(*rows, strict=True)
    counts = " / ".join(str(outcomes.count(outcome.value)) for outcome in unweave.Outcome)
    identified = [error for outcome, error in zip(outcomes, errors, strict=True) if outcome == "identified"]
    wrong = sum(error > WRONG for error in identified)
    say(
        f"{name}: {len(rows)}, {counts}, {wrong} wrong | {np.median(queries):.1f} | "
        f"{max(identified, default=np.nan):.0e} | median {np.median(seconds):.1f}, largest {max(seconds):.1f}"
    )
    return {
        "networks": name,
        "trials": len(rows),
        "recovered": len(identified) - wrong,
        "partly": outcomes.count("partly identified"),
        "wrong": wrong,
        "largest_error": max(identified, default=None),
        "queries_per_parameter": np.median(queries),
        "seconds": np.median(seconds),
    }


if __name__ == "__main__":
    main()
