"""What was measured beside what is simulated.

From a measurement by `leakrange.load.bench.path` four cases make costs: with an exact budget a lone
connection and 64 of them that ask for single samples, with a leased one 64, and a lone connection that asks
for batches of 256. The other cases are predicted. ``recorded.yaml`` has figures that were measured before, on
a quiet machine, and which of them ``costs.yaml`` was made from.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final, Literal

import yaml
from pydantic import Field

from leakrange.load.simulate.costs import Cost, Costs, read
from leakrange.load.simulate.model import simulate
from leakrange.load.simulate.sizes import PoolSizes, Simulated, SimulatedLoad
from leakrange.strict import Strict
from leakrange.wire.errors import InvalidInput

__all__ = [
    "MEASURED",
    "MeasuredMachine",
    "Reproduction",
    "calibrated",
    "predicted",
    "read_measured",
    "recorded",
]

MEASURED = Path(__file__).with_name("measured.json")
RECORDED = Path(__file__).with_name("recorded.yaml")
IMAGE: Final = 0.012288
"""Megabytes of a 64 x 64 colour image."""
PARTIES: Final = ("client", "proxy", "redis", "provider")
PARTS: Final = {"proxy cpu": "proxies", "provider cpu": "providers"}
"""The part of each figure of CPU time."""
QUIET: Final = 0.2
"""The cores that other programs may have had where answers a second and waits are compared."""
MAKES: Final = ((1, 1, "exact"), (1, 64, "exact"), (1, 64, "leased"), (256, 1, "exact"))
HINT: Final = "what python -m leakrange.load.bench.path prints is complete"
Positive = Annotated[float, Field(gt=0, le=1e9, allow_inf_nan=False)]


class ByParty(Strict):
    """A figure of each party."""

    client: Positive
    proxy: Positive
    redis: Positive
    provider: Positive


class MeasuredCase(Strict):
    """One case: requests a second, waits in ms, the cores that other programs had, and by party ms of CPU
    time a request."""

    samples: Annotated[int, Field(ge=1, le=65_536)]
    connections: Annotated[int, Field(ge=1, le=10_000)]
    counting: Literal["exact", "leased"]
    rate: Positive
    p50: Positive
    p99: Positive
    others: Annotated[float, Field(ge=0, le=1e6)]
    cpu: ByParty


class MeasuredMachine(Strict):
    """What `leakrange.load.bench.path` prints: the machine, ms of passes by their size, and the cases."""

    machine: str
    passes: dict[int, Positive]
    cases: list[MeasuredCase]

    def case(self, *key: int | str) -> MeasuredCase:
        """The case of so many samples and connections, and of a counting. Raises `InvalidInput`."""
        for case in self.cases:
            if (case.samples, case.connections, case.counting) == key:
                return case
        raise InvalidInput(f"nothing was measured for {key}", hint=HINT)


def read_measured(path: Path = MEASURED) -> MeasuredMachine:
    """Read what was measured. Raises `InvalidInput`."""
    return read(path, MeasuredMachine, HINT)


def calibrated(measured: MeasuredMachine, costs: Costs) -> Costs:
    """Costs from four of the cases; those of the fleet, and the variation, are left as they are. A cost that
    noise would make negative is 0. Raises `InvalidInput` where one of these was not measured."""
    lone, many, leased, long = (measured.case(*key) for key in MAKES)
    if not {1, 16} <= set(measured.passes):
        raise InvalidInput("passes of 1 and of 16 were not measured", hint=HINT)
    sample = (measured.passes[16] - measured.passes[1]) / 15
    each_pass = measured.passes[1] - sample
    values = {"sample": sample, "each_pass": each_pass}
    for party in PARTIES:
        net = [0.0, 0.0, 0.0]  # of a lone request, of one of many, of a long one
        if party == "provider":
            net = [sample + each_pass, sample + each_pass / 16, 256 * sample + 16 * each_pass]
        one, crowd, large = (
            getattr(case.cpu, party) - of_net for case, of_net in zip((lone, many, long), net, strict=True)
        )
        megabyte = 0.0 if party == "redis" else max(0.0, (large - one) / (255 * IMAGE))
        values |= {f"{party}_megabyte": megabyte} if party != "redis" else {}
        values[f"{party}_request"] = crowd - megabyte * IMAGE
        values[f"{party}_wake"] = (one - crowd) / (3 if party == "proxy" else 1)
    values["redis_script"] = values.pop("redis_request")
    values["proxy_exact"] = values.pop("proxy_request")
    values["proxy_leased"] = leased.cpu.proxy - values["proxy_megabyte"] * IMAGE
    how = {"how": "four cases of a measurement", "command": "python -m leakrange.load.bench.path"}
    named = {
        name: Cost(value=max(0.0, value), what=getattr(costs, name).what, **how)
        for name, value in values.items()
    }
    return costs.model_copy(update={"machine": measured.machine, **named})


@dataclass(frozen=True)
class Reproduction:
    """A figure (rate, p50, p99, or the CPU time of a party) of a case; ``makes``: the costs are made from
    it."""

    what: str
    figure: str
    measured: float
    simulated: float
    makes: bool

    @property
    def difference(self) -> float:
        """Of the simulated to the measured figure, as a part of it."""
        return self.simulated / self.measured - 1


def predicted(measured: MeasuredMachine, costs: Costs) -> list[Reproduction]:
    """All cases of a measurement, simulated with costs that four of them make. Answers a second and waits
    are left out where other programs had the cores."""
    mine = calibrated(measured, costs)
    rows: list[Reproduction] = []
    for case in measured.cases:
        key = (case.samples, case.connections, case.counting)
        load = SimulatedLoad(
            clients=case.connections,
            samples=case.samples,
            counting=case.counting,
            machines=((2, frozenset(PARTIES)),),
            requests=1000 if case.samples == 1 else 100,
        )
        result = simulate(mine, PoolSizes(), load)
        wanted = {"proxy cpu": case.cpu.proxy, "provider cpu": case.cpu.provider}
        if case.others <= QUIET:
            wanted |= {"rate": case.rate, "p50": case.p50, "p99": case.p99}
        makes = {"proxy cpu"} if case.counting == "leased" else {"proxy cpu", "provider cpu"}
        what = f"{case.connections} at once, {case.samples} a request, {case.counting}"
        rows += _compared(what, wanted, result, makes if key in MAKES else set())
    return rows


def _compared(
    what: str, figures: dict[str, float], result: Simulated, makes: set[str]
) -> Iterator[Reproduction]:
    cpu = {party: 1e3 * result.cpu.get(part, 0.0) for party, part in PARTS.items()}
    simulated = {"rate": result.rate, "p50": result.p50, "p99": result.p99, **cpu}
    for figure, value in figures.items():
        yield Reproduction(what, figure, value, simulated[figure], figure in makes)


def recorded(costs: Costs) -> list[Reproduction]:
    """The figures of ``recorded.yaml``, simulated with ``costs``."""
    rows: list[Reproduction] = []
    for point in yaml.safe_load(RECORDED.read_text(encoding="utf-8")):
        result = simulate(costs, PoolSizes(**point["sizes"]), SimulatedLoad(requests=1500, **point["load"]))
        rows += _compared(point["what"], point["figures"], result, set(point["makes"]))
    return rows
