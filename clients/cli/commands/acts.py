"""``acts``: what the operator of the range did."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import orjson
import typer

from leakrange.client import Range
from leakrange.clients.cli.console import print_table, say
from leakrange.clients.cli.exits import CliError, Exit
from leakrange.clients.cli.options import State, Url, connect
from leakrange.wire.acts import ActList
from leakrange.wire.answers import read

__all__ = ["acts"]

TOGETHER = 1000


def acts(
    newest: Annotated[int, typer.Option(min=1, max=TOGETHER, help="so many of the last ones")] = 50,
    lines: Annotated[
        bool, typer.Option("--json", help="print the whole log instead, one act a line, oldest first")
    ] = False,
    state: State = None,
    url: Url = None,
) -> None:
    """Say what the operator did at the controller and the proxy: when, from where, by which key, what came of
    it. Ends with 1 if an entry was changed or removed."""
    with connect(state, url) as place:
        if lines:
            intact = True
            for page in _pages(place):
                intact &= page.intact
                for act in page.acts:
                    say(orjson.dumps(act.model_dump(mode="json")).decode())
        else:
            page = _page(place, limit=newest)
            intact = page.intact
            rows = [
                (
                    f"{act.at:%Y-%m-%d %H:%M:%S}",
                    act.party,
                    f"{act.by} from {act.address}",
                    f"{act.method} {act.path}",
                    act.status,
                    orjson.dumps(act.change).decode() if act.change else act.made or "",
                )
                for act in page.acts
            ]
            print_table(
                ["when (UTC)", "where", "who", "what", "answer", "change"], rows, empty="nobody did anything"
            )
    if not intact:
        raise CliError(
            "the log does not follow from itself: an entry was changed or removed in the database",
            code=Exit.FAILED,
            hint="compare it with an earlier 'leakrange acts --json'",
        )


def _pages(place: Range) -> Iterator[ActList]:
    page = _page(place, limit=TOGETHER, after=0)
    while page.acts:
        yield page
        page = _page(place, limit=TOGETHER, after=page.acts[-1].number)


def _page(place: Range, **parameters: int) -> ActList:
    return read(ActList, place.controller.operate("GET", "/v1/acts", parameters=parameters))
