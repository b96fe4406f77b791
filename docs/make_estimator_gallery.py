"""Make the pictures of docs/which-estimator, and the page that shows them, from `docs/which-estimator/estimators.toml`.

    python docs/make_estimator_gallery.py                    write the page from what is there
    python docs/make_estimator_gallery.py --run              measure what is missing first: about five CPU minutes
    python docs/make_estimator_gallery.py --run --only QuadraticNetworkRegressor

Scores that are in found.json are not measured again, unless settings have changed: remove it to measure all.

Every estimator learns tables of scikit-learn, as it comes but for the settings that the file names, on the same ten
random splits as some of scikit-learn's own. The best of those is chosen by the held-out rows on which it is shown, so
that it looks a little better than it is.
"""

import argparse
import json
import sys
import tomllib
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from make_gallery import palette, told
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from sklearn.base import clone, is_classifier
from sklearn.compose import TransformedTargetRegressor
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegressionCV, RidgeCV
from sklearn.model_selection import GridSearchCV, ShuffleSplit, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.svm import SVC, SVR

from unweave.reports.pictures.style import ACCENT, COLOURS, INK, QUIET, open_frame, plain

DOCS = Path(__file__).parent
FOLDER, PAGE = DOCS / "which-estimator", DOCS / "which-estimator.md"
FOUND = FOLDER / "found.json"
SPLITS = ShuffleSplit(10, test_size=0.25, random_state=0)
RIDGES = np.logspace(-3, 3, 13)
SIZE = (8.6, 4.2)
# Scores that are worse are drawn here, at the edge.
LOWEST = {"R2": -0.1, "accuracy": 0.5}
HEAD = """# Which estimator?

<!-- Written by docs/make_estimator_gallery.py from the files of docs/which-estimator: change those. -->

All of them are made for labels of a network of their kind, which they recover with a certificate. This page is about
the other use: tables as they come, and predictions of rows that were held out. On the left of every picture is the
mean score of ten random splits (a quarter of the rows held out), with its standard error, beside estimators of scikit-
learn whose settings are cross-validated or the defaults; the best of these is named by the same held-out rows, which
flatters it a little. Differences of less than two standard errors are chance. On the right is what the estimator tells
beyond its predictions. All columns are standardised. Everything is made by

```sh
python docs/make_estimator_gallery.py --run
```

| table | rows and columns | label |
| --- | --- | --- |
"""
Table = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Task:
    """A table of scikit-learn with a label.

    Args:
        name: as people say it.
        load: names of columns, rows and labels.
        label: what is predicted.
        score: how.
    """

    name: str
    load: Callable[[], tuple[list[str], np.ndarray, np.ndarray]]
    label: str
    score: str


def nuclei(label: str, *columns: str) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Columns of the table of breast cancer, in which most are measures of nuclei of cells."""
    table = load_breast_cancer(as_frame=True)
    rows = table.frame[list(columns)].to_numpy()
    labels = table.target_names[table.target] if label == "target" else table.frame[label].to_numpy()
    return [name.removeprefix("mean ").removeprefix("worst ") for name in columns], rows, labels


def diabetes() -> tuple[list[str], np.ndarray, np.ndarray]:
    """All of it."""
    table = load_diabetes()
    return list(table.feature_names), table.data, table.target


def of_classes(load: Callable[[], Any], *columns: int) -> tuple[list[str], np.ndarray, np.ndarray]:
    """A table with names of classes, or some columns of it."""
    table = load()
    chosen = list(columns) or list(range(table.data.shape[1]))
    names = [table.feature_names[each].removesuffix(" (cm)") for each in chosen]
    return names, table.data[:, chosen], table.target_names[table.target]


SHAPE = ("mean radius", "mean texture", "mean perimeter", "mean smoothness", "mean compactness", "mean concavity")
TASKS = {
    "area": Task("nuclei, area", partial(nuclei, "mean area", *SHAPE), "mean area of the nuclei, breast cancer", "R2"),
    "compactness": Task(
        "nuclei, compactness",
        partial(nuclei, "mean compactness", "mean radius", "mean perimeter", "mean area", "mean smoothness"),
        "their mean compactness",
        "R2",
    ),
    "diabetes": Task("diabetes", diabetes, "progression after a year", "R2"),
    "iris": Task("iris, petals", partial(of_classes, load_iris, 2, 3), "three species", "accuracy"),
    "nuclei": Task(
        "nuclei, diagnosis", partial(nuclei, "target", "worst area", "worst smoothness"), "two diagnoses", "accuracy"
    ),
    "sepals": Task("iris, sepals", partial(of_classes, load_iris, 0, 1), "three species", "accuracy"),
    "wine": Task("wine", partial(of_classes, load_wine), "three growers", "accuracy"),
}


def rivals(score: str) -> dict[str, Any]:
    """Estimators of scikit-learn that users would try first."""
    products = make_pipeline(PolynomialFeatures(2, include_bias=False), StandardScaler(), RidgeCV(RIDGES))
    tuned = partial(GridSearchCV, param_grid={"C": [1, 10, 100]}, cv=5)
    if score == "R2":
        return {
            "ridge": RidgeCV(RIDGES),
            "ridge on products": products,
            "support vectors": TransformedTargetRegressor(tuned(SVR()), transformer=StandardScaler()),
            "random forest": RandomForestRegressor(random_state=0),
            "boosted trees": HistGradientBoostingRegressor(random_state=0),
        }
    return {
        "logistic regression": LogisticRegressionCV(Cs=RIDGES, l1_ratios=(0,), use_legacy_attributes=False),
        "support vectors": tuned(SVC()),
        "random forest": RandomForestClassifier(random_state=0),
        "boosted trees": HistGradientBoostingClassifier(random_state=0),
    }


def scores(model: Any, task: str) -> list[float]:
    """Of every split."""
    _, points, labels = TASKS[task].load()
    return cross_val_score(
        make_pipeline(StandardScaler(), model), points, labels, cv=SPLITS, error_score="raise"
    ).tolist()


def read_estimators() -> dict[str, dict[str, Any]]:
    """What is shown, by names of estimators."""
    return tomllib.loads((FOLDER / "estimators.toml").read_text(encoding="utf-8"))


def read_found() -> dict[str, Any]:
    """Scores of all splits, by model and task, and what else is told."""
    return json.loads(FOUND.read_text(encoding="utf-8")) if FOUND.exists() else {}


def estimator(name: str, shown: Mapping[str, Any]) -> Any:
    """The estimator as it is measured."""
    import unweave.learn

    settings = {key: tuple(value) if isinstance(value, list) else value for key, value in shown["settings"].items()}
    return getattr(unweave.learn, name)(**settings, random_state=0)


def tasks_of(model: Any) -> list[str]:
    """The tasks of its kind."""
    return [name for name, task in TASKS.items() if (task.score == "accuracy") == is_classifier(model)]


def measured(name: str, shown: Mapping[str, Any], found: dict[str, Any]) -> None:
    """Score an estimator, and others where that is not done, and draw its picture."""
    model, own = estimator(name, shown), found.setdefault(name, {})
    if own.get("settings") != shown["settings"]:
        own.clear()
    own["settings"] = dict(shown["settings"])
    for task in tasks_of(model):
        for each, other in {**rivals(TASKS[task].score), name: model}.items():
            if task not in found.setdefault(each, {}):
                found[each][task] = scores(other, task)
    names, points, labels = TASKS[shown["task"]].load()
    fitted = clone(model).fit(scaled := StandardScaler().fit_transform(points), labels)
    own["halfspaces"] = len(fitted.normals_) if hasattr(fitted, "normals_") else None
    picture = drawn(name, shown, found, fitted, (names, points, scaled, labels))
    (FOLDER / f"{name}.png").write_bytes(palette(picture))


def rows_of(name: str, found: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Numbers of an estimator and of others, as lines of the page name them."""
    rows = []
    for task in (each for each in TASKS if each in found[name]):
        own = np.array(found[name][task])
        others = {rival: np.array(found[rival][task]) for rival in rivals(TASKS[task].score)}
        best = max(others, key=lambda rival: float(others[rival].mean()))
        gains = own - others[best]
        row = {"own": own.mean(), "worst": own.min(), "rival": others[best].mean(), "gain": gains.mean()}
        row |= {"error": gains.std(ddof=1) / np.sqrt(len(gains)), "halfspaces": found[name]["halfspaces"]}
        rows.append(
            {"task": task, "rival_name": best, **{key: value for key, value in row.items() if value is not None}}
        )
        rows += [{"task": task, "model": rival, "score": each.mean()} for rival, each in others.items()]
    return rows


def drawn(
    name: str, shown: Mapping[str, Any], found: Mapping[str, Any], fitted: Any, table: tuple[list[str], Any, Any, Any]
) -> Figure:
    """Scores on all tasks on the left, and what the estimator tells on the right."""
    figure = Figure(figsize=SIZE, layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(1.25, 1))
    draw_scores(left, name, found)
    VIEWS[shown["view"]](right, fitted, *table)
    return figure


def draw_scores(axes: Axes, name: str, found: Mapping[str, Any]) -> None:
    """A line per estimator and task, the tasks one below the other."""
    place, places, words = 0.0, [], []
    for task in (each for each in TASKS if each in found[name]):
        kind = TASKS[task].score
        axes.text(
            0.0,
            place,
            TASKS[task].name,
            transform=axes.get_yaxis_transform(),
            va="center",
            weight="bold",
            fontsize="small",
        )
        for model in (*rivals(kind), name):
            place -= 1.0
            values = np.array(found[model][task])
            colour = ACCENT if model == name else QUIET
            mean, error = values.mean(), values.std(ddof=1) / np.sqrt(len(values))
            seen = max(mean, LOWEST[kind])
            axes.errorbar(
                seen,
                place,
                xerr=error if seen == mean else 0,
                fmt="o" if seen == mean else "<",
                color=colour,
                markersize=4,
                linewidth=1.5,
            )
            places.append(place)
            words.append("this estimator" if model == name else model)
        place -= 1.5
    axes.set_yticks(places, words, fontsize="x-small")
    for tick, word in zip(axes.get_yticklabels(), words, strict=True):
        tick.set_color(ACCENT if word == "this estimator" else INK)
    axes.set_ylim(place + 0.8, 0.8)
    axes.set_xlim(LOWEST[kind] - 0.03, 1.02)
    axes.set_xlabel(
        "R2 of held-out rows" if kind == "R2" else "share of held-out rows that are right", fontsize="small"
    )
    plain(axes)


def draw_form(axes: Axes, fitted: Any, names: list[str], *_: Any) -> None:
    """The matrix of a quadratic form of standardised columns, with those of its linear part and its constant."""
    matrix, count = fitted.matrix_, len(names)
    words = [*names, "1"][: len(matrix)]
    # The linear part is larger, and would leave all products pale.
    largest = np.max(np.abs(matrix[:count, :count]))
    axes.imshow(matrix, cmap="RdBu_r", vmin=-largest, vmax=largest)
    axes.set_xticks(range(len(words)), words, rotation=45, ha="right", fontsize="x-small")
    axes.set_yticks(range(len(words)), words, fontsize="x-small")
    axes.set_title("weights of products: red +, blue -", fontsize="small")


def draw_features(
    axes: Axes, fitted: Any, _names: list[str], _points: Any, scaled: np.ndarray, labels: np.ndarray
) -> None:
    """The hidden features, turned so that the first one varies most, in the colour of the label."""
    hidden = fitted.transform(scaled)
    hidden = hidden - hidden.mean(axis=0)
    turned = hidden @ np.linalg.svd(hidden, full_matrices=False)[2].T
    shown = axes.scatter(*turned[:, :2].T, c=labels, s=8, cmap="cividis")
    axes.figure.colorbar(shown, ax=axes, label="label")
    axes.set_xlabel("first hidden feature, centred", fontsize="small")
    axes.set_ylabel("second hidden feature", fontsize="small")
    open_frame(axes)


def draw_neurons(axes: Axes, fitted: Any, names: list[str], *_: Any) -> None:
    """Weights of the neurons, times what they weigh in the answer."""
    first, last = fitted.network_.layers
    strengths = np.column_stack([first.weights, first.biases]) * np.abs(last.weights[0])[:, None]
    signs = ["+" if each > 0 else "-" for each in last.weights[0]]
    order = np.argsort(-np.linalg.norm(strengths, axis=1))
    largest = np.max(np.abs(strengths))
    axes.imshow(strengths[order], cmap="RdBu_r", vmin=-largest, vmax=largest, aspect="auto")
    axes.set_xticks(range(len(names) + 1), [*names, "bias"], rotation=45, ha="right", fontsize="x-small")
    axes.set_yticks(range(len(order)), [f"{signs[each]} relu" for each in order], fontsize="x-small")
    axes.set_title(f"weights of {len(order)} neurons: red +, blue -", fontsize="small")


def draw_answers(
    axes: Axes, fitted: Any, _names: list[str], _points: Any, scaled: np.ndarray, labels: np.ndarray
) -> None:
    """Answers to the rows that the first split holds out, against their labels."""
    used, held = next(SPLITS.split(scaled))
    answers = clone(fitted).fit(scaled[used], labels[used]).predict(scaled[held])
    ends = [min(labels[held]), max(labels[held])]
    axes.plot(ends, ends, color=QUIET, linewidth=1)
    axes.plot(labels[held], answers, ".", color=INK, markersize=4)
    axes.set_xlabel("label of a held-out row", fontsize="small")
    axes.set_ylabel("answer", fontsize="small")
    plain(axes)


def draw_plane(
    axes: Axes, fitted: Any, names: list[str], points: np.ndarray, scaled: np.ndarray, labels: np.ndarray
) -> None:
    """What is answered everywhere in the plane of two columns."""
    from matplotlib.colors import ListedColormap

    lower, upper = scaled.min(axis=0) - 0.3, scaled.max(axis=0) + 0.3
    first, second = (np.linspace(*ends, 300) for ends in zip(lower, upper, strict=True))
    plane = np.stack(np.meshgrid(first, second), axis=-1).reshape(-1, 2)
    answers = np.searchsorted(fitted.classes_, fitted.predict(plane)).reshape(300, 300)
    unit = StandardScaler().fit(points)
    (left, bottom), (right, top) = unit.inverse_transform([lower, upper])
    colours = ListedColormap(COLOURS[: len(fitted.classes_)])
    axes.imshow(
        answers, origin="lower", extent=(left, right, bottom, top), aspect="auto", cmap=colours, alpha=0.2,
        vmin=0, vmax=len(fitted.classes_) - 1, interpolation="nearest",
    )  # fmt: skip
    for colour, name in zip(COLOURS, fitted.classes_, strict=False):
        axes.plot(*points[labels == name].T, ".", color=colour, markersize=3, label=str(name))
    axes.set_xlabel(names[0], fontsize="small")
    axes.set_ylabel(names[1], fontsize="small")
    axes.legend(
        frameon=False, fontsize="x-small", loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, markerscale=2
    )
    open_frame(axes)


VIEWS = {
    "form": draw_form,
    "features": draw_features,
    "neurons": draw_neurons,
    "answers": draw_answers,
    "plane": draw_plane,
}


def page(shown: Mapping[str, Mapping[str, Any]], found: Mapping[str, Any]) -> str:
    """The page: tables, and every estimator with its picture and when it is the right one."""
    parts = [HEAD]
    for task in TASKS.values():
        names, points, _ = task.load()
        columns = ", ".join(names) if len(names) < 8 else f"all {len(names)} columns"
        parts.append(f"| {task.name} | {len(points)}: {columns} | {task.label} |\n")
    for name, each in shown.items():
        rows = rows_of(name, found)
        settings = ", ".join(
            f"{key}={value!r}" for key, value in estimator(name, each).get_params().items() if key in each["settings"]
        )
        parts.append(
            f"\n## {name}\n\n![Scores of {name} beside others, and what it tells](which-estimator/{name}.png)\n\n"
            f"* **Right if** {told(each['right'], rows)}.\n* **Not if** {told(each['wrong'], rows)}.\n"
            f"* `{name}({settings})`\n\n{scores_table(rows)}"
        )
    return "".join(parts)


def scores_table(rows: list[dict[str, Any]]) -> str:
    """Own scores beside the best other ones."""
    lines = ["| table | this estimator | best of scikit-learn | difference |", "| --- | --- | --- | --- |"]
    for row in (each for each in rows if "own" in each):
        best = f"{row['rival']:.3f} ({row['rival_name']})"
        difference = f"{row['gain']:+.3f} ± {row['error']:.3f}"
        lines.append(f"| {TASKS[row['task']].name} | {row['own']:.3f} | {best} | {difference} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    """Measure what is asked for, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    shown = read_estimators()
    parser.add_argument("--run", action="store_true", help="measure what is missing, and draw")
    parser.add_argument("--only", nargs="+", choices=shown, default=list(shown), metavar="ESTIMATOR")
    args = parser.parse_args()
    found = read_found()
    warnings.filterwarnings("ignore")
    for name in args.only if args.run else ():
        sys.stderr.write(f"{name}\n")
        measured(name, shown[name], found)
        # After every estimator: a run that is stopped has lost none.
        FOUND.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    if missing := [name for name in shown if name not in found]:
        sys.stderr.write(f"not measured yet, so that there is no page: {', '.join(missing)}\n")
        return 1
    PAGE.write_text(page(shown, found), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
