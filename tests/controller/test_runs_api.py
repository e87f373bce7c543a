"""What people ask of runs, on a controller that stands alone, with either database."""

from __future__ import annotations

import csv
import io
import socket
import time
from urllib.parse import urlsplit

import orjson
import pytest

from tests.controller.conftest import OPERATOR, SCENARIO, TRIALS, Api, problem
from tests.controller.events import events

FIVE_MISTAKES = """\
name: five mistakes
seeds: [0, 0]
data: {name: digit}
providers:
  honest: {behaviour: honest, target: parity, sensitive: large}
defences:
  rounded: [round: {decimals: many}]
attacks:
  outside: {kind: attribute-inferense}
budgets: [64]
"""


def test_all_mistakes_of_a_scenario_are_told_at_once_with_their_lines(api: Api) -> None:
    before = api.get("/v1/runs")
    told = problem(api.post(FIVE_MISTAKES), 422, "invalid-scenario")
    assert {(mistake["line"], mistake["path"].split(".")[0]) for mistake in told["mistakes"]} == {
        (1, "name"),
        (2, "seeds"),
        (3, "data"),
        (7, "defences"),
        (9, "attacks"),
    }
    assert len(told["mistakes"]) == 5
    allowed = {mistake["line"]: mistake["allowed"] for mistake in told["mistakes"]}
    assert "digits" in allowed[3]
    assert "attribute-inference" in allowed[9]
    assert api.get("/v1/runs") == before


def test_only_the_operator_starts_and_cancels(api: Api) -> None:
    run = api.start()
    for method, path in (("POST", "/v1/runs"), ("DELETE", f"/v1/runs/{run}")):
        nobody = api.ask(method, path, content=SCENARIO)
        problem(nobody, 401, "unauthenticated")
        assert nobody.headers["www-authenticate"] == "Bearer"
        problem(api.ask(method, path, content=SCENARIO, key="lr_another"), 403, "forbidden")
    assert [each["id"] for each in api.get("/v1/runs")["runs"] if each["state"] != "cancelled"] == [run]


@pytest.mark.parametrize("path", ["", "/events", "/results", "/results?format=csv", "/report"])
def test_an_unknown_run_is_said_so(api: Api, path: str) -> None:
    told = problem(api.ask("GET", f"/v1/runs/20260101-000000-abcdef{path}"), 404, "not-found")
    assert "20260101-000000-abcdef" in told["detail"]


def test_an_unknown_run_cannot_be_cancelled(api: Api) -> None:
    problem(api.ask("DELETE", "/v1/runs/nothing", key=OPERATOR), 404, "not-found")


@pytest.mark.parametrize(
    ("body", "status", "slug"),
    [
        (b"a: &a [x, x, x, x, x, x, x, x, x]\nb: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a]\n"
         b"c: &c [*b, *b, *b, *b, *b, *b, *b, *b, *b]\nd: &d [*c, *c, *c, *c, *c, *c, *c, *c, *c]\n"
         b"e: [*d, *d, *d, *d, *d, *d, *d, *d, *d]\n", 422, "invalid-scenario"),
        (b"[" * 100_000, 422, "invalid-scenario"),
        (b"a: &a [*a]", 422, "invalid-scenario"),
        (b"!!python/object/apply:os.system ['false']", 422, "invalid-scenario"),
        (b"\xff\xfe\x00", 422, "invalid-scenario"),
        (SCENARIO.encode("utf-16"), 422, "invalid-scenario"),
        (b'{"name": "a\\u0000b"}', 422, "invalid-scenario"),
        (b"", 422, "invalid-scenario"),
        (b"name: " + b"x" * 300_000, 422, "invalid-scenario"),
        (b"#" * 1_500_000, 413, "body-too-large"),
    ],
    ids=["bomb", "deep", "endless", "code", "binary", "utf-16", "null", "empty", "long", "longer"],
)  # fmt: skip
def test_hostile_scenarios_are_refused(api: Api, body: bytes, status: int, slug: str) -> None:
    problem(api.post(body), status, slug)


def test_a_huge_body_is_refused_by_its_declared_length(api: Api) -> None:
    """One gigabyte is announced; the answer comes before a byte of it was sent."""
    place = urlsplit(str(api.client.base_url))
    head = (
        f"POST /v1/runs HTTP/1.1\r\nHost: {place.netloc}\r\nConnection: close\r\n"
        f"Authorization: Bearer {OPERATOR}\r\nContent-Length: {2**30}\r\n\r\n"
    )
    with socket.create_connection((place.hostname, place.port), timeout=10) as connection:
        connection.sendall(head.encode())
        assert connection.recv(64).startswith(b"HTTP/1.1 413 ")


def test_null_characters_in_a_description_do_no_harm(api: Api) -> None:
    """PostgreSQL stores none."""
    answer = api.post(orjson.dumps({"description": "a\0b", **_as_json()}))
    assert answer.status_code < 500, answer.text


def test_a_scenario_may_be_json_or_begin_with_a_byte_order_mark(api: Api) -> None:
    assert api.post(orjson.dumps(_as_json())).status_code == 202
    assert api.post(SCENARIO.encode("utf-8-sig")).status_code == 202


def _as_json() -> dict[str, object]:
    return {
        "name": "json",
        "data": "digits",
        "providers": {"honest": {"target": "parity", "sensitive": "large"}},
        "attacks": {"outside": {"kind": "attribute-inference"}},
        "budgets": [64],
    }


def test_a_run_that_waits_for_its_parties_shows_what_is_planned(api: Api) -> None:
    answer = api.post()
    accepted = answer.json()
    run = accepted["id"]
    assert answer.headers["location"] == accepted["url"] == f"/v1/runs/{run}"
    assert (accepted["name"], accepted["trials"], accepted["models"]) == ("small", TRIALS, 2)
    view = api.get(accepted["url"])
    assert view["state"] in ("queued", "running")
    assert (view["finished"], view["error"]) == (None, None)


def test_results_report_and_table_are_there_before_any_trial_is_done(api: Api) -> None:
    run = api.start()
    first = next(events(api.client, run))  # so that it has begun, and its trials are stored
    assert first["event"] == "run.queued"
    _until_running(api, run)
    results = api.get(f"/v1/runs/{run}/results")
    assert {trial["state"] for trial in results["trials"]} == {"queued"}
    assert len(results["trials"]) == len({trial["id"] for trial in results["trials"]}) == TRIALS
    assert results["scenario_yaml"] == SCENARIO
    assert results["environment"]["data set digits"] == "version 1"
    assert (results["models"], results["ledger"]) == ([], [])
    assert results["data_notes"].keys() == {"digits"}
    table = api.ask("GET", f"/v1/runs/{run}/results", headers={"Accept": "text/csv"})
    assert table.headers["content-type"].startswith("text/csv")
    assert f"{run}.csv" in table.headers["content-disposition"]
    rows = list(csv.DictReader(io.StringIO(table.text)))
    assert {row["id"] for row in rows} == {trial["id"] for trial in results["trials"]}
    assert api.ask("GET", f"/v1/runs/{run}/results?format=csv").text == table.text
    refused = api.ask("GET", f"/v1/runs/{run}/results", headers={"Accept": "image/png"})
    problem(refused, 406, "not-acceptable")
    page = api.ask("GET", f"/v1/runs/{run}/report")
    assert page.status_code == 200
    assert page.text.lstrip().lower().startswith("<!doctype html>")
    assert "small" in page.text


def test_a_cancelled_run_stays_as_it_is(api: Api) -> None:
    run = api.start()
    _until_running(api, run)
    view = api.cancel(run)
    assert view["state"] == "cancelled"
    assert view["finished"] is not None
    trials = api.get(f"/v1/runs/{run}/results")["trials"]
    assert {trial["state"] for trial in trials} == {"cancelled"}
    assert api.cancel(run) == view
    heard = list(events(api.client, run))
    assert [event["id"] for event in heard] == list(range(1, len(heard) + 1))
    assert heard[-1]["event"] == "run.finished"
    assert heard[-1]["data"]["state"] == "cancelled"


def test_a_run_cancelled_at_once_never_begins_behind_it(api: Api) -> None:
    for _ in range(5):
        run = api.start()
        assert api.cancel(run)["state"] == "cancelled"
        heard = list(events(api.client, run))
        assert heard[-1]["event"] == "run.finished"
        assert api.get(f"/v1/runs/{run}")["state"] == "cancelled"


def test_events_are_replayed_from_wherever_the_follower_stopped(api: Api) -> None:
    run = api.start()
    _until_running(api, run)
    api.cancel(run)
    everything = list(events(api.client, run))
    assert [event["event"] for event in everything] == ["run.queued", "run.running", "run.finished"]
    for stopped in range(len(everything) + 1):
        header = {"Last-Event-ID": str(stopped)}
        assert list(events(api.client, run, headers=header)) == everything[stopped:]
        assert list(events(api.client, run, f"?after={stopped}")) == everything[stopped:]
    # A browser that reconnects says where it was, and the page's address does not.
    assert list(events(api.client, run, "?after=0", headers={"Last-Event-ID": "2"})) == everything[2:]
    for nonsense in ("x", "-1", "9" * 5000):
        refused = api.ask("GET", f"/v1/runs/{run}/events", headers={"Last-Event-ID": nonsense})
        problem(refused, 422, "invalid-input")


def test_followers_hear_at_once(api: Api) -> None:
    """Not only when the next sign of life is due, after 15 s."""
    run = api.start()
    live = events(api.client, run)
    assert [next(live)["event"], next(live)["event"]] == ["run.queued", "run.running"]
    api.cancel(run)
    begun = time.monotonic()
    assert next(live)["event"] == "run.finished"
    assert time.monotonic() - begun < 10
    assert list(live) == []


def test_pages_of_runs_miss_none_and_repeat_none(api: Api) -> None:
    runs = [api.start() for _ in range(5)]
    seen: list[str] = []
    path = "/v1/runs?limit=2"
    while True:
        page = api.get(path)
        seen += [run["id"] for run in page["runs"]]
        assert len(page["runs"]) <= 2
        if page["next"] is None:
            break
        path = f"/v1/runs?limit=2&after={page['next']}"
    assert len(seen) == len(set(seen))
    assert [run for run in seen if run in runs] == runs[::-1]
    everything = api.get("/v1/runs?limit=200")["runs"]
    assert [run["id"] for run in everything] == seen
    _until_running(api, runs[0])
    assert api.get(f"/v1/runs/{runs[0]}")["trials"] == {"done": 0, "failed": 0, "total": TRIALS}
    for wrong in ("after=nothing", "after=%00", "limit=0", "limit=201", "limit=x"):
        problem(api.ask("GET", f"/v1/runs?{wrong}"), 422, "invalid-input")


def _until_running(api: Api, run: str) -> None:
    for event in events(api.client, run):
        if event["event"] == "run.running":
            return
    raise AssertionError("the run never began")


def test_a_run_remembers_which_run_its_scenario_came_from(api: Api) -> None:
    first = api.start()
    second = api.post(SCENARIO.replace("[64]", "[32, 64]"), params={"origin": first}).json()["id"]
    third = api.post(params={"origin": first}).json()["id"]
    assert api.get(f"/v1/runs/{second}")["origin"] == first
    assert api.get(f"/v1/runs/{first}")["successors"] == [second, third]
    assert (api.get(f"/v1/runs/{first}")["origin"], api.get(f"/v1/runs/{third}")["successors"]) == (None, [])
    listed = {run["id"]: run for run in api.get("/v1/runs?limit=200")["runs"]}
    assert listed[first]["successors"] == [second, third]
    problem(api.post(params={"origin": "20260101-120000-a1b2c3"}), 404, "not-found")
