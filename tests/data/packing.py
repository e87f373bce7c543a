"""Small packed files of made-up noise in the documented layout."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from leakrange.data.sets.celeba import CELEBA_NAMES
from leakrange.data.sets.cifar10 import CIFAR10_OBJECTS
from leakrange.data.sets.fashion_mnist import FASHION_ITEMS
from leakrange.data.sets.utkface import RACES

Arrays = dict[str, NDArray[Any]]


def pictures(n: int, size: int) -> NDArray[np.uint8]:
    """Smooth random RGB pictures, uint8 (n, size, size, 3), that survive JPEG."""
    coarse = np.random.default_rng(n).integers(0, 256, (n, 4, 4, 3), dtype=np.uint8)
    how = Image.Resampling.BICUBIC
    return np.stack([np.asarray(Image.fromarray(c).resize((size, size), how)) for c in coarse])


def jpeg(images: NDArray[np.uint8]) -> Arrays:
    """The arrays ``jpeg`` and ``offset``."""
    streams = []
    for image in images:
        out = io.BytesIO()
        Image.fromarray(image).save(out, "JPEG", quality=95, subsampling=0)
        streams.append(out.getvalue())
    ends = np.cumsum([0, *map(len, streams)], dtype=np.int64)
    return {"jpeg": np.frombuffer(b"".join(streams), dtype=np.uint8), "offset": ends}


def small(name: str, n: int = 60) -> Arrays:
    """The arrays of a small ``name``."""
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange((n + 1) // 2, dtype=np.int32), 2)[:n]
    if name == "utkface":
        return jpeg(pictures(n, 24)) | {
            "age": rng.integers(1, 110, n).astype(np.uint8),
            "gender": rng.integers(0, 2, n).astype(np.uint8),
            "race": rng.integers(0, 5, n).astype(np.uint8),
            "races": np.array(RACES),
            "group": group,
        }
    if name == "celeba_sub":
        return jpeg(pictures(n, 24)) | {
            "identity": rng.integers(0, 299, n).astype(np.int32),
            "attr": rng.integers(0, 2, (n, 40)).astype(np.uint8),
            "attr_names": np.array(CELEBA_NAMES),
            "part": (np.arange(n) >= n * 0.8).astype(np.uint8) * 2,
            "group": group,
        }
    if name == "lfw":
        return jpeg(pictures(n, 24)) | {
            "identity": rng.integers(0, 5747, n).astype(np.int32),
            "gender": rng.integers(-1, 2, n).astype(np.int8),
            "group": group,
        }
    if name == "cifar10":
        return jpeg(pictures(n, 32)) | {
            "label": (np.arange(n) % 10).astype(np.uint8),
            "test": np.arange(n) >= n * 0.8,
            "classes": np.array(CIFAR10_OBJECTS),
        }
    grey: Arrays = {
        "x_train": rng.integers(0, 256, (n, 28, 28), dtype=np.uint8),
        "y_train": (np.arange(n) % 10).astype(np.uint8),
        "x_test": rng.integers(0, 256, (20, 28, 28), dtype=np.uint8),
        "y_test": (np.arange(20) % 10).astype(np.uint8),
    }
    return grey | ({"classes": np.array(FASHION_ITEMS)} if name == "fashion_mnist" else {})


def pack(root: Path, name: str, arrays: Arrays) -> Path:
    """Write ``root/name/name.npz``."""
    path = root / name / f"{name}.npz"
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(path, allow_pickle=True, **arrays)
    return path
