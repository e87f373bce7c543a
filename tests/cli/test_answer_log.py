"""The log of a model's answers: what is joined, counted, dropped and written."""

from __future__ import annotations

import csv
import errno
import os
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest

from leakrange.clients.cli.answer_file import AnswerFile
from leakrange.clients.cli.answer_log import AnswerLog
from leakrange.wire.cloudevents import CloudEvent
from leakrange.wire.errors import Conflict, InvalidInput, StorageFull
from leakrange.wire.inference_logs import REQUEST, RESPONSE


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "new" / "answers.csv"


@pytest.fixture
def file(path: Path) -> Iterator[AnswerFile]:
    file = AnswerFile(path)
    yield file
    file.close()


def asked(id: str, *samples: object) -> CloudEvent:
    return CloudEvent(id, REQUEST, orjson.dumps({"instances": samples or [[1, 2]]}))


def answered(id: str, *answers: object) -> CloudEvent:
    return CloudEvent(id, RESPONSE, orjson.dumps({"predictions": answers or [[0.25, 0.75]]}))


def written(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_halves_are_joined_in_either_order_and_counted_once(path: Path, file: AnswerFile) -> None:
    log = AnswerLog(file)
    events = [asked("a"), answered("b", [0.5, 0.5], [0.9, 0.1]), answered("a"), asked("b", [3, 4], [5, 6])]
    for event in [*events, *events, asked("c"), asked("c")]:
        log.take(event)
    assert written(path) == [
        {"request": "a", "sample": "0", "x_0": "1", "x_1": "2", "p_0": "0.25", "p_1": "0.75"},
        {"request": "b", "sample": "0", "x_0": "3", "x_1": "4", "p_0": "0.5", "p_1": "0.5"},
        {"request": "b", "sample": "1", "x_0": "5", "x_1": "6", "p_0": "0.9", "p_1": "0.1"},
    ]
    assert vars(log.counts) == {"recorded": 3, "duplicates": 5, "dropped": 0, "refused": 0, "waiting": 1}


def test_a_request_without_a_response_is_dropped_after_a_while(file: AnswerFile) -> None:
    log = AnswerLog(file, wait=60.0, clock=(clock := Clock()))
    log.take(asked("a"))
    clock.now = 30.0
    log.take(asked("b"))
    clock.now = 61.0
    log.take(answered("b"))
    assert (log.counts.recorded, log.counts.dropped, log.counts.waiting) == (1, 1, 0)
    log.take(answered("a"))
    clock.now = 122.0
    log.expire()
    assert (log.counts.recorded, log.counts.dropped, log.counts.waiting) == (1, 2, 0)


@pytest.mark.parametrize("limits", [{"most": 3}, {"most_bytes": 3 * len(asked("a").data)}])
def test_what_waits_is_bounded_in_number_and_bytes(file: AnswerFile, limits: dict[str, int]) -> None:
    log = AnswerLog(file, **limits)  # type: ignore[arg-type]
    for number in range(10):
        log.take(asked(str(number)))
    assert (log.counts.waiting, log.counts.dropped) == (3, 7)
    for number in (7, 8, 9):
        log.take(answered(str(number)))
    for number in range(10, 13):  # what was joined waits no more
        log.take(asked(str(number)))
    assert (log.counts.recorded, log.counts.waiting, log.counts.dropped) == (3, 3, 7)


def test_answers_of_another_form_are_refused_and_the_others_kept(path: Path, file: AnswerFile) -> None:
    log = AnswerLog(file)
    for event in (asked("a"), answered("a"), asked("b")):
        log.take(event)
    with pytest.raises(InvalidInput, match=r"other columns than answers\.csv: p_0, p_1, p_2"):
        log.take(answered("b", [0.2, 0.3, 0.5]))
    log.take(asked("c", ["long" * 100, 2]))
    log.take(answered("c"))
    with pytest.raises(InvalidInput, match="of the type 'other'"):
        log.take(CloudEvent("d", "other", b"{}"))
    assert [(row["request"], row["x_0"]) for row in written(path)] == [("a", "1"), ("c", "")]
    assert (log.counts.recorded, log.counts.refused, log.counts.waiting) == (2, 3, 0)


def test_a_file_is_gone_on_with_without_what_was_half_written(path: Path) -> None:
    for number, torn in enumerate(["", "b,0,9"]):
        file = AnswerFile(path)
        log = AnswerLog(file)
        for event in (asked("=a"), answered("=a"), asked("b"), answered("b")):
            log.take(event)
        file.close()
        assert (log.counts.recorded, log.counts.duplicates) == ((2, 0), (0, 4))[number]
        with path.open("a") as end:
            end.write(torn)
    file = AnswerFile(path)
    file.close()
    assert [row["request"] for row in written(path)] == ["'=a", "b"]


def test_a_file_has_one_listener_and_nothing_else_is_touched(path: Path, file: AnswerFile) -> None:
    with pytest.raises(Conflict, match="another listener writes"):
        AnswerFile(path)
    other = path.with_name("notes.csv")
    other.write_text("name,age\nann,3")
    with pytest.raises(InvalidInput, match="holds something else"):
        AnswerFile(other)
    assert other.read_text() == "name,age\nann,3"


def test_on_a_full_disk_nothing_is_half_written_and_the_answer_may_come_again(
    path: Path, file: AnswerFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, write = AnswerLog(file), os.write

    def full(descriptor: int, content: memoryview) -> int:
        if len(content) < 20:
            raise OSError(errno.ENOSPC, "no space left")
        return write(descriptor, content[:20])

    log.take(asked("a"))
    with monkeypatch.context() as patched:
        patched.setattr(os, "write", full)
        with pytest.raises(StorageFull):
            log.take(answered("a"))
    assert path.read_bytes() == b""
    log.take(answered("a"))
    assert [row["p_1"] for row in written(path)] == ["0.75"]
    assert oct(path.stat().st_mode & 0o777) == "0o600"
