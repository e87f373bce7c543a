"""What the command says of a run where there is no terminal."""

from __future__ import annotations

import pytest

from leakrange.client import Event
from leakrange.clients.cli import progress
from leakrange.wire.runs import Count, RunView


def test_a_log_says_how_long_the_rest_takes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "LINE_EVERY", 0.0)
    lines = progress._Lines()
    view = RunView(
        id="r",
        name="small",
        state="running",
        created="2026-01-01T12:00:00Z",
        started=None,
        finished=None,
        seconds=None,
        error=None,
        jobs={"train": Count(done=2, failed=1, total=3)},
        trials=Count(total=5),
    )

    def heard(number: int, kind: str, at: str, **data: object) -> None:
        lines.event(Event(number, kind, {"at": f"2026-01-01T12:00:{at}+00:00", **data}))

    lines.view(view)
    heard(1, "run.running", "10", steps={"train": 3, "stream": 4})
    heard(2, "job.done", "22")
    lines.view(view)  # 3 of 12 steps took 12 seconds
    lines.view(view.model_copy(update={"state": "done"}))
    said = capsys.readouterr().err.replace("\xa0", " ").splitlines()
    assert said == [
        "running: train 3/3, trials 0/5",
        "running: train 3/3, trials 0/5, about 36.0 s left",
        "finished: train 3/3, trials 0/5",
    ]
