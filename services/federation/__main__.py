"""``python -m leakrange.services.federation``: train extractors by a federation over Flower.

run RECIPE.json --models DIR                in Flower's simulation, on this machine
run RECIPE.json --models DIR --link FOLDER  on the devices that are connected to this machine's SuperLink
superlink FOLDER --port PORT                start a SuperLink, which keeps its keys and outputs in FOLDER
supernode FOLDER --superlink HOST:PORT --certificate FILE --port P
                                            start a SuperNode: one device, which keeps its key in FOLDER
enrol KEY.pub --link FOLDER [--device N]    let the device with this key take part
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
from leakrange.services.federation.deployment import environment, program, submit
from leakrange.services.federation.keys import LinkFolder, device_key, public_key
from leakrange.services.federation.server import Patience, federation_of
from leakrange.wire.errors import InvalidInput, LeakrangeError

log = structlog.get_logger("leakrange.federation")


def main() -> None:
    """Run the command line; foreseeable errors end with a message."""
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
        prog="python -m leakrange.services.federation",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    run = commands.add_parser("run", help="train every extractor of a file of recipes")
    run.add_argument("recipes", type=Path, metavar="RECIPE.json", help="a recipe, or a list of them")
    run.add_argument("--models", type=Path, required=True, help="folder for artifacts")
    run.add_argument("--link", type=Path, metavar="FOLDER", help="of a SuperLink (default: simulate)")
    run.add_argument("--processes", type=int, help="of the simulation (default: one for each core)")
    run.add_argument("--gather", type=float, default=60.0, help="seconds to wait for missing devices")
    run.add_argument("--answer", type=float, default=600.0, help="seconds to wait for answers in a round")
    run.set_defaults(command=_run)
    given = commands.add_parser("publish", help="store trained artifacts where a range on S3 finds them")
    given.add_argument("models", type=Path, help="the folder that `run` has written")
    given.add_argument("--to", required=True, metavar="s3://BUCKET", help="the range's LEAKRANGE_MODELS_DIR")
    given.set_defaults(command=_publish)
    link = commands.add_parser("superlink", help="start a SuperLink: the server of devices")
    link.add_argument("folder", type=Path, help="for its keys, its certificate and what it trains")
    link.add_argument("--host", default="127.0.0.1", help="address for devices")
    link.add_argument("--port", type=int, default=8000, help="for devices")
    link.add_argument("--orders-port", type=int, default=8001, help="of 127.0.0.1, for `run`")
    link.add_argument(
        "--name", action="append", default=[], help="by which devices reach it; several may be given"
    )
    link.set_defaults(command=_superlink)
    node = commands.add_parser("supernode", help="start a SuperNode: one device")
    node.add_argument("folder", type=Path, help="for its key")
    node.add_argument("--superlink", default="127.0.0.1:8000", help="its address")
    node.add_argument("--certificate", type=Path, required=True, help="the SuperLink's certificate.pem")
    node.add_argument("--port", type=int, default=8002, help="of 127.0.0.1, for its own processes")
    node.set_defaults(command=_supernode)
    enrol = commands.add_parser("enrol", help="let devices take part")
    enrol.add_argument("keys", type=Path, nargs="+", metavar="KEY.pub", help="of devices, one each")
    enrol.add_argument("--link", type=Path, required=True, metavar="FOLDER", help="of the SuperLink")
    enrol.add_argument("--device", type=int, help="its number (default: the lowest free one)")
    enrol.set_defaults(command=_enrol)
    return parser.parse_args()


def _run(options: argparse.Namespace) -> None:
    from leakrange.defences.artifact import save
    from leakrange.providers.artifact_files import find
    from leakrange.services.federation.taking_over import take_over

    patience = Patience(options.gather, options.answer)
    for recipe in _recipes(options.recipes):
        federation = federation_of(recipe)
        if find(options.models, recipe.digest()) is not None:
            log.info("there already", artifact=recipe.digest())
        elif options.link is not None:
            folder = LinkFolder(options.link.absolute())
            submit(recipe, folder, patience)
            taken = take_over(folder.outputs / recipe.digest(), options.models, recipe)
            log.info("stored", folder=str(taken))
        else:
            from leakrange.services.federation.simulation import simulate

            trained = simulate(recipe, federation.devices, patience, options.processes)
            log.info("stored", folder=str(save(options.models, trained)))


def _publish(options: argparse.Namespace) -> None:
    from leakrange.providers.artifact_files import find, read_files
    from leakrange.store.folders import publish
    from leakrange.store.places import store_at

    for folder in sorted(each for each in options.models.iterdir() if find(options.models, each.name)):
        read_files(folder)  # all of it is there
        publish(store_at(options.to), folder)
        log.info("published", artifact=folder.name, to=options.to)


def _superlink(options: argparse.Namespace) -> None:
    from leakrange.services.federation.superlink import serve

    serve(
        LinkFolder(options.folder.absolute()), options.host, options.port, options.orders_port, options.name
    )


def _supernode(options: argparse.Namespace) -> None:
    key = device_key(options.folder)
    log.info("this device takes part when it is enrolled", key=str(options.folder / "device.pub"))
    name = program("flower-supernode")
    arguments = ["--superlink", options.superlink, "--root-certificates", str(options.certificate)]
    arguments += ["--auth-supernode-private-key", str(key), "--port", str(options.port)]
    os.execve(name, [name, *arguments], environment())


def _enrol(options: argparse.Namespace) -> None:
    keys = [public_key(file) for file in options.keys]
    for name, device in LinkFolder(options.link).devices.enrol(keys, options.device).items():
        log.info("enrolled", device=device, fingerprint=name)


def _recipes(file: Path) -> Iterator[TrainingRecipe]:
    """The recipes of a file, each checked before the first is trained."""
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
