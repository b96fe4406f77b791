"""The machinery of campaigns, which lies beside the benchmarks: limits, crashes, and going on where it stopped."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"
CAMPAIGN = """
import os, sys
sys.path.insert(0, {folder!r})
from campaigns import Family, Judged, Verdict, main

def judge(seed):
    if seed == 1:
        raise ValueError("no luck")
    while seed == 2:
        pass
    if seed == 3:
        os._exit(7)
    return Judged(Verdict.WRONG if seed == 4 else Verdict.RIGHT, "as planted")

sys.exit(main([Family("a door", "a family", judge)], description=""))
"""


def run(out: Path, fits: int) -> subprocess.CompletedProcess[str]:
    source = CAMPAIGN.format(folder=str(BENCHMARKS))
    options = ["--fits", str(fits), "--cpu-seconds", "0.2", "--out", str(out), "--summary", f"{out}.json"]
    return subprocess.run([sys.executable, "-c", source, *options], capture_output=True, text=True, check=False)


def test_every_trial_ends_with_a_verdict_and_is_run_once(tmp_path: Path) -> None:
    out = tmp_path / "trials.jsonl"
    assert run(out, 1).returncode == 0
    # A line that was torn while it was written is run again; whole lines are believed.
    first = json.loads(out.read_text())
    out.write_text(json.dumps({**first, "detail": "from the file"}) + "\n" + '{"door": "a do')
    done = run(out, 5)
    assert done.returncode == 1, done.stderr
    trials = {line["seed"]: line for line in map(json.loads, (x for x in out.read_text().splitlines() if x[-1] == "}"))}
    verdicts = [trials[seed]["verdict"] for seed in range(5)]
    assert verdicts == ["right", "crash", "over time", "crash", "wrong"]
    assert trials[0]["detail"] == "from the file"
    assert "ValueError" in trials[1]["detail"]
    assert "no luck" in done.stdout
    assert "a family" in done.stdout
    counts = json.loads(Path(f"{out}.json").read_text())
    assert counts["commit"] == "0000000"
    family = counts["doors"]["a door"]["a family"]
    assert {name: family[name] for name in ("trials", "right", "wrong", "crash", "over time")} == {
        "trials": 5,
        "right": 1,
        "wrong": 1,
        "crash": 2,
        "over time": 1,
    }


def write_script(folder: Path) -> Path:
    """The campaign as a file that workers import to find its functions, without beginning a campaign of their own."""
    script = folder / "campaign_of_a_test.py"
    source = CAMPAIGN.format(folder=str(BENCHMARKS))
    script.write_text(source.replace("sys.exit(", 'if __name__ == "__main__":\n    sys.exit('))
    return script


def started(script: Path, out: Path, *options: str) -> subprocess.Popen[str]:
    command = [sys.executable, str(script), "--fits", "6", "--cpu-seconds", "0.2", "--out", str(out), *options]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def verdicts_of(campaign: subprocess.Popen[str], out: Path) -> dict[int, tuple[str, str]]:
    _, errors = campaign.communicate()
    assert campaign.returncode == 1, errors
    trials = [json.loads(line) for line in out.read_text().splitlines()]
    assert len(trials) == 6
    return {trial["seed"]: (trial["verdict"], trial["detail"]) for trial in trials}


@pytest.mark.slow
def test_workers_judge_as_forks_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from distributed import Client, LocalCluster

    script = write_script(tmp_path)
    forked = verdicts_of(started(script, tmp_path / "forked"), tmp_path / "forked")
    assert forked[5] == ("right", "as planted")
    out = tmp_path / "processes"
    assert verdicts_of(started(script, out, "--scheduler", "processes:2"), out) == forked
    out = tmp_path / "cluster"
    # The workers of this cluster get the path of this process.
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster:
        with Client(cluster) as client:
            worker = next(iter(client.run(os.getpid).values()))
        campaign = started(script, out, "--scheduler", cluster.scheduler_address)
        end = time.monotonic() + 60.0
        while not (out.exists() and out.stat().st_size) and time.monotonic() < end:
            time.sleep(0.005)
        # One of two workers is killed while trials are left.
        os.kill(worker, signal.SIGKILL)
        assert verdicts_of(campaign, out) == forked
