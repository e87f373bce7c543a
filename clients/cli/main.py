"""The ``leakrange`` command: its commands and exit codes."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

import leakrange
from leakrange.clients.cli.commands import (
    embedded_range,
    importing,
    keys,
    limits,
    listings,
    policies,
    routes,
    runs,
    scenarios,
)
from leakrange.clients.cli.commands.acts import acts
from leakrange.clients.cli.commands.answers import answers
from leakrange.clients.cli.commands.audit import audit
from leakrange.clients.cli.commands.backup import backup, restore
from leakrange.clients.cli.commands.compare import compare
from leakrange.clients.cli.commands.init import init
from leakrange.clients.cli.commands.load import load
from leakrange.clients.cli.commands.prices import prices
from leakrange.clients.cli.commands.reproduce import reproduce
from leakrange.clients.cli.commands.target import target
from leakrange.clients.cli.commands.targets import targets
from leakrange.clients.cli.commands.trace import trace
from leakrange.clients.cli.commands.view import view
from leakrange.clients.cli.console import problem, say
from leakrange.clients.cli.exits import CliError, Exit, refusal, told
from leakrange.wire.errors import LeakrangeError

__all__ = ["app", "main"]

EPILOG = (
    "Ends with 0: done. 1: the run failed or was cancelled, a party is not ready, a model does not pass its"
    " audit, or recorded answers or an endpoint leak. 2: wrong usage, or mistakes in a scenario. 3: no range"
    " answers. 4: the range refused (key, unknown run). 5: the range could not be started or stopped. 6: the"
    " audit of an endpoint cannot tell. 130: interrupted."
)

app = typer.Typer(
    help="A privacy range for machine learning as a service: stand it up, run scenarios, see what leaks.",
    epilog=EPILOG,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command()(init)
app.command()(embedded_range.up)
app.command()(embedded_range.down)
app.command()(embedded_range.status)
app.command("open")(embedded_range.open_pages)
app.command()(runs.run)
app.command()(runs.follow)
app.command()(load)
app.command()(runs.runs)
app.command()(runs.cancel)
app.command()(runs.report)
app.command()(view)
app.command()(compare)
app.command()(prices)
app.command()(trace)
app.add_typer(scenarios.scenario, name="scenario")
listings.data.command("import")(importing.import_data)
listings.data.command("remove")(importing.remove_data)
app.add_typer(listings.data, name="data")
app.add_typer(listings.models, name="models")
app.add_typer(keys.keys, name="keys")
app.add_typer(limits.limits, name="limits")
app.add_typer(policies.policies, name="policies")
app.add_typer(routes.routes, name="routes")
app.add_typer(target, name="target")
app.add_typer(targets, name="targets")
app.add_typer(audit, name="audit")
app.add_typer(answers, name="answers")
app.add_typer(scenarios.federation, name="federation")
app.command()(acts)
app.command()(backup)
app.command()(restore)
app.command()(reproduce)


def _version(wanted: bool) -> None:
    if wanted:
        say(leakrange.__version__)
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_version, help="show the version")
    ] = False,
) -> None:
    """Options before any command; ``version`` is dealt with by its callback."""


def main() -> None:
    """Run the command; expected failures end with a message and an exit code, not with a traceback."""
    try:
        app()
    except CliError as error:
        problem(error)
        sys.exit(error.code)
    except LeakrangeError as error:
        refused = refusal(error)
        problem(refused)
        sys.exit(refused.code)
    except OSError as error:  # a file that cannot be read or written, a full disk
        problem(told(error))
        sys.exit(Exit.FAILED)
