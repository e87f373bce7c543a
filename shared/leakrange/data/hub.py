"""Data sets from the Hugging Face hub, converted once and stored as an ``.npz``.

The file lies in ``$LEAKRANGE_CACHE/hub`` (``~/.cache/leakrange/hub`` where that is not set). Once it exists,
neither network nor the ``datasets`` package is needed.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from leakrange.data.catalogue import Content, GivenSet, Outline
from leakrange.data.columns import Columns
from leakrange.data.packed import layout_of, read_arrays
from leakrange.data.samples import SPLITS
from leakrange.jobs.recipe import DataSpec
from leakrange.wire.errors import DataUnavailable

__all__ = ["HubSet", "cache_folder", "convert", "numbers", "offline"]

LAYOUT = layout_of(images=("uint8", 4), official="uint8")
EACH_LABEL = ("int64", 1)
OFFLINE = ("1", "ON", "YES", "TRUE")
CHANGED = "the set on the hub has changed; use a packed copy instead"

Codes = Sequence[str] | Mapping[str, int] | range

Progress = Callable[[int, int], None]
"""Called after each image with the number of converted images and the number of all."""


def cache_folder() -> Path:
    """Folder of downloaded sets, those of other sources as well."""
    root = os.environ.get("LEAKRANGE_CACHE")
    return Path(root) if root else Path.home() / ".cache" / "leakrange"


def offline() -> bool:
    """Whether HF_HUB_OFFLINE forbids downloads from the hub."""
    return os.environ.get("HF_HUB_OFFLINE", "").upper() in OFFLINE


class HubSet(GivenSet):
    """A set on the hub, mostly with an official split. Its attributes are declared by the numbers of its
    columns' values."""

    official_split = True
    hub_id: ClassVar[str]
    config: ClassVar[str | None] = None
    parts: ClassVar[Mapping[str, str]] = MappingProxyType({"train": "train", "test": "test"})
    """Mapping from the hub's splits to those of `SPLITS`, e.g. ``{"train": "train", "valid":
    "validation"}``."""
    image_column: ClassVar[str] = "image"
    codes: ClassVar[Mapping[str, Codes]]
    """The columns of the attributes, each with its values in the order of their numbers, as the hub spells
    them; spellings that share a number are given with it."""
    crop: ClassVar[int | None] = None
    """Side of the square in the middle that is kept, in the hub's pixels; None: everything."""

    @classmethod
    def cached(cls) -> Path:
        """Path of the converted set."""
        return cache_folder() / "hub" / f"{cls.name}.npz"

    @classmethod
    def available(cls) -> str | None:
        """None where the set was converted before, or nothing is known to prevent its download."""
        if cls.cached().is_file():
            return None
        if find_spec("datasets") is None:
            return "it is downloaded with Hugging Face datasets: pip install 'leakrange[hub]'"
        if offline():
            return (
                f"it is not in {cls.cached().parent} and HF_HUB_OFFLINE forbids to download it; unset that, "
                "or copy the file from a machine that has it"
            )
        return None

    @classmethod
    def content(cls) -> Content:
        """The converted set; the first time it is downloaded, with a progress bar on standard error."""
        arrays = cls._arrays(*LAYOUT)
        return cls._outline(arrays).with_values(arrays["images"])

    @classmethod
    def outline(cls, spec: DataSpec) -> Outline:
        """The converted set without its images; it is downloaded if it must be."""
        del spec
        return cls._outline(cls._arrays("official"))

    @classmethod
    def _arrays(cls, *names: str) -> dict[str, NDArray[Any]]:
        path = cls.cached()
        if not path.is_file():
            _store(path, _download(cls))
        layout = {name: LAYOUT[name] for name in names}
        return read_arrays(path, layout | {f"label_{name}": EACH_LABEL for name in cls.attributes})

    @classmethod
    def _outline(cls, arrays: Mapping[str, NDArray[Any]]) -> Outline:
        labels = {name: arrays[f"label_{name}"] for name in cls.attributes}
        return Outline(labels=labels, official=arrays["official"] if cls.official_split else None)

    @classmethod
    def labels(cls, columns: Columns) -> dict[str, NDArray[np.int64]]:
        """Labels per attribute, int64 (N,), from the columns' values as the hub has them. Raises
        `DataUnavailable` for unknown ones."""
        return super().labels(
            {name: numbers(name, columns[name], codes) for name, codes in cls.codes.items()}
        )


def numbers(column: str, values: Sequence[Any], codes: Codes) -> NDArray[np.int64]:
    """The number of each value: its place in ``codes``, or what they map it to. Names may be in any case, and
    a value with a name may be its number already.

    Raises `DataUnavailable` for anything else.
    """
    place: dict[Any, int]
    if isinstance(codes, range):
        known, place = f"{codes[0]} to {codes[-1]}", {value: i for i, value in enumerate(codes)}
    else:
        named = codes if isinstance(codes, Mapping) else {name: i for i, name in enumerate(codes)}
        known = ", ".join(named)
        place = {name.casefold(): i for name, i in named.items()}
        place |= {i: i for i in named.values()}
    try:
        return np.array([place[v.casefold() if isinstance(v, str) else v] for v in values], dtype=np.int64)
    except (KeyError, TypeError) as unknown:
        raise DataUnavailable(
            f"column {column!r} on the hub holds {unknown}, which is none of {known}", hint=CHANGED
        ) from unknown


def convert(entry: type[HubSet], parts: Mapping[str, Any], progress: Progress) -> dict[str, NDArray[Any]]:
    """The arrays to store, from the hub's splits (each a ``datasets.Dataset``).

    Images are cropped and brought to the size of ``entry.spec``, uint8 (N, size, size, C). Raises
    `DataUnavailable` where a split or a column is missing.
    """
    missing = [part for part in entry.parts if part not in parts]
    needed = (entry.image_column, *entry.codes)
    missing += [
        c for part in entry.parts if part in parts for c in needed if c not in parts[part].column_names
    ]
    if missing:
        raise DataUnavailable(
            f"{entry.hub_id} on the hub has no {', '.join(sorted(set(missing)))}",
            hint=CHANGED,
        )
    used = [parts[part] for part in entry.parts]
    total = sum(len(part) for part in used)
    images = np.empty((total, *entry.spec.shape), dtype=np.uint8)
    rows = chain.from_iterable(part.select_columns([entry.image_column]) for part in used)
    for i, row in enumerate(rows):
        images[i] = _square(row[entry.image_column], entry)
        progress(i + 1, total)
    columns = {name: [v for part in used for v in _values(part, name)] for name in entry.codes}
    official = [SPLITS.index(ours) for ours in entry.parts.values()]
    return {
        "images": images,
        "official": np.repeat(np.array(official, dtype=np.uint8), [len(part) for part in used]),
        **{f"label_{name}": values for name, values in entry.labels(columns).items()},
    }


def _values(part: Any, column: str) -> list[Any]:
    values = list(part[column])
    feature = part.features[column]
    if hasattr(feature, "int2str"):
        return [feature.int2str(value) for value in values]
    return values


def _square(picture: Image.Image, entry: type[HubSet]) -> NDArray[np.uint8]:
    picture = picture.convert("RGB" if entry.spec.shape[2] == 3 else "L")
    if entry.crop is not None:
        left, top = (picture.width - entry.crop) // 2, (picture.height - entry.crop) // 2
        picture = picture.crop((left, top, left + entry.crop, top + entry.crop))
    height, width, _ = entry.spec.shape
    if picture.size != (width, height):
        picture = picture.resize((width, height), Image.Resampling.LANCZOS)
    return np.asarray(picture).reshape(entry.spec.shape)


def _download(entry: type[HubSet]) -> dict[str, NDArray[Any]]:
    import datasets as hugging_face

    try:
        parts = hugging_face.load_dataset(entry.hub_id, entry.config)
    # However the hub cannot be reached or lacks the set, it is an OSError of some kind or a ValueError.
    except (OSError, ValueError) as failed:
        raise DataUnavailable(
            f"data set {entry.name!r} cannot be downloaded from the Hugging Face hub: {failed}",
            hint=f"connect to the network, or copy {entry.cached().name} from a machine that has it "
            f"to {entry.cached().parent}",
        ) from failed
    with hugging_face.utils.tqdm(desc=f"converting {entry.name}", unit="image") as bar:

        def show(done: int, total: int) -> None:
            bar.total = total
            bar.update(done - bar.n)

        return convert(entry, parts, show)


def _store(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write the file whole or not at all, so that an interrupted download leaves no broken file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, suffix=".partial")
    try:
        with os.fdopen(handle, "wb") as file:
            np.savez(file, allow_pickle=False, **arrays)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
