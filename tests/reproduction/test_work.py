"""A reproduction that is interrupted goes on: what it had trained and measured is not made again."""

import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from leakrange.report.document import markdown
from leakrange.reproduction.hbc.experiments import ModelWork, Settings, trials, works
from leakrange.reproduction.hbc.paper import PaperRow, select
from leakrange.reproduction.hbc.results import document
from leakrange.reproduction.work import Progress, WorkEvent, carry_out

SETTINGS = Settings(
    epochs=(("celeba", 1), ("utkface", 6)),
    sets=(("celeba", "synthfaces"), ("utkface", "digits")),
    size=16,
)


def rows() -> list[PaperRow]:
    """Rows of the paper, asked of digits."""
    chosen = select("9", "S=2,classifier=honest|raw") + select("4", "Y=2,attack=regularized,beta_y=0.5")
    return [replace(row, y="parity", s="large") for row in chosen]


def planned() -> list[ModelWork]:
    return works(trials(rows(), [0], SETTINGS), SETTINGS)


def reproduce(store: Path) -> list[WorkEvent]:
    told: list[WorkEvent] = []
    carry_out(planned(), store, jobs=1, threads=1, tell=told.append)
    return told


def measured(store: Path) -> list[bytes]:
    """The lines of the cells that are there, one for each."""
    file = store / "hbc.json"
    return [line.rstrip(b",") for line in file.read_bytes().splitlines()[1:-1]] if file.is_file() else []


def made(store: Path) -> set[tuple[str, object]]:
    """Every finished file of a model in the store and when it was written, and every measured cell."""
    models = {
        (str(path.relative_to(store)), path.stat().st_mtime_ns)
        for path in store.glob("*/**/*.*")
        if path.is_file() and not any(part.startswith(".") for part in path.relative_to(store).parts)
    }
    return models | {("cell", line) for line in measured(store)}


@pytest.fixture(scope="module")
def interrupted(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[set[tuple[str, object]]]]:
    """A store whose reproduction was killed twice, and what was in it at each kill."""
    store = tmp_path_factory.mktemp("store")
    command = [
        sys.executable,
        "-c",
        f"from {__name__} import reproduce, Path; reproduce(Path({str(store)!r}))",
    ]
    seen = []
    for cells in (1, 2):
        process = subprocess.Popen(command, start_new_session=True)
        until = time.monotonic() + 120
        while len(measured(store)) < cells:
            assert process.poll() is None
            assert time.monotonic() < until
            time.sleep(0.02)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        _ended(process.pid)
        seen.append(made(store))
    return store, seen


def _ended(session: int) -> None:
    """Wait until no process of a session is left."""
    until = time.monotonic() + 60
    while subprocess.run(["pgrep", "-s", str(session)], capture_output=True, check=False).stdout:
        assert time.monotonic() < until, "the workers of a killed reproduction go on"
        time.sleep(0.05)


def test_killed_twice_it_goes_on_without_making_anything_again(
    interrupted: tuple[Path, list[set[tuple[str, object]]]],
) -> None:
    store, (first, second) = interrupted
    assert first <= second
    done = [work.done(store) for work in planned()]
    assert done[:2] == [True, True]
    assert not all(done)
    reproduce(store)
    whole = made(store)
    assert second <= whole
    assert all(work.done(store) for work in planned())
    assert reproduce(store) == []
    assert made(store) == whole


def test_the_page_holds_what_was_measured_and_names_what_differs(
    interrupted: tuple[Path, list[set[tuple[str, object]]]],
) -> None:
    store, _ = interrupted
    reproduce(store)
    text = markdown(document(rows(), [0], SETTINGS, store, "leakrange reproduce hbc"))
    assert "utkface: digits (fingerprint" in text
    assert "6 epochs; the paper's: 50" in text
    cell = planned()[0].trials[0].cell(store)
    assert cell is not None
    ours = 100 * cell["honesty"]
    line = next(line for line in text.splitlines() if "| honest, overlearning on logits |" in line)
    assert f"| 90.23 ± 0.21 | {ours:.2f} | {ours - 90.23:+.2f} |" in line
    assert f"| {100 * cell['majority_sensitive']:.2f} | 1 |" in line
    # Six epochs of digits are far from chance, or the cell is not that of a trained model.
    assert cell["honesty"] > cell["majority_target"] + 0.2


def test_a_work_that_fails_ends_the_reproduction_with_its_reason(tmp_path: Path) -> None:
    from leakrange.wire.errors import LeakrangeError

    [work] = works(trials([replace(rows()[1], s="nobody")], [0], SETTINGS), SETTINGS)
    with pytest.raises(LeakrangeError, match="no attribute 'nobody'"):
        carry_out([work], tmp_path, jobs=1, threads=1, tell=print)


@dataclass(frozen=True)
class Waits:
    """A work of two minutes."""

    title: str = "waits"

    def done(self, store: Path) -> bool:
        return (store / "ended").is_file()

    def carry_out(self, store: Path, progress: Progress) -> None:  # noqa: ARG002
        (store / "begun").write_text(str(os.getpid()), encoding="utf-8")
        threading.Event().wait(120)
        (store / "ended").touch()


@dataclass(frozen=True)
class Fails:
    """A work that breaks as soon as the other runs."""

    title: str = "fails"

    def done(self, store: Path) -> bool:  # noqa: ARG002
        return False

    def carry_out(self, store: Path, progress: Progress) -> None:  # noqa: ARG002
        until = time.monotonic() + 60
        while not (store / "begun").is_file() and time.monotonic() < until:
            time.sleep(0.02)
        raise ValueError("broken on purpose")


def test_a_work_that_fails_does_not_wait_for_those_that_run(tmp_path: Path) -> None:
    works = [Waits(), Fails()]
    with pytest.raises(ValueError, match="broken on purpose"):
        carry_out(works, tmp_path, jobs=2, threads=1, tell=print)
    assert not works[0].done(tmp_path)
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "begun").read_text(encoding="utf-8")), 0)
