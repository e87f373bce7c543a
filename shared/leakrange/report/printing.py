"""A self-contained page as PDF, printed by the Chromium of this machine."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

from leakrange.wire.errors import Unavailable

__all__ = ["printed"]

COMMANDS = ("chromium", "google-chrome", "chromium-browser")
OPTIONS = (
    "--headless",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-extensions",
    "--no-first-run",
    "--no-pdf-header-footer",
)
INSTEAD = "open the page in any browser and print it from there"


def printed(html: str, *, seconds: float = 120.0) -> bytes:
    """The page as PDF, on the paper and with the margins that its style names. The browser has a profile of
    its own, which is removed, and is ended after so many ``seconds``.

    Raises `Unavailable` where there is no Chromium, it takes longer, or it prints nothing.
    """
    command = next(filter(None, map(shutil.which, COMMANDS)), None)
    if command is None:
        raise Unavailable(
            f"a PDF takes Chromium, and none of the commands {', '.join(COMMANDS)} is here",
            hint=f"install it, such as by 'apt-get install chromium'; or {INSTEAD}",
        )
    with TemporaryDirectory(prefix="leakrange-pdf-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        page, made = folder / "page.html", folder / "page.pdf"
        page.write_text(html, encoding="utf-8")
        options = [*OPTIONS, *(["--no-sandbox"] if os.geteuid() == 0 else [])]  # the sandbox refuses root
        words = [command, *options, f"--user-data-dir={folder / 'profile'}", f"--print-to-pdf={made}"]
        ended = _run([*words, page.as_uri()], seconds)
        content = made.read_bytes() if made.exists() else b""
    if not content.startswith(b"%PDF"):
        raise Unavailable(f"{command} printed nothing: {ended[-400:].strip()}", hint=INSTEAD)
    return content


def _run(words: list[str], seconds: float) -> str:
    """What the command wrote as errors. It and all that it started are killed if it takes longer."""
    with subprocess.Popen(
        words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True
    ) as process:
        try:
            _, errors = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired as error:
            raise Unavailable(f"{words[0]} printed nothing in {seconds:g} seconds", hint=INSTEAD) from error
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
    return errors.decode(errors="replace")
