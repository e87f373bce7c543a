"""What a run found as data: the same as the report shows, narrowed, and as files."""

from __future__ import annotations

import asyncio
import csv
import io
import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from leakrange.load.bench.stored import store
from leakrange.scenario.results import RunResults
from leakrange.services.controller.settings import ControllerSettings
from leakrange.store.engine import Database
from tests.controller.conftest import Api, problem, serve
from tests.report.build import run, trials, unmarked
from tests.report.reconstructed import reconstructed


def put(settings: ControllerSettings, results: RunResults) -> str:
    async def stored() -> str:
        database = Database(settings.database_url)
        try:
            return await store(database, results)
        finally:
            await database.close()

    # Not in this thread: one that drives a browser has a loop of its own.
    with ThreadPoolExecutor(1) as aside:
        return aside.submit(asyncio.run, stored()).result()


@pytest.fixture(scope="module")
def own(settings: Callable[..., ControllerSettings]) -> Iterator[tuple[ControllerSettings, Api]]:
    made = settings()
    with serve(made) as url, httpx.Client(base_url=url, timeout=60) as client:
        yield made, Api(client)


@pytest.fixture(scope="module")
def found(own: tuple[ControllerSettings, Api]) -> str:
    few = [trial for trial in trials() if trial.data == "digits"]
    return put(own[0], run(trials=few, models=[]))


def named(views: dict[str, object]) -> dict[str, dict[str, object]]:
    return {
        picture["name"]: picture
        for section in views["sections"]  # type: ignore[attr-defined]
        for group in section["groups"]
        for picture in group["pictures"]
    }


def test_report_and_data_say_the_same(own: tuple[ControllerSettings, Api], found: str) -> None:
    _, api = own
    views = api.get(f"/v1/runs/{found}/views")
    page = api.ask("GET", f"/v1/runs/{found}/report").text
    plain = unmarked(page).replace("&#39;", "'").replace("&gt;", ">").replace("&lt;", "<")
    assert len(views["sentences"]) > 2
    for text in [*views["sentences"], *views["caveats"], *(tile["beside"] for tile in views["tiles"])]:
        assert text in plain
    for picture in named(views).values():
        assert f">{picture['title']}" in plain
        assert str(picture["label"]) in plain
        for term in picture["definition"]["terms"]:  # type: ignore[index]
            assert term["equation"] in plain


def test_a_chart_of_its_own_has_its_table_and_its_files(
    own: tuple[ControllerSettings, Api], found: str
) -> None:
    _, api = own
    listed = named(api.get(f"/v1/runs/{found}/views"))
    name = next(name for name in listed if name.startswith("plane-"))
    assert listed[name]["table"] is None
    alone = api.get(f"/v1/runs/{found}/views/{name}")
    assert alone["specification"] == listed[name]["specification"]
    assert alone["specification"]["layer"]
    table = api.ask("GET", f"/v1/runs/{found}/views/{name}/table")
    assert table.headers["content-type"].startswith("text/csv")
    assert f"{found}-{name}.csv" in table.headers["content-disposition"]
    rows = list(csv.reader(io.StringIO(table.text)))
    assert len(rows) == 1 + alone["rows"] == 1 + len(alone["table"]["rows"])
    assert rows[0][0] == alone["table"]["columns"][0]["name"] == "provider"
    drawn = api.ask("GET", f"/v1/runs/{found}/views/{name}/picture")
    assert drawn.headers["content-type"] == "image/svg+xml"
    assert drawn.text.startswith("<svg")


def test_every_placeholder_colour_is_told(own: tuple[ControllerSettings, Api], found: str) -> None:
    views = own[1].get(f"/v1/runs/{found}/views")
    used = set(re.findall(r"#0000[0-9a-f]{2}", str(views["sections"])))
    assert len(used) > 8
    assert used <= set(views["theme"])
    assert views["theme"]["#0000a2"]["variable"] == "--s2"
    assert views["theme"]["#0000a2"]["light"] != views["theme"]["#0000a2"]["dark"]


def test_a_part_of_a_run_keeps_the_undefended_case_and_the_colours(
    own: tuple[ControllerSettings, Api], found: str
) -> None:
    _, api = own
    asked = {"provider": "digits-regularized", "defence": ["noise", "argmax"]}
    part = api.get(f"/v1/runs/{found}/views", params=asked)
    whole = api.get(f"/v1/runs/{found}/views")
    assert part["choices"] == whole["choices"]
    assert len(part["choices"]["providers"]) == 4
    [budget] = [section for section in part["sections"] if section["anchor"] == "budget"]
    assert [key["text"] for key in budget["keys"]] == ["none", "noise", "argmax"]
    [all_] = [section for section in whole["sections"] if section["anchor"] == "budget"]
    colours = {key["text"]: key["colour"] for key in all_["keys"]}
    assert {key["text"]: key["colour"] for key in budget["keys"]} == {
        name: colours[name] for name in ("none", "noise", "argmax")
    }
    [picture] = [picture for group in budget["groups"] for picture in group["pictures"]]
    assert picture["title"].startswith("digits-regularized")
    table = api.ask("GET", f"/v1/runs/{found}/views/{picture['name']}/table", params=asked).text
    assert {row["defence"] for row in csv.DictReader(io.StringIO(table))} == {"none", "noise", "argmax"}


def test_strips_of_a_gallery_are_pictures(own: tuple[ControllerSettings, Api]) -> None:
    settings, api = own
    found = put(settings, reconstructed())
    [name, picture] = next(
        (name, picture)
        for name, picture in named(api.get(f"/v1/runs/{found}/views")).items()
        if picture["kind"] == "gallery"
    )
    strips = picture["strips"]
    assert isinstance(strips, list)
    assert len(strips[1]["figures"]["psnr"]) == len(strips[1]["tips"])
    answer = api.ask("GET", f"/v1/runs/{found}/views/{name}/strips/1")
    assert answer.content.startswith(b"\x89PNG")
    problem(api.ask("GET", f"/v1/runs/{found}/views/{name}/strips/{len(strips)}"), 404, "not-found")


def test_what_is_not_there_is_not_found(own: tuple[ControllerSettings, Api], found: str) -> None:
    problem(own[1].ask("GET", "/v1/runs/none/views"), 404, "not-found")
    told = problem(own[1].ask("GET", f"/v1/runs/{found}/views/plane-0"), 404, "not-found")
    assert "list of the run's views" in told["hint"]


def test_a_run_that_goes_on_is_read_again(own: tuple[ControllerSettings, Api]) -> None:
    _, api = own
    started = api.start()
    first = api.get(f"/v1/runs/{started}/views")
    assert first["state"] in ("queued", "running")
    assert not named(first)
    api.cancel(started)
    while (now := api.get(f"/v1/runs/{started}/views"))["state"] != "cancelled":
        assert now["run"] == started
