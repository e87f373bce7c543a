"""A controller that goes down and comes back, and one whose parties are not there."""

from __future__ import annotations

from collections.abc import Callable

import httpx

from services.controller.settings import ControllerSettings
from tests.controller.conftest import NOWHERE, TRIALS, Api, serve
from tests.controller.events import events

Make = Callable[..., ControllerSettings]


def test_a_restarted_controller_goes_on_with_its_runs(settings: Make) -> None:
    made = settings()
    with httpx.Client(timeout=90) as client:
        with serve(made) as url:
            client.base_url = url
            run = Api(client).start()
            live = events(client, run)
            before = [next(live), next(live)]
        assert list(live) == []  # let go in good order; uvicorn would break it off after five seconds
    with serve(made) as url, httpx.Client(base_url=url, timeout=90) as client:
        api = Api(client)
        assert api.get(f"/v1/runs/{run}")["state"] == "running"
        live = events(client, run)
        assert [next(live), next(live)] == before
        api.cancel(run)
        assert [(event["id"], event["event"]) for event in live] == [(3, "run.finished")]


def test_a_run_fails_with_the_name_of_the_party_that_is_not_there(settings: Make) -> None:
    with serve(settings(attempts=1)) as url, httpx.Client(base_url=url, timeout=90) as client:
        api = Api(client)
        run = api.start()
        heard = list(events(client, run))
        assert [event["event"] for event in heard] == ["run.queued", "run.running", "run.finished"]
        view = api.get(f"/v1/runs/{run}")
        assert view["state"] == "failed"
        assert view["error"].startswith(f"the proxy: no answer from {NOWHERE}")
        assert heard[-1]["data"]["message"] == view["error"]
        trials = api.get(f"/v1/runs/{run}/results")["trials"]
        assert [trial["state"] for trial in trials] == ["cancelled"] * TRIALS
        assert api.ask("GET", f"/v1/runs/{run}/report").status_code == 200


def test_readiness_names_what_does_not_answer(settings: Make) -> None:
    with serve(settings()) as url:
        ready = httpx.get(f"{url}/readyz", timeout=30)
        assert (ready.status_code, ready.json()["failed"]) == (200, {})
