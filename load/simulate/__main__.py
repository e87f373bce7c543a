"""What a range of a given size would answer, and which of its parts is full: a simulation.

    python -m leakrange.load.simulate --proxies 3 --providers 8 --clients 64 --samples 64

Simulated are clients (or the fleet), network, proxies, Redis and replicas of a provider, with the CPU times
that were measured for each of them (``load/simulate/costs.yaml``, or a file of your own: ``--costs``).
``busy`` is the share of its time in which a part works; ``used`` the share of what it could do at most. They
differ where processes are woken for every request, and where replicas take few samples at once: both cost
less when more comes.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, Final

from leakrange.load.simulate.calibration import calibrated, read_measured
from leakrange.load.simulate.costs import COSTS, read_costs
from leakrange.load.simulate.model import simulate
from leakrange.load.simulate.page import compared, rewritten, shown
from leakrange.load.simulate.sizes import PoolSizes, SimulatedLoad
from leakrange.wire.errors import LeakrangeError

__all__ = ["main"]

OPTIONS: Final[dict[str, tuple[type, str]]] = {
    "proxies": (int, "processes of the proxy; 0: the provider is asked directly"),
    "masters": (int, "Redis servers that budgets are shared out over"),
    "providers": (int, "replicas of the provider"),
    "controllers": (int, "controllers, for --fleet"),
    "nodes": (int, "machines of the proxies, whose network is simulated; 0: it costs nothing"),
    "gigabits": (float, "Gbit/s of a node, in and out"),
    "clients": (int, "connections that ask on and on; with --fleet, processes of workers"),
    "rate": (float, "in place of clients: requests a second that come at random"),
    "samples": (int, "samples of a request"),
    "bytes": (int, "bytes of a sample; 12288 are a 64 x 64 colour image"),
    "cap": (int, "samples that a replica takes at once"),
    "outage": (float, "seconds for which what --failing names is dead; told are twice as many"),
    "requests": (int, "requests that are simulated"),
    "part": (int, "simulate one part in so many of large pools"),
    "seed": (int, "of what comes by chance"),
}
"""The fields of `PoolSizes` and `SimulatedLoad` that are numbers."""
PARTIES: Final = frozenset({"client", "proxy", "redis", "provider"})


def parser() -> argparse.ArgumentParser:
    """The options, each with its default."""
    asked = argparse.ArgumentParser(
        "python -m leakrange.load.simulate",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    defaults = asdict(PoolSizes()) | asdict(SimulatedLoad())
    for name, (kind, meaning) in OPTIONS.items():
        default = defaults[name]
        asked.add_argument(f"--{name}", type=kind, default=default, help=f"{meaning} (default {default})")
    add = asked.add_argument
    add("--fleet", action="store_true", help="workers ask, which controllers send chunks")
    add("--counting", choices=("exact", "leased"), default="exact", help="of budgets (default exact)")
    add("--failing", choices=("redis", "provider"), help="Redis, or one replica, dies")
    add("--cores", type=int, help="all parties and the client share one machine of so many cores")
    add("--costs", type=Path, default=COSTS, help="a file of what was measured (default: ours)")
    add("--measured", type=Path, help="costs from what python -m leakrange.load.bench.path printed")
    add("--json", action="store_true", help="print the figures as JSON")
    add("--compare", action="store_true", help="show what was measured beside what is simulated")
    add("--page", type=Path, metavar="FILE", help="write the tables of docs/scale.md anew")
    return asked


def answer(options: argparse.Namespace) -> str:
    """What is printed. Raises `LeakrangeError` and `OSError`."""
    costs = read_costs(options.costs)
    measured = read_measured(options.measured) if options.measured else None
    if options.compare:
        return compared(costs, measured)
    if options.page:
        text = rewritten(options.page.read_text(encoding="utf-8"), costs)
        options.page.write_text(text, encoding="utf-8")
        return f"the tables of {options.page} are written"
    given: dict[str, Any] = vars(options) | {"machines": ()}
    if options.cores is not None:
        given["machines"] = ((options.cores, PARTIES),)
    sizes = PoolSizes(**{each.name: given[each.name] for each in fields(PoolSizes)})
    load = SimulatedLoad(**{each.name: given[each.name] for each in fields(SimulatedLoad)})
    result = simulate(calibrated(measured, costs) if measured else costs, sizes, load)
    return json.dumps(asdict(result), indent=1) if options.json else shown(sizes, result)


def main() -> None:
    """Simulate and print."""
    asked = parser()
    options = asked.parse_args()
    try:
        print(answer(options))
    except LeakrangeError as error:
        asked.exit(2, f"{error.detail}\n{error.hint}\n")
    except OSError as error:
        asked.exit(2, f"{error.filename}: {error.strerror}\n")


if __name__ == "__main__":
    main()
