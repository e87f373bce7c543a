"""Import of a SuperLink's outputs: devices talk to it, so its outputs are read as those of a stranger."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path

from leakrange.defences.artifact import load
from leakrange.defences.trained import MAX_BYTES
from leakrange.jobs.recipe import TrainingRecipe
from leakrange.providers.artifact_files import DEFENCE, RECORD, write_files
from leakrange.wire.errors import InvalidArtifact

__all__ = ["take_over"]


def take_over(output: Path, root: Path, recipe: TrainingRecipe) -> Path:
    """Copy the artifact folder ``output`` to ``<root>/<recipe digest>/``, and return that path.

    Raises `InvalidArtifact` unless it is the result of ``recipe``: one file of safetensors and one of JSON,
    both plain, whose digests are those of the record, and whose recipe, defence, parameters and net are those
    of ``recipe``. Nothing in it is run. Raises `StorageFull`.
    """
    with tempfile.TemporaryDirectory() as copy:
        for name, content in _plain_files(output).items():
            Path(copy, name).write_bytes(content)
        artifact = load(Path(copy))
    config, record = artifact.config, artifact.record
    if record["recipe"] != recipe.model_dump(mode="json"):
        raise InvalidArtifact(f"{output}: its record is of another recipe")
    if (config.defence, config.parameters, config.net) != (recipe.defence, recipe.parameters, recipe.net):
        raise InvalidArtifact(f"{output}: it is not what its recipe makes")
    return write_files(
        root,
        recipe.digest(),
        "defence",
        {DEFENCE: artifact.content},
        {name: value for name, value in record.items() if name not in ("kind", "files")},
    )


def _plain_files(folder: Path) -> dict[str, bytes]:
    """The two files of an artifact folder. No link is followed, the folder's own name included."""
    try:
        opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError as error:
        raise InvalidArtifact(f"{folder}: {error.strerror}") from error
    try:
        if sorted(os.listdir(opened)) != sorted((DEFENCE, RECORD)):
            raise InvalidArtifact(f"{folder} holds other files than {DEFENCE} and {RECORD}")
        return {name: _plain(folder / name, opened) for name in (DEFENCE, RECORD)}
    finally:
        os.close(opened)


def _plain(file: Path, folder: int) -> bytes:
    try:
        # Without O_NONBLOCK, opening a named pipe would block.
        handle = os.open(file.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
    except OSError as error:
        raise InvalidArtifact(f"{file}: {error.strerror}") from error
    with os.fdopen(handle, "rb") as opened:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_BYTES:
            raise InvalidArtifact(f"{file} is no plain file of at most {MAX_BYTES:,} bytes")
        return opened.read(MAX_BYTES)
