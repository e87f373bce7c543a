"""Runs of scenarios, and their results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal
from urllib.parse import quote

import orjson

from leakrange.client.events import Event, follow
from leakrange.client.http import Http
from leakrange.wire.answers import read
from leakrange.wire.comparison import Comparison
from leakrange.wire.errors import InvalidScenario, LeakrangeError
from leakrange.wire.runs import Accepted, RunList, RunView
from leakrange.wire.views import PictureView, RunOverview, RunViews

if TYPE_CHECKING:  # the metrics come with it: imported where results are read
    from leakrange.scenario.results import RunResults

__all__ = ["Run", "RunFailed", "Runs", "Scenario"]

Run = str | Accepted | RunView
"""A run: its id, or what the range said of it."""
Scenario = str | bytes | Path | Mapping[str, Any]
"""A YAML or JSON file, the text of one, or its content as a mapping. A single line that ends in ``.yaml``,
``.yml`` or ``.json`` is a file."""
PAGE = 200
PLANNING = 600.0
"""The seconds that it may take to plan a scenario: a million trials take minutes."""


class RunFailed(LeakrangeError):
    """A run that was waited for failed or was cancelled; ``view`` is its last state."""

    slug: ClassVar[str] = "run-failed"
    title: ClassVar[str] = "Run failed"

    def __init__(self, view: RunView) -> None:
        super().__init__(view.error or f"the run {view.id} was {view.state}")
        self.view = view


class Runs:
    """``Range.runs``. All methods raise the errors of the controller, e.g. `NotFound` for an unknown run."""

    def __init__(self, controller: Http) -> None:
        self._controller = controller

    def start(self, scenario: Scenario, *, load: bool = False) -> Accepted:
        """Have the range run a scenario. With ``load``, load users ask in place of the fleet.

        Raises `InvalidScenario` with all its ``mistakes``, and `OSError` for a file that cannot be read.
        """
        given = {"load": True} if load else {}
        try:
            return read(
                Accepted,
                self._controller.operate(
                    "POST", "/v1/runs", content=_text(scenario), parameters=given, quiet=PLANNING
                ),
            )
        except InvalidScenario as error:
            for mistake in error.mistakes:
                place = f"line {mistake['line']}: " if mistake.get("line") else ""
                error.add_note(f"{place}{mistake['message']}")
            raise

    def latest(self, count: int = 50) -> list[RunView]:
        """The last ``count`` runs, newest first."""
        runs: list[RunView] = []
        place: dict[str, str] = {}
        while len(runs) < count:
            page = self._controller.get("/v1/runs", limit=min(PAGE, count - len(runs)), **place)
            listed = read(RunList, page)
            runs += listed.runs
            if listed.next is None:
                break
            place = {"after": listed.next}
        return runs

    def view(self, run: Run) -> RunView:
        """Return the state of a run, with the number of its jobs and trials that are done."""
        return read(RunView, self._controller.get(_path(run)))

    def follow(self, run: Run) -> Iterator[Event]:
        """Yield all events of a run from the first to ``run.finished``, as they come. A lost connection is
        resumed where it ended; raises `Unavailable` if the controller stays away for a minute."""
        return follow(self._controller, _id(run))

    def wait(self, run: Run) -> RunView:
        """Follow a run to its end. Raises `RunFailed` unless it is done then."""
        for _ in self.follow(run):
            pass
        view = self.view(run)
        if view.state != "done":
            raise RunFailed(view)
        return view

    def cancel(self, run: Run) -> RunView:
        """Cancel a run and free its workers; a finished one stays unchanged."""
        return read(RunView, self._controller.operate("DELETE", _path(run)))

    def results(self, run: Run) -> RunResults:
        """All trials, models and summaries so far."""
        from leakrange.scenario.results import RunResults

        return read(RunResults, self._controller.get(_path(run, "results"), format="json"))

    def table(self, run: Run) -> list[dict[str, Any]]:
        """Return the trials so far, a row each, e.g. for ``pandas.DataFrame(rows)``: the varied parts, and
        every figure under the name of its metric; its 95 % interval, if any, in ``_low`` and ``_high``. None
        if nothing was measured."""
        from leakrange.scenario.table import rows

        return rows(self.results(run).trials)

    def views(self, run: Run, **narrowed: Sequence[str]) -> RunViews:
        """Return the content of its report and pages as data; narrowed to names of ``provider``, ``defence``
        or ``attack``."""
        return read(RunViews, self._controller.get(_path(run, "views"), **narrowed))

    def picture(self, run: Run, name: str) -> PictureView:
        """One picture of the views, by its ``name``, with its table."""
        return read(PictureView, self._controller.get(_path(run, f"views/{quote(name, safe='')}")))

    def overview(self, run: Run) -> RunOverview:
        """A run of any size in short: its trials, and the cells that leak most."""
        return read(RunOverview, self._controller.get(_path(run, "overview")))

    def download(self, run: Run, form: Literal["csv", "arrow"], **narrowed: Sequence[str]) -> Iterator[bytes]:
        """Yield the table of all trials in pieces, as CSV or as a stream of Arrow record batches, of a run of
        any size; narrowed as `views` is."""
        return self._controller.pieces(_path(run, "results"), format=form, **narrowed)

    def report(self, run: Run, **narrowed: Sequence[str]) -> str:
        """The report: one self-contained HTML page; narrowed as `views` is."""
        return self._controller.get(_path(run, "report"), **narrowed).body.decode(errors="replace")

    def compare(self, *runs: Run) -> Comparison:
        """Compare two to six runs with the first of them: the differences of their scenarios, and the figures
        they share."""
        return read(Comparison, self._controller.get("/v1/compare", run=[_id(run) for run in runs]))

    def compare_table(self, *runs: Run) -> bytes:
        """The shared figures as CSV."""
        return self._controller.get("/v1/compare", run=[_id(run) for run in runs], format="csv").body

    def load_table(self, run: Run, form: str = "json") -> bytes:
        """Return the results of attacks by number of queries under load, in the ``form`` "json", "csv" or
        "text"."""
        return self._controller.get(_path(run, "load/table"), format=form).body

    def load_picture(self, run: Run) -> bytes:
        """Return the same for its first attack, as SVG."""
        return self._controller.get(_path(run, "load/picture")).body


def _id(run: Run) -> str:
    """Return the id of a run as part of a path."""
    return quote(run if isinstance(run, str) else run.id, safe="")


def _path(run: Run, part: str = "") -> str:
    return f"/v1/runs/{_id(run)}/{part}".rstrip("/")


def _text(scenario: Scenario) -> bytes:
    if isinstance(scenario, bytes):
        return scenario
    if isinstance(scenario, Mapping):
        return orjson.dumps(dict(scenario))
    if isinstance(scenario, str) and ("\n" in scenario or not scenario.endswith((".yaml", ".yml", ".json"))):
        return scenario.encode()
    return Path(scenario).read_bytes()
