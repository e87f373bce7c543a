"""The simulator against cases that a pencil can do, against what was measured, and against nonsense."""

from __future__ import annotations

import json
import math
import random
import re
import subprocess
import sys
from collections.abc import Generator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import simpy
import yaml
from hypothesis import given
from hypothesis import strategies as st

from leakrange.load.simulate.calibration import calibrated, predicted, read_measured, recorded
from leakrange.load.simulate.costs import COSTS, Costs, read_costs
from leakrange.load.simulate.model import SimulatedProcess, simulate
from leakrange.load.simulate.page import BLOCK, BLOCKS, rewritten, shown
from leakrange.load.simulate.sizes import PoolSizes, SimulatedLoad, demands
from leakrange.wire.errors import InvalidInput
from tests.docs.blocks import ROOT

OURS = read_costs()
SLOW = ("needed", "grown")
"""Blocks of the page that take some seconds."""


def costs(**ms: float) -> Costs:
    """Costs of nothing but these."""
    names = [name for name in Costs.model_fields if name != "machine"]
    told = {"what": "w", "how": "h", "command": "c"}
    return Costs.model_validate(
        {"machine": "a pencil", **{name: {"value": ms.get(name, 0.0), **told} for name in names}}
    )


@pytest.mark.parametrize("variation", [0.0, 0.8])
def test_the_wait_in_one_queue_is_that_of_pollaczek_and_khinchine(variation: float) -> None:
    """Poisson arrivals, 70 % busy: rho s (1 + c^2) / (2 (1 - rho)), and s for the service itself."""
    env, draw, waits = simpy.Environment(), random.Random(1), list[float]()
    server, service, busy = SimulatedProcess(env, draw, variation), 0.01, 0.7

    def visit() -> Generator[simpy.Event, Any, None]:
        began = env.now
        yield from server.do(service)
        waits.append(env.now - began)

    def arrivals() -> Generator[simpy.Event, Any, None]:
        for _ in range(60_000):
            yield env.timeout(draw.expovariate(busy / service))
            env.process(visit())

    env.process(arrivals())
    env.run()
    expected = service + busy * service * (1 + variation**2) / (2 * (1 - busy))
    assert np.mean(waits) == pytest.approx(expected, rel=0.05)
    assert server.spent / env.now == pytest.approx(busy, rel=0.02)


TWO = costs(proxy_exact=3.0, provider_request=5.0)


@pytest.mark.parametrize(("clients", "a_second"), [(1, 1 / 0.008), (60, 1 / 0.005)])
def test_a_closed_loop_reaches_its_asymptotes(clients: int, a_second: float) -> None:
    """One client: 1 / R. Many: 1 / the largest demand. Never more than either."""
    result = simulate(TWO, PoolSizes(), SimulatedLoad(clients=clients, requests=1000))
    assert result.rate == pytest.approx(a_second, rel=0.02)
    assert result.limit == ("providers" if clients > 1 else None)


def test_between_its_asymptotes_a_closed_loop_is_below_both() -> None:
    for clients in (2, 3, 5):
        result = simulate(OURS, PoolSizes(), SimulatedLoad(clients=clients, requests=1000))
        lone = simulate(OURS, PoolSizes(), SimulatedLoad(clients=1, requests=500))
        most = 1 / max(demands(OURS, SimulatedLoad()).values())
        assert result.rate < min(clients * lone.rate, most) * 1.01


def test_no_request_is_lost_or_made_also_where_a_replica_dies() -> None:
    """Of two full replicas one is dead for half of the time that is told of: three quarters are answered. The
    wait is what Little's law says of all clients, so that none of them is missing."""
    load = SimulatedLoad(clients=40, requests=2000, outage=2.0)
    whole = simulate(TWO, PoolSizes(proxies=4, providers=2), load)
    half = simulate(TWO, PoolSizes(proxies=4, providers=2), replace(load, failing="provider"))
    assert whole.rate == pytest.approx(400, rel=0.02)
    assert half.rate == pytest.approx(300, rel=0.05)
    assert half.refused == 0
    few = [replace(load, clients=2, failing="provider", seed=seed) for seed in range(8)]
    rates = [simulate(TWO, PoolSizes(proxies=2, providers=2), each).rate for each in few]
    assert min(rates) > 1.2 * 125  # one client alone gets 125
    assert whole.p50 * whole.rate / 1e3 == pytest.approx(40, rel=0.1)


@pytest.mark.parametrize(
    ("counting", "outage", "refused"), [("exact", 2.0, 2.0), ("leased", 2.0, 1.0), ("leased", 0.9, 0.0)]
)
def test_while_redis_is_dead_exact_requests_are_refused_and_leased_ones_after_a_second(
    counting: str, outage: float, refused: float
) -> None:
    load = SimulatedLoad(rate=100.0, counting=counting, requests=400, failing="redis", outage=outage)
    result = simulate(TWO, PoolSizes(providers=4), load)
    assert result.refused == pytest.approx(100 * refused, rel=0.2, abs=1)


def test_a_process_that_slept_is_woken() -> None:
    """A lone request with an exact budget wakes the proxy three times, with a leased one twice."""
    each = {"redis_script": 2.0, "provider_request": 5.0, "client_request": 1.0}
    woken = costs(proxy_exact=3.0, proxy_leased=4.0, proxy_wake=0.5, **each)
    waits = [
        simulate(woken, PoolSizes(), SimulatedLoad(clients=1, requests=50, counting=counting)).p50
        for counting in ("exact", "leased")
    ]
    assert waits == pytest.approx([3 + 3 * 0.5 + 2 + 5 + 1, 4 + 2 * 0.5 + 5 + 1])


def test_a_replica_takes_what_waits_and_long_requests_take_turns() -> None:
    net = costs(sample=1.0, each_pass=8.0)
    alone = simulate(net, PoolSizes(), SimulatedLoad(clients=1, requests=50))
    crowd = simulate(net, PoolSizes(), SimulatedLoad(clients=32, requests=800))
    assert (alone.rate, crowd.rate) == pytest.approx((1000 / 9, 16 * 1000 / 24), rel=0.03)
    long = simulate(net, PoolSizes(), SimulatedLoad(clients=3, samples=64, requests=60))
    assert long.p50 == pytest.approx(3 * 4 * 24, rel=0.05)


@pytest.mark.parametrize(("cores", "a_second"), [(1, 125.0), (2, 200.0)])
def test_processes_share_the_cores_of_their_machine(cores: int, a_second: float) -> None:
    """Proxy and provider together take 8 ms of one core; with two, the provider's 5 ms are the limit."""
    shared = ((cores, frozenset({"client", "proxy", "redis", "provider"})),)
    result = simulate(TWO, PoolSizes(), SimulatedLoad(clients=30, requests=600, machines=shared))
    assert result.rate == pytest.approx(a_second, rel=0.03)


def test_the_network_and_the_controller_of_a_fleet_are_limits() -> None:
    body = SimulatedLoad(clients=50, samples=100, bytes=10_000, requests=400)  # 1 MB
    wire = simulate(costs(provider_request=0.1), PoolSizes(nodes=1, gigabits=0.8), body)
    assert (wire.limit, wire.rate) == ("network", pytest.approx(100, rel=0.02))
    chunks = costs(controller_chunk=4.0, worker_chunk=5.9, provider_request=0.1)
    fleet = simulate(chunks, PoolSizes(controllers=2), replace(body, fleet=True))
    assert (fleet.limit, fleet.rate) == ("controllers", pytest.approx(500, rel=0.02))
    lone = simulate(chunks, PoolSizes(), replace(body, fleet=True, clients=1))
    assert lone.rate == pytest.approx(100, rel=0.02)


def test_a_part_of_large_pools_tells_the_same_as_the_whole_but_for_its_tail() -> None:
    """Few proxies spread their requests over few replicas more evenly, so that waits are shorter."""
    sizes, load = (
        PoolSizes(proxies=24, masters=4, providers=60),
        SimulatedLoad(rate=100_000.0, requests=12_000),
    )
    whole, part = simulate(OURS, sizes, load), simulate(OURS, sizes, replace(load, part=4, requests=6000))
    assert part.rate == pytest.approx(whole.rate, rel=0.05)
    assert part.busy == pytest.approx(whole.busy, rel=0.07)
    assert part.p50 == pytest.approx(whole.p50, rel=0.2)
    assert 0.5 * whole.p99 < part.p99 < 1.1 * whole.p99


def test_what_was_predicted_is_as_near_to_what_was_measured_as_the_page_says() -> None:
    """Throughput and median wait of a quiet machine, but for three cases, which the page names; tails of
    batches."""
    rows = [each for each in [*recorded(OURS), *predicted(read_measured(), OURS)] if not each.makes]
    missed = {(each.what, each.figure) for each in rows if abs(each.difference) > 0.15}
    assert len(rows) >= 70
    named = {
        f"{case}, 1 a request, {kind}"
        for case, kind in (("4 at once", "exact"), ("4 at once", "leased"), ("16 at once", "exact"))
    }
    for figure in ("rate", "p50"):
        assert {what for what, each in missed if each == figure} == named
    assert not [
        what for what, figure in missed if figure == "p99" and re.search(", (64|256) a request, exact", what)
    ]
    assert max(abs(each.difference) for each in rows if each.figure.endswith("cpu")) < 0.26


def test_costs_are_made_from_four_cases_of_a_measurement() -> None:
    measured = read_measured()
    mine = calibrated(measured, OURS)
    lone, crowd = measured.case(1, 1, "exact"), measured.case(1, 64, "exact")
    assert mine.proxy_wake.value == pytest.approx((lone.cpu.proxy - crowd.cpu.proxy) / 3)
    assert mine.sample.value + mine.each_pass.value == pytest.approx(measured.passes[1])
    assert mine.controller_chunk == OURS.controller_chunk
    fewer = measured.model_copy(update={"cases": measured.cases[1:]})
    with pytest.raises(InvalidInput, match="nothing was measured"):
        calibrated(fewer, OURS)


@pytest.mark.parametrize(
    "name", [pytest.param(each, marks=[pytest.mark.slow] if each in SLOW else []) for each in BLOCKS]
)
def test_the_page_is_what_the_command_writes(name: str) -> None:
    text = (ROOT / "docs" / "scale.md").read_text()
    [block] = [each for each in BLOCK.finditer(text) if each[2] == name]
    assert rewritten(block[0], OURS) == block[0]


@given(st.text() | st.binary().map(repr))
def test_a_file_that_is_none_of_costs_is_refused(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    path = tmp_path_factory.getbasetemp() / "costs.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidInput) as refused:
        read_costs(path)
    assert refused.value.hint


@pytest.mark.parametrize("value", [math.nan, math.inf, -1, "much", None, 1e300])
def test_a_cost_is_a_number_of_ms_and_says_how_it_was_measured(tmp_path: Path, value: Any) -> None:
    fields = yaml.safe_load(COSTS.read_text())
    fields["sample"]["value"] = value
    del fields["proxy_wake"]["how"]
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(fields))
    with pytest.raises(InvalidInput, match=r"(?s)proxy_wake\.how: .*sample\.value: "):
        read_costs(tmp_path / "mine.yaml")


def run(*options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "leakrange.load.simulate", *options]
    return subprocess.run(command, capture_output=True, text=True)


def test_the_command_prints_a_table_or_json() -> None:
    done = run("--proxies", "3", "--providers", "8", "--samples", "64", "--requests", "300", "--json")
    figures = json.loads(done.stdout)
    assert figures["samples"] == pytest.approx(64 * figures["rate"])
    assert figures["limit"] == "providers"
    text = shown(
        PoolSizes(proxies=3), simulate(TWO, PoolSizes(proxies=3), SimulatedLoad(clients=1, requests=100))
    )
    assert "proxies" in text.splitlines()[1]
    assert "no part is full" in text


def test_nonsense_is_refused_all_at_once_without_a_traceback(tmp_path: Path) -> None:
    done = run(
        "--proxies",
        "-3",
        "--rate",
        "nan",
        "--clients",
        "0",
        "--failing",
        "provider",
        "--part",
        "7",
        "--cores",
        "0",
    )
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    for part in (
        "proxies is -3",
        "rate is nan",
        "clients is 0",
        "give two or more",
        "cores are 0",
        "1 part of 7",
    ):
        assert part in done.stderr
    assert "providers (1): at most 2," in run("--rate", "1e9").stderr
    with pytest.raises(InvalidInput, match="takes time"):
        simulate(costs(), PoolSizes(), SimulatedLoad())
    (tmp_path / "page.md").write_text("# A page\n")
    assert "blocks none" in run("--page", str(tmp_path / "page.md")).stderr
    with pytest.raises(InvalidInput, match="nobody"):
        rewritten("<!-- simulated: nobody -->\n<!-- end -->", OURS)
