"""The machinery of campaigns, which lies beside the benchmarks: limits, crashes, and going on where it stopped."""

import json
import subprocess
import sys
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


@pytest.mark.slow
def test_workers_judge_as_forks_do(tmp_path: Path) -> None:
    script = tmp_path / "campaign_of_a_test.py"
    # Workers import the script to find its functions, and must not begin a campaign of their own.
    script.write_text(
        CAMPAIGN.format(folder=str(BENCHMARKS)).replace("sys.exit(", 'if __name__ == "__main__":\n    sys.exit(')
    )
    kept = {}
    for scheduler in ([], ["--scheduler", "processes:2"]):
        out = tmp_path / f"{len(scheduler)}.jsonl"
        options = ["--fits", "6", "--cpu-seconds", "0.2", "--out", str(out), *scheduler]
        done = subprocess.run([sys.executable, str(script), *options], capture_output=True, text=True, check=False)
        assert done.returncode == 1, done.stderr
        trials = [json.loads(line) for line in out.read_text().splitlines()]
        kept[out] = {trial["seed"]: (trial["verdict"], trial["detail"]) for trial in trials}
        assert len(trials) == 6
    forked, sent = kept.values()
    assert forked == sent
    assert forked[5] == ("right", "as planted")
