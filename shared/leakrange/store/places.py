"""Where models and releases are kept: a folder, or a bucket of an S3 server."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Annotated

from pydantic import BeforeValidator

from leakrange.store.files import FolderStore, ObjectStore
from leakrange.wire.errors import InvalidInput

__all__ = ["Place", "store_at"]

_ADDRESS = re.compile(r"s3://([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:/([A-Za-z0-9_-]+(?:/[A-Za-z0-9_-]+)*))?/?")


def _place(value: object) -> object:
    """A folder, or an address as it stands; raises `ValueError` for any other address."""
    if not isinstance(value, str) or "://" not in value:
        return Path(value) if isinstance(value, str) else value
    if _ADDRESS.fullmatch(value) is None:
        raise ValueError(f"{value[:100]!r} is neither a folder nor s3://BUCKET or s3://BUCKET/PREFIX")
    return value


Place = Annotated[Path | str, BeforeValidator(_place)]
"""A folder, or ``s3://BUCKET/PREFIX``."""


def store_at(place: Path | str) -> ObjectStore:
    """The store at a place, one for each in a process. Raises `InvalidInput` for an address that is none."""
    try:
        return _opened(_place(place))
    except ValueError as error:
        raise InvalidInput(str(error)) from error


@cache
def _opened(place: object) -> ObjectStore:
    if isinstance(place, Path):
        return FolderStore(place)
    address = _ADDRESS.fullmatch(str(place))
    assert address is not None
    from leakrange.store.buckets import BucketStore  # a folder needs no client of S3

    return BucketStore(address[1], address[2] or "")
