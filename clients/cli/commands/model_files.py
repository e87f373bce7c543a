"""``models add``: a model file that others made."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from leakrange.client import Range
from leakrange.client.embedded import RangeFolder
from leakrange.client.http import Http
from leakrange.clients.cli.console import note, print_json, say
from leakrange.clients.cli.exits import CliError, Exit
from leakrange.clients.cli.files import read_file
from leakrange.clients.cli.options import AsJson, State, state_folder
from leakrange.wire.names import is_name

if TYPE_CHECKING:
    from leakrange.providers.foreign.card import FileCard
    from leakrange.providers.foreign.folder import Added

__all__ = ["add"]

PROVIDER = "provider-honest"
"""The party of an embedded range that serves it: nothing is hidden in its outputs by us."""

File = Annotated[Path, typer.Argument(metavar="FILE", help="ONNX, skops, torch.export or TorchScript")]
Card = Annotated[Path, typer.Option("--card", help="YAML: what the model takes, and what its numbers mean")]
Name = Annotated[str | None, typer.Option("--name", help="serve it by the running range, under this name")]
Trust = Annotated[
    bool, typer.Option("--trust", help="it may run code: I trust its maker as I do that of a program I run")
]
Models = Annotated[
    str | None, typer.Option("--models", help="keep it for another provider: in a folder, or s3://BUCKET")
]


def add(
    file: File,
    card: Card,
    name: Name = None,
    trust: Trust = False,
    models: Models = None,
    state: State = None,
    as_json: AsJson = False,
) -> None:
    """Check a model file that others made against its card, and keep it for a provider to serve.

    With --name the running range serves it at once. Prints the file's digest, by which it is named elsewhere.
    """
    if name is not None and not is_name(name):
        raise CliError(f"--name {name!r} is no name", code=Exit.USAGE, hint="use letters, digits, '._-'")
    if name is not None and models is not None:
        raise CliError("--models is for a provider elsewhere, which --name does not reach", code=Exit.USAGE)
    from leakrange.providers.foreign import folder  # NumPy and more: only where it is needed
    from leakrange.providers.foreign.card import FileCard, read_card

    place = state_folder(state)
    described = read_card(read_file(card), FileCard)
    if name is None:
        added = _kept(models or place.models, file, described, trust)
    else:
        with Range.embedded(place.root) as running:  # before anything is kept
            added = folder.add(place.models, file, described, trusted=trust)
            _serve(place, running, name, added.digest, described.release)
    if as_json:
        print_json({"digest": added.digest, "numbers": added.numbers, "name": name, "card": added.card})
        return
    note(f"{added.card.format}: {added.numbers}")
    if name is not None:
        note(
            f"served as {name!r}: make a key with 'leakrange keys create NAME --models {name} --budget 1000'"
        )
    say(added.digest)


def _kept(place: Path | str, file: Path, card: FileCard, trust: bool) -> Added:
    """Keep a model file in a folder, or in a bucket of an S3 server."""
    from leakrange.providers.foreign import folder
    from leakrange.store.folders import publish
    from leakrange.store.places import store_at

    store = store_at(place)
    added = folder.add(store.local, file, card, trusted=trust)
    publish(store, store.local / added.digest)
    return added


def _serve(place: RangeFolder, running: Range, name: str, digest: str, release: str) -> None:
    """Deploy a model file, and have the proxy serve it."""
    record = place.record()
    assert record is not None  # the range runs
    if release == "features":
        deployment = {"artifact": digest, "service": "features"}
    else:
        deployment = {"artifact": digest, "release": release}
    log = place.log(PROVIDER)
    provider = Http(record.url(PROVIDER), operator_key=record.operator_key, local=True, hint=f"see {log}")
    try:
        provider.operate("PUT", f"/v1/operator/models/{name}", json=deployment)
    finally:
        provider.close()
    running.routes.put(name, record.url(PROVIDER))
