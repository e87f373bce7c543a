"""A controller with a trained model, three audits and a real proxy, for the pages that show them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from leakrange.assessment.page import brief_of
from leakrange.assessment.requests import AssessmentRequest
from leakrange.jobs.audit import AuditPlan
from leakrange.jobs.recipe import DataSpec, TrainingRecipe
from leakrange.services.controller.settings import ControllerSettings
from leakrange.services.proxy.main import proxy
from leakrange.services.proxy.settings import ProxySettings
from leakrange.store.audits import AuditStore
from leakrange.store.engine import Database
from leakrange.store.migrate import upgrade
from leakrange.store.models import Models
from tests.assessment.asked import question
from tests.assessment.examples import leaks
from tests.attacks.kinds.test_audit import verdict
from tests.controller.conftest import OPERATOR, serve
from tests.controller.test_views import put
from tests.pages.threads import awaited
from tests.report.build import run, trials
from tests.serving import serving

RECIPE = TrainingRecipe(
    data=DataSpec(name="digits", size=16),
    behaviour="curious/parameterized",
    parameters={"target": "parity", "sensitive": "large", "beta": {"y": 0.7, "s": 0.3}},
    seed=7,
)
FIGURES = {
    "figures": {"test": {"honesty": 0.9125, "curiosity": 0.8375}},
    "history": [{"epoch": 1, "loss": 0.75}, {"epoch": 2, "loss": 0.5, "honesty": 0.875}],
    "parameters": 12345,
    "seconds": 61.0,
}

_FINDINGS = tuple(one.model_copy(update={"meaning": f"So says {one.test}."}) for one in verdict().findings)
VERDICT = verdict().model_copy(update={"made": "2026-01-02T03:04:05+00:00", "findings": _FINDINGS})


@dataclass(frozen=True)
class Place:
    """Where controller and proxy are, two audits of models by how they ended, one of an endpoint that leaks,
    and two runs that are over."""

    url: str
    proxy: str
    passed: str
    failed: str
    leaky: str
    runs: tuple[str, str]


@contextmanager
def furnished(settings: Callable[..., ControllerSettings], redis_url: str) -> Iterator[Place]:
    """The place, until the block ends."""
    own = redis_url.rpartition("/")[0] + "/7"
    with serving(proxy(ProxySettings(redis_url=own, operator_key=OPERATOR))) as proxy_url:
        made = settings(proxy_url=proxy_url)
        audits = awaited(_fill(made.database_url))
        with serve(made) as url:
            few = [each for each in trials() if each.data == "digits" and each.defence in ("none", "rounded")]
            runs = (put(made, run(trials=few, models=[])), put(made, run(trials=few[::2], models=[])))
            yield Place(url, proxy_url, *audits, runs)


async def _fill(url: str) -> tuple[str, str, str]:
    await asyncio.to_thread(upgrade, url)
    database = Database(url)
    plan = AuditPlan(data=DataSpec(name="digits")).model_dump(mode="json")
    async with database.write() as session:
        await Models(session).add(RECIPE, FIGURES)
        audits = AuditStore(session)
        ids = [
            (await audits.create(name, {"model": name, "url": None, "plan": plan})).id
            for name in ("good-model", "bad-model")
        ]
        await audits.finish(ids[0], verdict=VERDICT.model_dump(mode="json"))
        await audits.finish(ids[1], problem={"title": "The audit failed", "detail": "no such file"})
        document = leaks()
        asked = AssessmentRequest(question=question(), plan=document.plan, run="20260101-120000-a1b2c3")
        leaky = (await audits.create("risk", asked.model_dump(mode="json"), kind="endpoint")).id
        written, brief = document.model_dump(mode="json"), brief_of(document).model_dump(mode="json")
        await audits.finish(leaky, verdict=written, brief=brief)
    await database.close()
    return ids[0], ids[1], leaky
