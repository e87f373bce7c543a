"""The folders of model files: each is named by the SHA-256 of its card, which holds that of the file. So the
name stands for all that is in it. A folder is there completely or not at all."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from leakrange.providers.foreign.apart import apart
from leakrange.providers.foreign.card import FileCard, StoredCard, read_card
from leakrange.providers.foreign.format import MOST_BYTES
from leakrange.providers.foreign.formats import FORMATS, format_of
from leakrange.providers.foreign.model import FileModel
from leakrange.providers.foreign.trial import trial
from leakrange.wire.disk import read_regular, room_in
from leakrange.wire.errors import InvalidArtifact, InvalidInput

__all__ = ["CARD", "Added", "add", "find", "is_one", "load"]

CARD = "card.yaml"


@dataclass(frozen=True)
class Added:
    """A model file that was kept: its digest, which a deployment names, its card, and a phrase about its
    numbers."""

    digest: str
    card: StoredCard
    numbers: str


def add(root: Path, file: Path, card: FileCard, *, trusted: bool = False) -> Added:
    """Check a model file against a card and keep both in ``<root>/<digest>/``; a repetition changes nothing.

    The file is read and run in a process of its own. ``trusted``: it may run code of its maker. Raises
    `InvalidArtifact`, which says what does not fit, and `StorageFull`.
    """
    with room_in(root):
        root.mkdir(parents=True, exist_ok=True)
        staging = Path(tempfile.mkdtemp(prefix=".model-file-", dir=root))
        try:
            stored, sentence = apart(_checked, file.resolve(), card, staging, trusted)
            content = stored.written()
            digest = hashlib.sha256(content).hexdigest()
            _put(staging / CARD, content)
            try:
                staging.rename(root / digest)
            except OSError:
                if find(root, digest) is None:
                    raise
        finally:
            shutil.rmtree(staging, ignore_errors=True)
    return Added(digest, stored, sentence)


def find(root: Path, digest: str) -> Path | None:
    """The folder of a model file by its digest; None where there is none."""
    folder = root / digest
    return folder if is_one(folder) else None


def is_one(folder: Path) -> bool:
    """Whether a folder is one of a model file."""
    return (folder / CARD).is_file()


def load(folder: Path, *, threads: int = 1) -> FileModel:
    """Open the model file in a folder that `add` has written, for so many threads. Raises `InvalidArtifact`
    where something is missing, is not what the folder's name stands for, or cannot be opened here."""
    try:
        content = read_regular(folder.parent, f"{folder.name}/{CARD}", MOST_BYTES)
        card = read_card(content, StoredCard)
        entry = FORMATS[card.format]
        file = read_regular(folder.parent, f"{folder.name}/{entry.file}", MOST_BYTES)
    except OSError as error:
        raise _damaged(folder, error.strerror or str(error)) from error
    except InvalidInput as error:
        raise _damaged(folder, error.detail) from error
    if hashlib.sha256(content).hexdigest() != folder.name or hashlib.sha256(file).hexdigest() != card.sha256:
        raise _damaged(folder, "it does not hold what its name stands for")
    entry.require()
    if entry.sealed(file, folder) != file:
        raise _damaged(folder, "the file needs others beside it")
    return FileModel(card, entry.net(file, card, trusted=card.trusted, threads=threads))


def _checked(file: Path, card: FileCard, staging: Path, trusted: bool) -> tuple[StoredCard, str]:
    """Write the sealed file into ``staging`` if it fits the card; give the card that is kept beside it, and
    a phrase about its numbers."""
    try:
        content = read_regular(file.parent, file.name, MOST_BYTES)
    except OSError as error:
        raise InvalidArtifact(f"{file.name} cannot be read: {error.strerror}") from error
    entry = format_of(content)
    entry.require()
    content = entry.sealed(content, file.parent)
    net = entry.net(content, card, trusted=trusted, threads=1)
    width, sentence = trial(net, card)
    _put(staging / entry.file, content)
    added = {
        "format": entry.name,
        "sha256": hashlib.sha256(content).hexdigest(),
        "width": width,
        "trusted": trusted and entry.needs_trust(content),
    }
    return StoredCard.model_validate({**card.model_dump(), **added}), sentence


def _put(path: Path, content: bytes) -> None:
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _damaged(folder: Path, reason: str) -> InvalidArtifact:
    return InvalidArtifact(
        f"the folder {folder.name} of a model file is damaged: {reason}",
        hint="add the file again with 'leakrange models add'",
    )
