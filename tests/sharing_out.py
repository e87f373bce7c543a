"""How the test files are shared out among processes: which stay together, and which go first.

All files that use the session's range go to two processes, each with a range of its own: those of
tests/range, which take most of the time, and the others. So there are two ranges at most, and no test meets a
party that another has killed. Files that take long go before the others: nobody waits for one at the end.

Hooks of pytest; `tests/conftest.py` passes them on.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling
from xdist.workermanage import WorkerController

__all__ = ["RANGES", "group", "pytest_collection_modifyitems", "pytest_xdist_make_scheduler"]

ROOT = Path(__file__).parents[1]
RANGES = ("the range of tests/range", "the range of all others")
FIRST = (
    *RANGES,
    "tests/attacker/test_kills.py",
    "tests/federation/test_simulation.py",
    "tests/attacker/test_training.py",
    "tests/attacker/test_jobs.py",
    "tests/controller/test_catalogue.py",
    "tests/defences/output/test_defences.py",
    "tests/report/test_browser.py",
    "tests/provider/test_restart.py",
    "tests/data/test_real_data.py",
    "tests/data/test_hub.py",
)
"""What takes longest, begun in this order; all other files follow in their own."""


def group(nodeid: str) -> str:
    """What a test must share its process with: its file, or others that use the range."""
    return _group(nodeid.partition("::")[0])


@cache
def _group(path: str) -> str:
    file = ROOT / path
    if path.startswith("tests/range/"):
        return RANGES[0]
    return RANGES[1] if "embedded_range: " in file.read_text(encoding="utf-8") else path


@pytest.hookimpl(trylast=True)  # after pytest has put together what shares a fixture
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    places = {name: place for place, name in enumerate(FIRST)}
    items.sort(key=lambda item: places.get(group(item.nodeid), len(FIRST)))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadFileScheduling | None:
    return _Groups(config, log) if config.getoption("dist") == "loadfile" else None


class _Groups(LoadFileScheduling):
    """Work in groups instead of files; and each test is begun once, whatever processes die."""

    def schedule(self) -> None:
        super().schedule()
        for node in self.nodes:
            # In the place of one that died, too: none begins a test before it has another.
            self._reschedule(node)

    def remove_node(self, node: WorkerController) -> str | None:
        """Leave to others what the process had not begun. What it died of, if it did, would end them as well;
        and who is given nothing but ended tests waits for ever."""
        groups = self.assigned_work[node]
        waiting = [(tests, test) for tests in groups.values() for test, ended in tests.items() if not ended]
        for tests, test in waiting[:1]:
            tests[test] = True
        self.assigned_work[node] = {name: tests for name, tests in groups.items() if not all(tests.values())}
        super().remove_node(node)
        return waiting[0][1] if waiting else None

    def _split_scope(self, nodeid: str) -> str:
        return group(nodeid)
