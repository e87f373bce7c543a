"""``prices``: what a run's attacks get for how many samples, and which quota is small enough."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer
from pydantic import ValidationError

from leakrange.clients.cli.console import note, print_json, print_table, say
from leakrange.clients.cli.exits import CliError, Exit
from leakrange.clients.cli.files import write_file
from leakrange.clients.cli.options import AsJson, State, Url, connect
from leakrange.targets.target import TargetLimits

__all__ = ["prices"]


def _price(text: str) -> str:
    try:
        return TargetLimits(price=text or None).price or ""
    except ValidationError:
        raise typer.BadParameter("a price is a number and a currency: '0.002 EUR'") from None


def prices(
    run: Annotated[str, typer.Argument(metavar="RUN", help="a run that is over; 'leakrange runs' lists it")],
    price: Annotated[
        str,
        typer.Option("--price", callback=_price, help="price of one sample, with its currency: '0.002 EUR'"),
    ] = "",
    pictures: Annotated[
        Path | None, typer.Option("--pictures", metavar="FOLDER", help="write a picture of each list there")
    ] = None,
    state: State = None,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Say what the strongest attack on each provider of a run gets for how many samples, and which quota is
    small enough. A scenario with several 'budgets' makes such a run."""
    from leakrange.assessment.document import Thresholds
    from leakrange.assessment.pictures import price_picture
    from leakrange.assessment.prices import price_lists
    from leakrange.metrics import numbers
    from leakrange.report.charts.standalone import standalone
    from leakrange.report.findings import find

    with connect(state, url) as place:
        findings = find(place.runs.results(run))
    lists = {findings.label(subject): each for subject, each in price_lists(findings, price, Thresholds())}
    if not lists:
        raise CliError(
            f"run {run} has no attack whose figure is an AUC and that came to an end without a defence",
            code=Exit.FAILED,
            hint="'leakrange runs' tells whether it is over; a scenario wants a defence without stages",
        )
    for name, each in lists.items():
        drawn = price_picture(each, Thresholds().bound) if pictures is not None else None
        if pictures is not None and drawn is not None:
            file = pictures / f"{re.sub(r'[^a-z0-9]+', '-', name.lower()).strip('-')}-prices.svg"
            write_file(file, standalone(drawn))
            note(f"picture: {file.resolve().as_uri()}")
    if as_json:
        print_json(lists)
        return
    rows = [(name, each, point) for name, each in lists.items() for point in each.points]
    print_table(
        ("provider", "hidden", "attack", "samples", "AUC", "95 % interval", "price"),
        [
            (
                name,
                each.about,
                each.attack,
                f"{point.samples:,}",
                numbers.score(point.value),
                ""
                if point.low is None or point.high is None
                else numbers.interval((point.low, point.high), "score"),
                "" if point.money is None else f"{point.money:,.2f}",
            )
            for name, each, point in rows
        ],
        empty="no figures",
    )
    for name, each in lists.items():
        say(f"{name}: {each.sentence}")
