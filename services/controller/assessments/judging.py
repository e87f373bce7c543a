"""``python -m leakrange.services.controller.assessments.judging AUDIT PARENT``: judges an audit whose run is
over. The controller begins it: judging computes, and reads all records of the data set.

It gets the controller's settings on its standard input, and writes how the audit ends on its standard output:
what `leakrange.store.audits.AuditStore.finish` takes, as JSON.
"""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Any

import orjson

from leakrange.assessment.judged import assessed
from leakrange.assessment.page import brief_of
from leakrange.assessment.requests import AssessmentRequest
from leakrange.data import load
from leakrange.jobs.recipe import DataSpec
from leakrange.scenario.results import RunResults
from leakrange.service.parent import die_with
from leakrange.services.controller.runs.reader import RunReader
from leakrange.services.controller.settings import ControllerSettings
from leakrange.store.audits import AuditStore
from leakrange.store.engine import Database
from leakrange.store.places import store_at
from leakrange.wire.errors import Conflict, LeakrangeError

__all__ = ["judged"]


def judged(request: AssessmentRequest, results: RunResults) -> dict[str, Any]:
    """The document of an audit, and its line in a list. Raises `Conflict` where the run measured nothing, and
    `DataUnavailable` where the records are not here any more."""
    if results.state != "done" and not any(trial.state == "done" for trial in results.trials):
        raise Conflict(
            f"the run {results.run} was {results.state}, and no attack came to an end",
            hint="its page says why; start the audit again, and it goes on with the answers that are stored",
        )
    data = load(DataSpec(name=request.question.data))
    document = assessed(
        request.question, request.plan, results, records=len(data), fingerprint=data.fingerprint
    )
    return {"verdict": document.model_dump(mode="json"), "brief": brief_of(document).model_dump(mode="json")}


async def _ended(settings: ControllerSettings, audit: str) -> dict[str, Any]:
    database = Database(settings.database_url)
    try:
        async with database.read() as session:
            stored = (await AuditStore(session).of_kind("endpoint", audit)).request
        request = AssessmentRequest.model_validate(stored)
        runs = RunReader(database, store_at(settings.releases_dir))
        return judged(request, await runs.results(request.run))
    except LeakrangeError as error:
        return {"problem": error.problem()}
    finally:
        await database.close()


def main() -> None:
    """Judge, and end."""
    audit, parent = sys.argv[1:]
    die_with(int(parent))
    os.nice(5)
    settings = ControllerSettings.handed_over(sys.stdin.buffer.read())
    sys.stdout.buffer.write(orjson.dumps(asyncio.run(_ended(settings, audit))))


if __name__ == "__main__":
    main()
