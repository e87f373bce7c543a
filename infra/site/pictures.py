"""Takes the pictures of README and documentation: pages and report of a real run on drawn faces and digits.

    python infra/site/pictures.py --state DIR [--run RUN]

stands up a range in DIR on free ports, runs `scenarios/demo.yaml` (or shows RUN, which that range has), takes
pictures with the system's Chromium into `docs/pictures`, and puts the range down. They are WebP files of less
than 200 kB, in the light theme. The scenario shows nobody.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).parents[2]
PICTURES = ROOT / "docs" / "pictures"
COMMAND = Path(sys.executable).parent / "leakrange"
MOST_BYTES = 200_000
WIDTH, HEIGHT = 1280, 900


def main() -> None:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--state", type=Path, required=True, help="folder of the range")
    parser.add_argument("--run", help="show this run of it, and run nothing")
    given = parser.parse_args()
    _leakrange("up", "--detach", "--ports", "0", state=given.state)
    try:
        if given.run is None:
            _leakrange("run", str(ROOT / "scenarios" / "demo.yaml"), state=given.state)
        run = given.run or json.loads(_leakrange("runs", "--json", state=given.state))[0]["id"]
        report = given.state.absolute() / "report.html"
        _leakrange("report", run, "--out", str(report), state=given.state)
        record: dict[str, Any] = json.loads((given.state / "range.json").read_text())
        [controller] = [each["port"] for each in record["parties"] if each["name"] == "controller"]
        _take(f"http://127.0.0.1:{controller}", run, report)
    finally:
        _leakrange("down", state=given.state)


def _leakrange(*words: str, state: Path) -> str:
    command = [str(COMMAND), *words, "--state", str(state)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout


def _take(controller: str, run: str, report: Path) -> None:
    PICTURES.mkdir(exist_ok=True)
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=arguments)
        tab = browser.new_page(
            viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light", reduced_motion="reduce"
        )
        for name, address, place, drawn in (
            ("run", f"{controller}/runs/{run}", "#map-title", "svg"),
            ("board", f"{controller}/runs/{run}/board", "#plane-title", "#plane .drawing[data-drawn] svg"),
            (
                "report",
                f"{report.as_uri()}#reconstructions",
                "#reconstructions-title",
                "#reconstructions svg",
            ),
        ):
            tab.goto(address)
            tab.wait_for_timeout(1000)  # what is above has its height by then
            tab.locator(place).evaluate(
                "it => window.scrollTo(0, it.getBoundingClientRect().top + scrollY - 72)"
            )
            tab.locator(drawn).first.wait_for()
            _keep(tab, name)
        _victim(tab, f"{controller}/victim/{run}?data=faces")
        browser.close()


def _victim(tab: Page, address: str) -> None:
    """The victim's page, after a drawn face was released."""
    tab.goto(address)
    tab.locator(".sample").nth(1).click()
    tab.locator("#told-title").wait_for(timeout=120_000)
    tab.locator(".told").evaluate("it => window.scrollTo(0, it.getBoundingClientRect().top + scrollY - 72)")
    _keep(tab, "victim")


def _keep(tab: Page, name: str) -> None:
    """The window as a picture that is small enough."""
    tab.wait_for_timeout(2000)  # charts are drawn by then
    shot = Image.open(io.BytesIO(tab.screenshot()))
    for quality in range(90, 20, -10):
        kept = io.BytesIO()
        shot.save(kept, "WEBP", quality=quality, method=6)
        if kept.tell() < MOST_BYTES:
            break
    (PICTURES / f"{name}.webp").write_bytes(kept.getvalue())


if __name__ == "__main__":
    main()
