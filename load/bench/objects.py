"""Chunks of a probe in a store: written one by one, read, packed, and read again.

    python -m leakrange.load.bench.objects --chunks 4000 /data/somewhere s3://BUCKET/PREFIX

For each place it prints chunks and megabytes a second: of one worker that stores chunk after chunk, of eight
that do so at once, of a fit that reads all from single objects, of packing them, and of a fit that reads them
from packs. What it stored it removes. AWS' usual variables say where S3 is.
"""

from __future__ import annotations

import argparse
import secrets
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import numpy as np

from leakrange.load.bench.harness import machine
from leakrange.store.files import FolderStore, ObjectStore, joined, put_array
from leakrange.store.packs import PACKS
from leakrange.store.places import store_at

__all__ = ["main", "measure"]

AT_ONCE = 8
PACKAGES = ("numpy", "obstore")


def fresh(store: ObjectStore) -> ObjectStore:
    """The same store, as a process sees it that has read nothing yet."""
    if isinstance(store, FolderStore):
        return FolderStore(store.root)
    from leakrange.store.buckets import BucketStore

    assert isinstance(store, BucketStore)
    return BucketStore(store.bucket, store.prefix)


def measure(store: ObjectStore, chunks: int, rows: int, columns: int) -> dict[str, float]:
    """Seconds for ``chunks`` arrays of float32 (rows, columns), by what was done with all of them."""
    answers = np.random.default_rng(0).random((rows, columns), dtype=np.float32)
    identities = [secrets.token_hex(32) for _ in range(chunks)]
    others = [secrets.token_hex(32) for _ in range(chunks)]
    seconds = {}

    def took(what: str, since: float) -> None:
        seconds[what] = time.perf_counter() - since

    begun = time.perf_counter()
    for identity in identities:
        put_array(store, f"{identity}.npy", answers)
    took("stored by one worker", begun)
    with ThreadPoolExecutor(AT_ONCE) as workers:
        begun = time.perf_counter()
        list(workers.map(lambda identity: put_array(store, f"{identity}.npy", answers), others))
        took(f"stored by {AT_ONCE} at once", begun)
    begun = time.perf_counter()
    joined(fresh(store), [[identity] for identity in identities])
    took("read singly", begun)
    begun = time.perf_counter()
    assert store.pack(identities) == chunks
    took("packed", begun)
    begun = time.perf_counter()
    read = joined(fresh(store), [[identity] for identity in identities])
    took("read from packs", begun)
    assert read.shape == (chunks * rows, columns)
    store.remove(f"{identity}.npy" for identity in others)
    store.remove(store.names(PACKS))
    return seconds


def main() -> None:
    """Measure each place, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("places", nargs="+", metavar="PLACE", help="a folder, or s3://BUCKET/PREFIX")
    parser.add_argument("--chunks", type=int, default=4000)
    parser.add_argument("--rows", type=int, default=64, help="samples in a chunk (default 64)")
    parser.add_argument("--columns", type=int, default=2, help="numbers a sample (default 2)")
    parser.add_argument("--rounds", type=int, default=3, help="the median of so many is printed")
    options = parser.parse_args()
    megabytes = options.chunks * options.rows * options.columns * 4 / 1e6
    with ExitStack() as stack:
        stack.enter_context(machine(*PACKAGES))
        for place in options.places:
            rounds = [
                measure(store_at(place), options.chunks, options.rows, options.columns)
                for _ in range(options.rounds)
            ]
            print(place)
            for what in rounds[0]:
                seconds = float(np.median([each[what] for each in rounds]))
                rate = f"{options.chunks / seconds:>9,.0f} chunks/s {megabytes / seconds:>8.1f} MB/s"
                print(f"  {what:<22} {rate}")


if __name__ == "__main__":
    main()
