"""Curves and phase diagrams: the same numbers wherever sizes are computed, and none of them twice."""

import os
import signal
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from unweave.activations import QUADRATIC, TANH, softplus
from unweave.exceptions import InvalidInput, UnreadableFile
from unweave.explore.landscape import sweeps
from unweave.explore.landscape.experiment import LandscapeDesign, LandscapePoint, explore
from unweave.explore.landscape.kept_sizes import KeptSizes, configuration_of
from unweave.explore.landscape.sweeps import LandscapeCurve, PhaseDiagram, sweep, sweep_both
from unweave.explore.landscape.trainings import follow_trainings, training_curves
from unweave.jobs import LocalProcesses

SMALL = LandscapeDesign(softplus(10.0), samples=12, planted=3, starts=2)
RANGE: dict[str, Any] = {"neurons": (2, 3, 5), "inputs": (3, 4)}


def assert_same(found: LandscapeCurve | PhaseDiagram, expected: LandscapeCurve | PhaseDiagram) -> None:
    """Equal bit by bit; only times may differ."""
    assert len(found.points) == len(expected.points)
    for ours, theirs in zip(found.points, expected.points, strict=True):
        assert (ours.neurons, ours.inputs) == (theirs.neurons, theirs.inputs)
        for name in ("losses", "steps", "is_global"):
            assert np.array_equal(getattr(ours, name), getattr(theirs, name)), name


@pytest.fixture(scope="module")
def diagram() -> PhaseDiagram:
    return sweep_both(SMALL, **RANGE, seed=4)


def test_a_phase_diagram_holds_every_pair_of_sizes(diagram: PhaseDiagram) -> None:
    assert diagram.clean_shares.shape == (2, 3)
    assert diagram.crossings.shape == (2,)
    for place, (inputs, neurons) in enumerate((i, n) for i in (3, 4) for n in (2, 3, 5)):
        alone = explore(SMALL, neurons=neurons, inputs=inputs, seed=4)
        assert np.array_equal(diagram.points[place].losses, alone.losses)
        assert diagram.clean_shares.ravel()[place] == alone.clean_share
    over_neurons = sweep(SMALL, neurons=(2, 3, 5), inputs=4, seed=4)
    assert_same(diagram.curves[1], over_neurons)
    assert diagram.crossings[1] == over_neurons.fit.crossing or np.isnan(diagram.crossings[1])
    assert diagram.seconds > 0


def test_bands_hold_the_shares(diagram: PhaseDiagram) -> None:
    curve = diagram.curves[0]
    assert curve.clean_intervals.shape == (3, 2)
    assert np.all(curve.clean_intervals[:, 0] <= curve.clean_shares)
    assert np.all(curve.clean_intervals[:, 1] >= curve.clean_shares)


class Counted:
    """Counts what is computed, and may end the run as a user would."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, last: int | None = None) -> None:
        self.sizes: list[tuple[int, int]] = []
        self.last = last
        monkeypatch.setattr(sweeps, "explore", self)

    def __call__(self, design: LandscapeDesign, **given: Any) -> LandscapePoint:
        if len(self.sizes) == self.last:
            raise KeyboardInterrupt
        self.sizes.append((given["neurons"], given["inputs"]))
        return explore(design, **given)


def test_a_folder_goes_on_and_nothing_is_computed_twice(
    diagram: PhaseDiagram, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    configuration = configuration_of(SMALL, seed=4)
    counted = Counted(monkeypatch, last=4)
    with pytest.raises(KeyboardInterrupt):
        sweep_both(SMALL, **RANGE, seed=4, kept=KeptSizes.open(tmp_path / "sizes", configuration))
    first = counted.sizes
    assert len(first) == 4
    counted = Counted(monkeypatch)
    heard: list[LandscapePoint] = []
    kept = KeptSizes.open(tmp_path / "sizes", configuration)
    assert_same(sweep_both(SMALL, **RANGE, seed=4, kept=kept, progress=heard.append), diagram)
    assert len(counted.sizes) == 2
    assert not set(first) & set(counted.sizes)
    assert len(heard) == 6
    # A wider range takes what is there.
    sweep(SMALL, neurons=(2, 3, 5, 6), inputs=4, seed=4, kept=kept)
    assert counted.sizes[2:] == [(6, 4)]


def test_a_size_that_was_not_written_whole_is_computed_again(
    diagram: PhaseDiagram, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = KeptSizes.open(tmp_path / "sizes", configuration_of(SMALL, seed=4))
    sweep_both(SMALL, **RANGE, seed=4, kept=kept)
    path = tmp_path / "sizes" / "neurons-3-inputs-4.json"
    # What a writer leaves that was killed before it was done.
    path.rename(path.with_name(f".unweave-7-{path.name}"))
    counted = Counted(monkeypatch)
    assert_same(sweep_both(SMALL, **RANGE, seed=4, kept=kept), diagram)
    assert counted.sizes == [(3, 4)]


def test_other_settings_and_damage_are_noticed(tmp_path: Path) -> None:
    folder, configuration = tmp_path / "sizes", configuration_of(SMALL, seed=4)
    kept = KeptSizes.open(folder, configuration)
    sweep(SMALL, neurons=(2, 3), inputs=3, seed=4, kept=kept)
    with pytest.raises(InvalidInput, match=r"other settings \(activation\)"):
        KeptSizes.open(folder, configuration_of(replace(SMALL, activation=TANH), seed=4))
    path = folder / "neurons-2-inputs-3.json"
    path.write_text(path.read_text().replace("1", "2"))
    with pytest.raises(UnreadableFile, match="neurons-2-inputs-3"):
        sweep(SMALL, neurons=(2, 3), inputs=3, seed=4, kept=kept)
    path.write_text("[1, 2]")
    with pytest.raises(UnreadableFile, match="neurons-2-inputs-3"):
        kept.read("neurons-2-inputs-3")
    KeptSizes.open(folder, configuration_of(SMALL, seed=5), overwrite=True)
    assert {each.name for each in folder.iterdir()} == {"configuration.json"}


def test_folders_of_others_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("...")
    for overwrite in (False, True):
        with pytest.raises(InvalidInput, match="left alone"):
            KeptSizes.open(tmp_path, configuration_of(SMALL), overwrite=overwrite)
    (tmp_path / "configuration.json").write_text("{")
    with pytest.raises(InvalidInput, match="can't be used"):
        KeptSizes.open(tmp_path, configuration_of(SMALL))


def test_an_activation_without_a_name_is_not_kept() -> None:
    with pytest.raises(InvalidInput, match="have names"):
        configuration_of(replace(SMALL, activation=lambda t: t))


def test_a_phase_diagram_needs_two_of_each() -> None:
    with pytest.raises(InvalidInput, match="two numbers of neurons and of inputs"):
        sweep_both(SMALL, neurons=(3, 3), inputs=(2, 4))


def test_followed_trainings_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    design = replace(SMALL, activation=QUADRATIC, starts=1, has_random_labels=True)
    kept = KeptSizes.open(tmp_path / "sizes", configuration_of(design))
    given: dict[str, Any] = {"neurons": (3, 4), "inputs": 5, "steps": 500}
    found = follow_trainings(design, **given, kept=kept)
    alone = training_curves(design, neurons=4, inputs=5, steps=500)
    assert np.array_equal(found[1].errors, alone.errors)
    monkeypatch.setattr("unweave.explore.landscape.trainings.training_curves", None)
    again = follow_trainings(design, **given, kept=kept)
    assert np.array_equal(again[0].errors, found[0].errors)
    assert np.array_equal(again[1].steps, alone.steps)


@pytest.mark.slow
def test_processes_give_the_same_bits(diagram: PhaseDiagram, tmp_path: Path) -> None:
    kept = KeptSizes.open(tmp_path / "sizes", configuration_of(SMALL, seed=4))
    assert_same(sweep_both(SMALL, **RANGE, seed=4, workers=LocalProcesses(2), kept=kept), diagram)
    assert len([*kept.folder.glob("neurons-*.json")]) == 6


@pytest.mark.slow
def test_a_cluster_gives_the_same_bits_though_a_worker_is_killed(diagram: PhaseDiagram) -> None:
    import distributed

    killed: list[int] = []
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as client,
    ):
        address, worker = next(iter(client.run(os.getpid).items()))

        def kill_once(_: LandscapePoint) -> None:
            if not killed:
                os.kill(worker, signal.SIGKILL)
                killed.append(worker)

        found = sweep_both(SMALL, **RANGE, seed=4, workers=client, progress=kill_once)
        assert_same(found, diagram)
        # The cluster notices it, which may be after the last size, and replaces it.
        end = time.monotonic() + 120.0
        while address in cluster.scheduler.workers and time.monotonic() < end:
            time.sleep(0.01)
        client.wait_for_workers(2, timeout=120.0)
        assert killed == [worker]
        assert worker not in client.run(os.getpid).values()
