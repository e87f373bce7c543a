"""The tables of docs/scale.md, from simulations of the recorded costs.

A block of the page that begins with ``<!-- simulated: NAME -->`` and ends with ``<!-- end -->`` is written by
``python -m leakrange.load.simulate --page docs/scale.md``; all else on the page is written by people.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Final

from leakrange.load.simulate.calibration import MeasuredMachine, predicted, read_measured, recorded
from leakrange.load.simulate.costs import Costs
from leakrange.load.simulate.model import simulate
from leakrange.load.simulate.sizes import POOLS, PoolSizes, Simulated, SimulatedLoad, demands
from leakrange.wire.errors import InvalidInput

__all__ = ["BLOCK", "BLOCKS", "compared", "rewritten", "shown"]

BLOCK = re.compile(r"(<!-- simulated: ([\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)
TARGET = 1e6
"""Samples a second of the page."""
ROOM: Final = 0.8
"""The part of what a pool could do at most that it is given to do."""
LOADS: Final = {
    "single samples, exact": SimulatedLoad(requests=25_000, part=4),
    "single samples, leased": SimulatedLoad(requests=25_000, part=4, counting="leased"),
    "batches of 64": SimulatedLoad(samples=64, requests=8_000),
    "batches of 256": SimulatedLoad(samples=256, requests=8_000),
}
FLEET: Final = {
    "fleet, chunks of 64": SimulatedLoad(samples=64, requests=8_000, fleet=True),
    "fleet, chunks of 256": SimulatedLoad(samples=256, requests=8_000, fleet=True),
}
GROWN: Final = ("single samples, exact", "fleet, chunks of 64")
FACTOR: Final = 4
OUTAGE: Final = 2.0
FAILURES: Final = {None: "nothing fails", "provider": "one replica of ten", "redis": "Redis"}


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table in Markdown."""
    head = list(head)
    lines = [head, ["---"] * len(head), *map(list, rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def figure(value: float) -> str:
    """A number with two digits that count, or three from a hundred on."""
    digits = 3 if value >= 100 else 2
    return f"{float(f'{value:.{digits}g}'):,.10g}"


def shown(sizes: PoolSizes, result: Simulated) -> str:
    """A table of the parts, and what is answered, in sentences."""
    lines = [f"{'part':12} {'size':>6} {'busy':>7} {'used':>7}"]
    lines += [
        f"{part:12} {getattr(sizes, POOLS[part]):6} {busy:7.1%} {result.used[part]:7.1%}"
        for part, busy in result.busy.items()
    ]
    lines.append(f"{result.rate:,.0f} requests/s, {result.samples:,.0f} samples/s")
    lines.append(
        f"answered within {result.p50:.2f} ms (median), {result.p99:.2f} (99 %), {result.longest:.2f} (all)"
    )
    if result.refused:
        lines.append(f"{result.refused:,} requests were refused")
    full = f"{result.limit}: no more is answered without more of that part"
    lines.append(
        f"full is {full}" if result.limit else "no part is full: more clients would get more answers"
    )
    return "\n".join(lines)


def example(costs: Costs) -> str:
    """What the command of the page prints."""
    sizes, load = PoolSizes(proxies=3, providers=8), SimulatedLoad(samples=64)
    return f"```text\n{shown(sizes, simulate(costs, sizes, load))}\n```"


def measured_costs(costs: Costs) -> str:
    """What the simulator takes for measured: each cost, how it was, and by which command."""
    rows = (getattr(costs, name) for name in Costs.model_fields if name != "machine")
    return table(
        ("cost", "ms of CPU time", "how it was measured", "again by"),
        ((row.what, f"{row.value:g}", row.how, f"`{row.command}`") for row in rows),
    )


def enough(costs: Costs, load: SimulatedLoad, samples: float = TARGET) -> PoolSizes:
    """The smallest pools that are used to `ROOM` by so many samples a second, in whole multiples of the
    load's part."""
    rate = samples / load.samples

    def pool(used: float) -> int:
        return max(1, math.ceil(used / ROOM / load.part)) * load.part

    wanted = {POOLS[name]: pool(rate * seconds) for name, seconds in demands(costs, load).items()}
    return PoolSizes(**wanted, nodes=pool(samples * load.bytes * 8e-9 / PoolSizes().gigabits))


def needed(costs: Costs) -> str:
    """What a million samples a second need, and how fast they are answered."""
    rows: dict[str, list[str]] = {}

    def put(row: str, text: str) -> None:
        rows.setdefault(row, []).append(text)

    for load in (LOADS | FLEET).values():
        sizes = enough(costs, load)
        clients = 64
        if load.fleet:  # as many workers as reach the target, by Little's law, again and again
            for tried in (replace(load, requests=200), load, load):
                result = simulate(costs, sizes, replace(tried, clients=clients))
                clients = math.ceil(clients * TARGET / result.samples)
        asked = replace(load, clients=clients) if load.fleet else replace(load, rate=TARGET / load.samples)
        result = simulate(costs, sizes, asked)
        put("requests/s", figure(result.rate))
        put("samples/s", figure(result.samples))
        for part in POOLS:
            put(part, _cell(sizes, result.busy, part))
        put("processes of workers", f"{clients:,}" if load.fleet else "–")
        put("median wait, ms", figure(result.p50))
        put("99 % within, ms", figure(result.p99))
    return table(("", *LOADS, *FLEET), ([name, *cells] for name, cells in rows.items()))


def grown(costs: Costs) -> str:
    """Which part is full as a range grows: from one of each, what is full is multiplied by `FACTOR`, until a
    million samples a second. Each part is told of where it is full for the first time, and the last step."""
    rows = []
    for name in GROWN:
        load, sizes, seen = (LOADS | FLEET)[name], PoolSizes(nodes=1), set[str]()
        for _ in range(40):
            result = saturated(costs, sizes, load)
            full = max(result.used, key=lambda part: result.used[part])
            if full not in seen or result.samples >= TARGET:
                counts = (_cell(sizes, result.used, part) for part in POOLS)
                rows.append([name, figure(result.samples), *counts, full])
            if result.samples >= TARGET:
                break
            seen.add(full)
            sizes = replace(sizes, **{POOLS[full]: FACTOR * getattr(sizes, POOLS[full])})
    return table(("", "samples/s", *POOLS, "full is"), rows)


def _cell(sizes: PoolSizes, shares: dict[str, float], part: str) -> str:
    """How many there are of a part, and a share of it."""
    return f"{getattr(sizes, POOLS[part]):,}: {shares[part]:.0%}" if part in shares else "–"


def saturated(costs: Costs, sizes: PoolSizes, load: SimulatedLoad) -> Simulated:
    """The load with more clients than fill every replica; one part of as many as can be."""
    pools = (getattr(sizes, field) for field in POOLS.values() if load.fleet or field != "controllers")
    part = math.gcd(*pools)
    clients = (20 if load.samples == 1 else 4) * max(sizes.providers, part)
    requests = max(400, 10 * sizes.providers // part)
    return simulate(costs, sizes, replace(load, clients=clients, part=part, requests=requests))


def failing(costs: Costs) -> str:
    """What becomes of batches of 64, which come at random at `ROOM` of what ten replicas do, where one of
    them is dead, and where Redis fails over, for `OUTAGE` seconds."""
    rows = []
    for counting in ("exact", "leased"):
        load = replace(LOADS["batches of 64"], counting=counting, outage=OUTAGE)
        rate = ROOM * 10 / demands(costs, load)["providers"]
        sizes = enough(costs, load, rate * load.samples)
        for part, name in FAILURES.items():
            result = simulate(costs, sizes, replace(load, rate=rate, failing=part, requests=int(rate)))
            waits = (figure(each) for each in (result.p50, result.p99, result.longest))
            asked = 2 * OUTAGE * rate if part else rate
            rows.append([f"{counting}, {name}", *waits, f"{result.refused / asked:.0%}"])
    return table(("", "median wait, ms", "99 % within, ms", "longest, ms", "refused"), rows)


NEAR: Final = 0.15
"""The difference between measured and simulated figures that is allowed to a prediction, as a part."""
FIGURES: Final = {
    "rate": "requests/s",
    "p50": "median ms",
    "p99": "99 % ms",
    "proxy cpu": "proxy CPU ms",
    "provider cpu": "provider CPU ms",
}


def compared(costs: Costs, measured: MeasuredMachine | None = None) -> str:
    """Each measured figure and the simulated one; which were predicted, and how many of these are near."""
    measured = measured or read_measured()
    every = [*recorded(costs), *predicted(measured, costs)]
    rows = {each.what: dict.fromkeys(FIGURES, "–") for each in every}
    for each in every:
        text = f"{figure(each.measured)} → {figure(each.simulated)}, {each.difference:+.0%}"
        style = "*" if each.makes else "**" if abs(each.difference) > NEAR else ""
        rows[each.what][each.figure] = f"{style}{text}{style}"
    text = table(("", *FIGURES.values()), ([what, *cells.values()] for what, cells in rows.items()))
    counts = []
    for name, title in FIGURES.items():
        those = [each for each in every if each.figure == name and not each.makes]
        near = sum(abs(each.difference) <= NEAR for each in those)
        counts += [f"{near} of {len(those)} ({title})"] * bool(those)
    return f"Predicted within {NEAR:.0%}: {', '.join(counts)}.\n\n{text}"


BLOCKS: Final[dict[str, Callable[[Costs], str]]] = {
    "example": example,
    "costs": measured_costs,
    "compared": compared,
    "needed": needed,
    "grown": grown,
    "failing": failing,
}


def rewritten(page: str, costs: Costs) -> str:
    """The page with its blocks made anew. Raises `InvalidInput` where it has none, or one that nobody
    makes."""
    names = [match[2] for match in BLOCK.finditer(page)]
    if not names or set(names) - set(BLOCKS):
        raise InvalidInput(
            f"the page has the blocks {', '.join(names) or 'none'}; there are {', '.join(BLOCKS)}",
            hint="a block begins with '<!-- simulated: NAME -->' and ends with '<!-- end -->'",
        )
    return BLOCK.sub(lambda match: f"{match[1]}\n{BLOCKS[match[2]](costs)}\n\n{match[3]}", page)
