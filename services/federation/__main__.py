"""``python -m services.federation``: train extractors by a federation over Flower.

run RECIPE.json --models DIR                           in Flower's simulation, on this machine
run RECIPE.json --models DIR --superlink HOST:PORT     on the SuperNodes that are connected to a SuperLink
superlink --port PORT                                  start Flower's SuperLink
supernode --superlink HOST:PORT [--device N] --port P  start a SuperNode: one device
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import orjson
import structlog
from pydantic import ValidationError

from leakrange.jobs.recipe import TrainingRecipe
from leakrange.registry import UnknownName
from leakrange.service.logs import configure_logs
from leakrange.wire.errors import InvalidInput, LeakrangeError
from services.federation.deployment import environment, program, submit
from services.federation.server import Patience, federation_of

log = structlog.get_logger("leakrange.federation")


def main() -> None:
    """Do what the command line says; what can be foreseen ends with a message."""
    options = _options()
    configure_logs("federation")
    for chatty in ("flwr", "alembic"):
        logging.getLogger(chatty).propagate = False  # Flower has a handler of its own
    try:
        options.command(options)
    except (LeakrangeError, UnknownName, ValidationError, OSError) as error:
        hint = getattr(error, "hint", None)
        sys.exit(f"error: {error}" + (f"\nhint: {hint}" if hint else ""))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m services.federation",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    run = commands.add_parser("run", help="train every extractor of a file of recipes")
    run.add_argument("recipes", type=Path, metavar="RECIPE.json", help="a recipe, or a list of them")
    run.add_argument("--models", type=Path, required=True, help="folder for artifacts; a SuperLink's own one")
    run.add_argument("--superlink", help="address of a running SuperLink (default: Flower's simulation)")
    run.add_argument("--processes", type=int, help="of the simulation (default: one for each core)")
    run.add_argument("--gather", type=float, default=60.0, help="seconds to wait for missing devices")
    run.add_argument("--answer", type=float, default=600.0, help="seconds to wait for answers in a round")
    run.set_defaults(command=_run)
    link = commands.add_parser("superlink", help="start Flower's SuperLink")
    link.add_argument("--host", default="127.0.0.1")
    link.add_argument("--port", type=int, default=8000)
    link.set_defaults(command=_superlink)
    node = commands.add_parser("supernode", help="start a SuperNode: one device")
    node.add_argument("--superlink", default="127.0.0.1:8000", help="its address")
    node.add_argument("--device", type=int, help="its number (default: the server gives it one)")
    node.add_argument("--port", type=int, default=8001, help="of 127.0.0.1, for its own processes")
    node.set_defaults(command=_supernode)
    return parser.parse_args()


def _run(options: argparse.Namespace) -> None:
    from leakrange.defences.artifact import save
    from leakrange.providers.artifact_files import find

    patience = Patience(options.gather, options.answer)
    for recipe in _recipes(options.recipes):
        federation = federation_of(recipe)
        if find(options.models, recipe.digest()) is not None:
            log.info("there already", artifact=recipe.digest())
        elif options.superlink is not None:
            submit(recipe, str(options.models.absolute()), options.superlink, patience)
        else:
            from services.federation.simulation import simulate

            trained = simulate(recipe, federation.devices, patience, options.processes)
            log.info("stored", folder=str(save(options.models, trained)))


def _superlink(options: argparse.Namespace) -> None:
    name = program("flower-superlink")
    arguments = ["--insecure", "--disable-runtime-dependency-installation"]
    where = ["--host", options.host, "--port", str(options.port)]
    os.execve(name, [name, *arguments, *where], environment())


def _supernode(options: argparse.Namespace) -> None:
    name = program("flower-supernode")
    arguments = ["--insecure", "--superlink", options.superlink, "--port", str(options.port)]
    if options.device is not None:
        arguments += ["--node-config", f"partition-id={options.device}"]
    os.execve(name, [name, *arguments], environment())


def _recipes(file: Path) -> Iterator[TrainingRecipe]:
    """Those of a file, each checked before the first is trained."""
    try:
        content = orjson.loads(file.read_bytes())
    except orjson.JSONDecodeError as error:
        raise InvalidInput(f"{file}: no JSON: {error}") from error
    every = [
        TrainingRecipe.model_validate(each) for each in (content if isinstance(content, list) else [content])
    ]
    for each in every:
        federation_of(each)
    yield from every


if __name__ == "__main__":
    main()
