"""The database of an older version (`tests/older`), in which source text named models.

It has a run that is done, and one that was going on.
"""

import json
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from leakrange.scenario.plan import FORM
from leakrange.services.controller.settings import ControllerSettings
from tests.controller.conftest import TRIALS, Api, serve

OLDER = Path(__file__).parents[1] / "older" / "controller.sql"
DONE, BEGUN = "20261122-141112-b82a12", "20261122-141230-c82bfc"


@pytest.fixture(scope="module")
def upgraded(
    settings: Callable[..., ControllerSettings], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Api]:
    """A controller of this version that was started on it."""
    file = tmp_path_factory.mktemp("older") / "range.sqlite"
    with sqlite3.connect(file) as connection:
        connection.executescript(OLDER.read_text(encoding="utf-8"))
    connection.close()
    with (
        serve(settings(database_url=f"sqlite:///{file}")) as url,
        httpx.Client(base_url=url, timeout=90) as client,
    ):
        yield Api(client)


def test_a_run_that_is_done_keeps_its_figures_and_its_report(upgraded: Api) -> None:
    results = upgraded.get(f"/v1/runs/{DONE}/results")
    figures = {
        (trial["attack"], trial["provider"], trial["defence"]): trial["metrics"]
        for trial in results["trials"]
    }
    assert len(figures) == 6
    assert figures["outside", "honest", "none"]["honesty"]["value"] == 0.9375
    assert figures["inside", "curious", "none"]["curiosity"]["value"] == 0.46875
    assert figures["inside", "curious", "none"]["majority"]["value"] == 0.5625
    assert len(results["ledger"]) == 8
    assert "another version" in results["environment"]["models"]
    report = upgraded.ask("GET", f"/v1/runs/{DONE}/report")
    assert report.status_code == 200
    assert "another version of Leakrange planned this run" in report.text


def test_a_run_that_was_going_on_fails_and_says_what_to_do(upgraded: Api) -> None:
    with upgraded.client.stream("GET", f"/v1/runs/{BEGUN}/events") as events:
        for _ in events.iter_lines():  # ends with the run
            pass
    view = upgraded.get(f"/v1/runs/{BEGUN}")
    assert view["state"] == "failed"
    assert view["error"].endswith(
        "another version of Leakrange, and this one cannot go on with it: run its scenario again"
    )
    results = upgraded.get(f"/v1/runs/{BEGUN}/results")
    assert {trial["state"] for trial in results["trials"]} == {"cancelled"}


def test_its_scenario_can_be_run_again(upgraded: Api) -> None:
    scenario = upgraded.get(f"/v1/runs/{BEGUN}/results")["scenario_yaml"]
    again = upgraded.post(scenario).json()
    assert (again["trials"], again["models"]) == (6, 2)
    assert upgraded.get(f"/v1/runs/{again['id']}/results")["environment"]["training loop"] == "version 1"
    upgraded.cancel(again["id"])


def test_a_plan_that_names_too_little_for_this_version_can_be_read_and_not_carried_out(
    settings: Callable[..., ControllerSettings], tmp_path: Path
) -> None:
    file = tmp_path / "range.sqlite"
    mine = settings(database_url=f"sqlite:///{file}")
    with serve(mine) as url, httpx.Client(base_url=url, timeout=90) as client:
        run = Api(client).start()
    with sqlite3.connect(file) as connection:
        ((plan,),) = connection.execute("SELECT plan FROM plans").fetchall()
        assert json.loads(plan)["form"] == FORM
        older = json.dumps({part: value for part, value in json.loads(plan).items() if part != "form"})
        connection.execute("UPDATE plans SET plan = ?", (older,))
    connection.close()
    with serve(mine) as url, httpx.Client(base_url=url, timeout=90) as client:
        api = Api(client)
        with client.stream("GET", f"/v1/runs/{run}/events") as events:
            for _ in events.iter_lines():  # ends with the run
                pass
        view = api.get(f"/v1/runs/{run}")
        assert view["state"] == "failed"
        assert view["error"].endswith("this one cannot go on with it: run its scenario again")
        assert len(api.get(f"/v1/runs/{run}/results")["trials"]) == TRIALS
