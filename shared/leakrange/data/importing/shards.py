"""WebDataset tars: files that follow each other and have one name before the first dot are a sample.

Nothing is unpacked: a member is read where it lies. Links, paths that lead out and what pretends to be larger
than it is are refused all the same, since whoever made such a tar meant something else by it.
"""

from __future__ import annotations

import json
import re
import tarfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO

from leakrange.data.importing.albums import ENDINGS, LARGEST, Album, AlbumPicture
from leakrange.data.importing.records import MOST_COLUMNS, as_text
from leakrange.data.importing.roles import ColumnUse
from leakrange.wire.errors import InvalidInput

__all__ = ["TarAlbum", "tars_of"]

CLASS = "cls"
SPAN = re.compile(r"\{(\d{1,6})\.\.(\d{1,6})\}")
MOST_TARS = 100_000
MOST_TEXT = 2**20
"""Bytes of a sample's class or facts."""
LONGEST_NAME = 64
"""Characters in the name of a column."""
NAME = re.compile(r"((?:.*/)?[^./][^./]*)\.([^/]+)")
"""A member's name: that of its sample, and its ending from the first dot on."""


def tars_of(path: Path) -> list[Path]:
    """The tars that a path names: one, those of a folder, or those of a span such as ``a-{000..010}.tar``;
    none where it names something else. Raises `InvalidInput` for a tar of a span that is not there."""
    if span := SPAN.search(path.name):
        first, last = span.groups()
        if int(last) - int(first) not in range(MOST_TARS):
            raise InvalidInput(f"{span[0]} is no span of numbers", hint="write it as {000..010}")
        numbers = (f"{number:0{len(first)}d}" for number in range(int(first), int(last) + 1))
        tars = [path.with_name(path.name.replace(span[0], number)) for number in numbers]
        missing = [tar.name for tar in tars if not tar.is_file()]
        if missing:
            raise InvalidInput(
                f"{len(missing)} of {len(tars)} tars are not there: {', '.join(missing[:3])}",
                hint=f"they are looked for in {path.parent}",
            )
        return tars
    if path.is_dir():
        return sorted(each for each in path.glob("*.tar") if each.is_file())
    return [path] if path.name.lower().endswith(".tar") and path.is_file() else []


class TarAlbum(Album):
    """The samples of WebDataset tars in their order. ``.cls`` is a sample's label and its column "cls"; what
    ``.json`` says in words, numbers and truth values are further columns."""

    kind = "WebDataset"

    def __init__(self, tars: Sequence[Path], use: ColumnUse) -> None:
        self.tars, self.use = tars, use
        self._columns: dict[str, None] = {}

    @property
    def columns(self) -> Sequence[str]:
        """See `Album.columns`."""
        return list(self._columns)

    def pictures(self) -> Iterator[AlbumPicture]:
        """See `Album.pictures`."""
        for path in self.tars:
            with _readable(path), path.open("rb") as file:
                bounded: IO[bytes] = _Bounded(file)  # type: ignore[assignment]
                with tarfile.open(fileobj=bounded, mode="r:") as tar:
                    for name, members in _samples(path, tar):
                        yield self._picture(f"{path}: sample {name!r}", tar, members)
                    _require_end(tar, file)
        self.use.check([*([self.use.target] if CLASS in self.columns else []), *self.columns])

    def _picture(self, name: str, tar: tarfile.TarFile, members: dict[str, tarfile.TarInfo]) -> AlbumPicture:
        shown = [ending for ending in members if f".{ending.rpartition('.')[2].lower()}" in ENDINGS]
        if len(shown) != 1:
            raise InvalidInput(
                f"{name} has {len(shown) or 'no'} pictures",
                hint=f"write one of *{', *'.join(ENDINGS)} for each sample, its other files next to it",
            )
        facts: dict[str, str] = {}
        if "json" in members:
            facts = _facts(name, _content(name, tar, members["json"], MOST_TEXT))
        if CLASS in members:
            facts[CLASS] = _text(name, _content(name, tar, members[CLASS], MOST_TEXT)).strip()
        self._columns |= dict.fromkeys(facts)
        if len(self._columns) > MOST_COLUMNS:
            raise InvalidInput(f"{name}: there are more than {MOST_COLUMNS} columns", hint="write fewer")
        return AlbumPicture(
            name, _content(name, tar, members[shown[0]], LARGEST), facts, facts.get(CLASS, "")
        )


class _Bounded:
    """A tar's file, of which nobody reads more at once than a picture may have: else the extended header of a
    member would be read into memory, whatever its size."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file = file
        self.seek, self.tell = file.seek, file.tell

    def read(self, size: int) -> bytes:
        """At most ``size`` bytes. Raises `ValueError` where that is too much."""
        if not 0 <= size <= LARGEST:
            raise ValueError(f"{size} bytes are to be read at once")
        return self.file.read(size)


def _samples(path: Path, tar: tarfile.TarFile) -> Iterator[tuple[str, dict[str, tarfile.TarInfo]]]:
    """The members of each sample by their endings."""
    there: set[int] = set()
    name, members = "", dict[str, tarfile.TarInfo]()
    while (member := tar.next()) is not None:
        tar.members.clear()  # type: ignore[attr-defined]  # or it keeps them all
        named = _named(path, member)
        if named is None:
            continue
        if named[0] != name:
            if members:
                yield name, members
            name, members = named[0], {}
            if hash(name) in there:
                raise InvalidInput(
                    f"{path}: the files of sample {name!r} do not follow each other",
                    hint="write it again in the order of names (tar --sort=name)",
                )
            there.add(hash(name))
        if named[1] in members:
            raise InvalidInput(f"{path} holds {member.name!r} twice", hint="give each sample its own name")
        members[named[1]] = member
    if members:
        yield name, members


def _named(path: Path, member: tarfile.TarInfo) -> tuple[str, str] | None:
    """The names of a member's sample and of its ending; None for folders, and for hidden files and those
    without an ending, which no sample has. Raises `InvalidInput` for what has no place in such a tar."""
    shown = repr(member.name[:80])
    if member.name.startswith("/") or ".." in PurePosixPath(member.name).parts:
        raise InvalidInput(f"{path} holds {shown}, a path that leads out of it", hint="write it again")
    if member.isdir():
        return None
    if not member.isreg() or member.issparse():
        raise InvalidInput(
            f"{path}: {shown} is a link, a device or a sparse file", hint="write it again with files alone"
        )
    if not 0 <= member.size <= LARGEST:
        raise InvalidInput(
            f"{path}: {shown} has {member.size / 2**20:,.0f} MiB; at most {LARGEST >> 20} are read",
            hint="leave out what is no picture, or save the picture smaller",
        )
    there = NAME.fullmatch(member.name)
    return None if there is None else (there[1], there[2])


def _require_end(tar: tarfile.TarFile, file: IO[bytes]) -> None:
    """Raise `tarfile.ReadError` unless the mark of a tar's end stands where its last member ends."""
    file.seek(tar.offset)
    if file.read(tarfile.BLOCKSIZE) != bytes(tarfile.BLOCKSIZE):
        raise tarfile.ReadError("it ends without the mark of its end, or is broken")


def _content(name: str, tar: tarfile.TarFile, member: tarfile.TarInfo, most: int) -> bytes:
    if member.size > most:
        raise InvalidInput(f"{name}: {member.name!r} has more than {most} bytes", hint="write it smaller")
    file = tar.extractfile(member)
    content = b"" if file is None else file.read(member.size)
    if len(content) < member.size:
        raise tarfile.ReadError(f"it ends within {member.name!r}")
    return content


def _text(name: str, content: bytes) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{name}: its class or facts are no UTF-8", hint="write text") from error


def _facts(name: str, content: bytes) -> dict[str, str]:
    try:
        facts = json.loads(_text(name, content))
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{name}: its json cannot be read", hint='write such as {"age": 31}') from error
    if not isinstance(facts, dict):
        raise InvalidInput(f"{name}: its json is no mapping", hint='write such as {"age": 31}')
    cells = {key: _cell(each) for key, each in facts.items() if len(key) <= LONGEST_NAME}
    return {key: cell for key, cell in cells.items() if cell is not None}


def _cell(value: object) -> str | None:
    """A value as a cell; None for lists and mappings."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value) if abs(value) < 2**63 else ""
    if isinstance(value, float):
        return as_text(value)
    return "" if value is None else value if isinstance(value, str) else None


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Turn what a broken tar raises into `InvalidInput`."""
    try:
        yield
    except (tarfile.TarError, OSError, EOFError, ValueError, OverflowError) as error:
        raise InvalidInput(
            f"{path} is no tar that can be read: {error}",
            hint="is it whole? it must not be compressed (gunzip it first)",
        ) from error
