"""``trace``: what the parties did for a run, step by step, from the traces that they wrote as JSON lines."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import orjson
import typer

from leakrange.clients.cli.console import print_json, say
from leakrange.clients.cli.exits import CliError, Exit
from leakrange.clients.cli.options import AsJson, State, state_folder

__all__ = ["trace"]

Span = dict[str, Any]
"""One line of `leakrange.service.exporting.JsonLines`."""
SHOWN = 3
"""Steps of one name below another that are printed; the others are counted."""


def trace(
    wanted: Annotated[
        str, typer.Argument(metavar="RUN", help="the run's id, or the id of a trace from a log")
    ],
    folder: Annotated[
        Path | None,
        typer.Option(
            "--from", help="folder with the parties' spans (default: $LEAKRANGE_TRACES, else of the range)"
        ),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="print every step, also of many alike")] = False,
    state: State = None,
    as_json: AsJson = False,
) -> None:
    """Print what the parties did for a run: who asked whom for what, and how long it took.

    Needs a range that writes its spans: 'leakrange up --traces', or LEAKRANGE_TRACES=FOLDER for each party.
    """
    named = os.environ.get("LEAKRANGE_TRACES")
    place = folder or (Path(named) if named else state_folder(state).traces)
    steps = _trees(_read(place), wanted)
    if not steps:
        raise CliError(
            f"nothing in {place} belongs to {wanted!r}",
            code=Exit.USAGE,
            hint="spans are written while 'leakrange up --traces' runs; 'leakrange runs' lists the runs",
        )
    if as_json:
        print_json([step.told() for step in steps])
        return
    for line in _lines(steps, every=every):
        say(line)


@dataclass
class _Step:
    """A span and what it led to: the spans within it, and the traces that it began."""

    span: Span
    steps: list[_Step] = field(default_factory=list)

    def told(self) -> dict[str, Any]:
        """Return the step as JSON: the span, and its ``steps``."""
        return {**self.span, "steps": [step.told() for step in self.steps]}


def _read(folder: Path) -> list[Span]:
    """Read all spans of a folder, by their beginning. An incomplete line is left out: its writer was
    killed."""
    spans = []
    for file in folder.glob("*.jsonl"):
        for line in file.read_bytes().splitlines():
            try:
                spans.append(orjson.loads(line))
            except orjson.JSONDecodeError:
                continue
    return sorted(spans, key=lambda span: span["at"])


def _trees(spans: Sequence[Span], wanted: str) -> list[_Step]:
    """Build the trees of a run, or of the trace with that id: a span stands below its parent, and one that
    began a trace of its own below the span that it is linked to. Empty if nothing is known of it."""
    steps = {span["span"]: _Step(span) for span in spans}
    traces = {span["trace"] for span in spans if wanted in (span["trace"], span["attributes"].get("run"))}
    tops = []
    for step in steps.values():
        span = step.span
        causes = [span["parent"], *(link["span"] for link in span["links"])]
        above = next((steps[cause] for cause in causes if cause in steps), None)
        inside = span["trace"] in traces
        if above is not None and not (inside and above.span["trace"] not in traces):
            above.steps.append(step)
        elif inside:
            tops.append(step)
    return tops


def _lines(steps: Sequence[_Step], *, every: bool, depth: int = 0) -> Iterator[str]:
    """Format the trees for people, one line per step; of many steps with one name the first few, unless
    ``every``."""
    seen: dict[tuple[str, str], list[_Step]] = {}
    for step in steps:
        alike = seen.setdefault((step.span["party"], step.span["name"]), [])
        alike.append(step)
        if every or len(alike) <= SHOWN:
            yield _line(step.span, depth)
            yield from _lines(step.steps, every=every, depth=depth + 1)
    for (party, name), alike in seen.items():
        if not every and (left := alike[SHOWN:]):
            seconds = sum(step.span["seconds"] for step in left)
            yield f"{'  ' * depth}… {len(left)} more of {party}: {name}, {seconds:.3f} s together"


def _line(span: Span, depth: int) -> str:
    shown = {
        name: value for name, value in span["attributes"].items() if name in ("model", "samples", "trial")
    }
    details = "".join(f" {name}={value}" for name, value in shown.items())
    failed = f" failed: {span['error'] or 'no reason given'}" if "error" in span else ""
    return f"{'  ' * depth}{span['party']}: {span['name']} {span['seconds'] * 1e3:.1f} ms{details}{failed}"
