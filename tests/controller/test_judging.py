"""Trials that are judged in the controller, and in processes beside it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, cast

import pytest

from leakrange.scenario.results import TrialResult
from leakrange.scenario.stored_trial import StoredTrial
from leakrange.services.controller.engine import judging
from leakrange.services.controller.engine.judging import Judges
from leakrange.wire.errors import InvalidInput
from tests.controller.test_large import trial
from tests.embedded import alive
from tests.patience import until

RESULT = trial("p", "none", 20, 0)


class Where:
    """A trial whose id is that of the process that judged it."""

    def reading(self, *_: object) -> Where:
        return self

    def judged(self) -> TrialResult:
        return RESULT.model_copy(update={"id": str(os.getpid())})


class Unfit(Where):
    def judged(self) -> TrialResult:
        raise InvalidInput("two scores of three users", hint="measure it again")


class Deadly(Where):
    """Ends the process that reads it."""

    def __reduce__(self) -> Any:
        return os._exit, (3,)


async def test_the_first_are_judged_here_and_more_in_processes_that_may_die(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judging, "HERE", 1)
    judges = Judges(tmp_path, tmp_path)

    async def judged(trial: Where) -> int:
        ended = await judges.judged(cast(StoredTrial, trial))
        assert ended.result["id"] == ended.event["trial"] == ended.id
        return int(ended.id)

    try:
        assert await judged(Where()) == os.getpid()
        first = await judged(Where())
        assert first != os.getpid()
        with pytest.raises(InvalidInput, match="two scores of three users") as raised:
            await judged(Unfit())
        assert raised.value.hint == "measure it again"
        assert await judged(Deadly()) == os.getpid()  # and not lost
        second = await judged(Where())
        assert second not in (os.getpid(), first)
    finally:
        judges.close()
    until(lambda: not alive(first) and not alive(second))
