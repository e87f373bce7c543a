"""The system's Chromium, driven by Playwright."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pypdfium2
import pytest
from playwright.sync_api import Browser, expect, sync_playwright

__all__ = ["chromium", "needs_chromium"]

_FOUND = shutil.which("chromium")
needs_chromium = pytest.mark.skipif(
    _FOUND is None, reason="needs the `chromium` command (apt-get install chromium)"
)


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser until the block ends, whose event loop runs in this thread; skips the test without one."""
    if _FOUND is None:
        pytest.skip(needs_chromium.kwargs["reason"])
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []  # Chromium's sandbox refuses root
    expect.set_options(
        timeout=60_000
    )  # ms; the default of 5 s is a bound on speed, which a busy machine passes
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=_FOUND, args=arguments)
        yield found
        found.close()


A4 = (595, 842)
"""Points."""
MARGIN = 12 / 25.4 * 72


def rightmost(page: pypdfium2.PdfPage) -> float:
    """Where the letters of a printed page end at the right, in points."""
    text = page.get_textpage()
    letters = [at for at in range(text.count_chars()) if text.get_text_range(at, 1).strip()]
    return float(max(text.get_charbox(at)[2] for at in letters))
