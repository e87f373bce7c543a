"""A controller that goes down and comes back, and one whose parties are not there."""

from __future__ import annotations

import base64
from collections.abc import Callable

import httpx
import orjson
import redis

from leakrange.jobs.orders import CANCEL, ORDER, REPORTS, JobReport, Order
from leakrange.jobs.steps.train import TrainJob
from leakrange.services.controller.settings import ControllerSettings
from leakrange.services.proxy.main import proxy
from leakrange.services.proxy.settings import ProxySettings
from tests.controller.conftest import NOWHERE, OPERATOR, TRIALS, Api, serve
from tests.controller.events import events
from tests.serving import serving

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


def test_a_run_that_fails_of_what_nobody_expects_leaves_no_job_in_the_fleet(
    settings: Make, redis_url: str
) -> None:
    """The test is the worker, and says of one of two models that it is trained whose record is none."""
    own = redis_url.rpartition("/")[0] + "/6"
    told = ProxySettings(redis_url=own, operator_key=OPERATOR)
    with redis.Redis.from_url(own, decode_responses=True) as broker, serving(proxy(told)) as proxy_url:
        made = settings(redis_url=own, proxy_url=proxy_url)
        with serve(made) as url, httpx.Client(base_url=url, timeout=90) as client:
            api = Api(client)
            run = api.start()
            trained, waiting = (_training(broker).identity() for _ in range(2))
            (made.models_dir / trained).mkdir(parents=True)
            (made.models_dir / trained / "training.json").write_text("{}")
            done = JobReport(identity=trained, kind="train", state="done", worker="w", progress=1.0)
            broker.xadd(REPORTS, {"json": done.model_dump_json()})
            assert list(events(client, run))[-1]["data"]["state"] == "failed"
            assert api.get(f"/v1/runs/{run}")["error"].startswith("KeyError")
            assert broker.exists(CANCEL.format(identity=waiting))
            assert not broker.exists(CANCEL.format(identity=trained))


def _training(broker: redis.Redis) -> TrainJob:
    """The next training in the queue, taken."""
    found = broker.blpop(["train"], timeout=60)
    assert found, "no training was sent"
    body = orjson.loads(base64.b64decode(orjson.loads(found[1])["body"]))  # type: ignore[index]
    order = Order.model_validate_json(broker.get(ORDER.format(identity=body[0][0])))  # type: ignore[arg-type]
    assert isinstance(order.job, TrainJob)
    return order.job


def test_readiness_names_what_does_not_answer(settings: Make) -> None:
    with serve(settings()) as url:
        ready = httpx.get(f"{url}/readyz", timeout=30)
        assert (ready.status_code, ready.json()["failed"]) == (200, {})
