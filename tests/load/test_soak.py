import json
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from leakrange.load.soak.processes import ProcessUse, look
from leakrange.load.soak.verdict import Growth, Soak, growth, mistakes

IDLE = {"proxy": ProcessUse(90.0, 46, 35), "provider": ProcessUse(300.0, 33, 19)}


def seen(proxy: np.ndarray) -> Soak:
    """A soak in which all is well, but for the memory of the proxy."""
    samples = [
        (float(at), {"proxy": ProcessUse(value, 60, 49), "provider": ProcessUse(300.0, 50, 36)})
        for at, value in enumerate(proxy)
    ]
    return Soak(467.0, 327.0, before=IDLE, after=IDLE, samples=samples, answered=1200)


def noise(count: int) -> np.ndarray:
    return np.random.default_rng(3).normal(0, 0.3, count)


def test_memory_that_only_fills_caches_at_first_is_flat() -> None:
    filled = np.concatenate([np.linspace(60, 90, 50), np.full(150, 90.0)]) + noise(200)
    assert mistakes(seen(filled)) == []


@pytest.mark.parametrize("leak", [9.0, 40.0])
def test_memory_that_climbs_is_told(leak: float) -> None:
    (mistake,) = mistakes(seen(90 + np.linspace(0, leak, 200) + noise(200)))
    assert mistake.startswith("proxy grew from")


def test_growth_compares_quarters_and_fits_a_line() -> None:
    seconds, memory = np.arange(80) * 3.0, 200 + np.arange(80) * 0.1
    found = growth(list(seconds), list(memory))
    assert found.first == pytest.approx(200 + 29.5 * 0.1)
    assert found.last == pytest.approx(200 + 69.5 * 0.1)
    assert found.slope == pytest.approx(59 * 0.1)
    assert found.allowed == pytest.approx(0.03 * found.first)
    assert found.flat
    with pytest.raises(ValueError, match="eight"):
        growth([0.0] * 7, [1.0] * 7)


@pytest.mark.parametrize(
    ("last", "slope", "flat"), [(94.0, 4.0, True), (100.0, 0.0, False), (90.0, 9.0, False)]
)
def test_neither_the_quarters_nor_the_line_may_grow(last: float, slope: float, flat: bool) -> None:
    assert Growth(first=90.0, last=last, slope=slope, allowed=4.0).flat == flat


def test_failures_lost_processes_and_open_connections_are_told() -> None:
    flat = 90 + noise(40)
    soak = seen(flat)
    soak.answered, soak.failures = 0, {"HTTP 502: bad gateway": 2}
    soak.after = {"proxy": replace(IDLE["proxy"], sockets=37)}
    assert mistakes(soak) == [
        "2 requests failed: HTTP 502: bad gateway",
        "no request was answered",
        "proxy had 35 open sockets before and has 37 after",
        "provider ended",
    ]


def test_processes_are_read_with_those_that_they_start() -> None:
    opens = "import socket; kept = [socket.socket() for _ in range(7)]; held = bytearray(b'x') * (40 << 20)"
    child = f"{opens}; print(flush=True); input()"
    parent = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])"
    with subprocess.Popen(
        [sys.executable, "-c", parent], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdout.readline()
        found = look({"one": process.pid})
        process.stdin.close()
    ((name, inner),) = [(name, each) for name, each in found.items() if name != "one"]
    assert name.startswith("one/")
    assert inner.sockets == 7
    assert inner.files >= 10
    assert inner.memory > 40
    assert found["one"].sockets == 0
    with pytest.raises(ProcessLookupError):
        look({"one": process.pid})


def test_a_soak_of_seconds_holds_its_share_and_leaves_nothing_open() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "leakrange.load.soak", "--minutes", "0.06", "--share", "0.5", "--json"],
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout)
    assert found["mistakes"] == []
    assert set(found["processes"]) >= {"redis", "provider", "proxy"}
    assert found["rate"] == pytest.approx(0.5 * found["limit"])
    assert 10 < found["answered"] <= 3.6 * found["rate"] + 1
