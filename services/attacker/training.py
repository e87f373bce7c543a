"""``python -m services.attacker.training PARENT``: one training, recipe on standard input, progress as
JSON lines.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from typing import Any

import orjson

__all__ = ["main"]

PR_SET_PDEATHSIG = 1


def _die_with(parent: int) -> None:
    """Have the kernel kill this process when its worker dies (Linux; elsewhere a broken pipe does)."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it died before we asked
        os._exit(1)


def _say(**what: Any) -> None:
    sys.stdout.buffer.write(orjson.dumps(what) + b"\n")
    sys.stdout.buffer.flush()


def main() -> int:
    """Train and store; exit status 0, or 1 after a line that says why not."""
    _die_with(int(sys.argv[1]))
    # Here, not in the worker: a process that has run a torch operation must not be forked.
    import torch

    from leakrange.data import load
    from leakrange.providers.artifact import save
    from leakrange.providers.training import train
    from leakrange.registry import UnknownName
    from leakrange.wire.errors import LeakrangeError
    from leakrange.wire.recipe import TrainingRecipe
    from services.attacker.settings import FleetSettings

    settings = FleetSettings()
    torch.set_num_threads(settings.train_threads)
    device = settings.train_device
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    recipe = TrainingRecipe.model_validate_json(sys.stdin.buffer.read())

    def progress(entry: dict[str, float]) -> None:
        message = f"epoch {entry['epoch']:.0f} of {recipe.schedule.epochs}"
        for figure in ("honesty", "curiosity"):
            if figure in entry:
                message += f", {figure} {100 * entry[figure]:.1f} %"
        _say(message=message, **entry)

    try:
        save(settings.models_dir, train(recipe, load(recipe.data), device=device, progress=progress))
    except (LeakrangeError, UnknownName, ValueError) as error:
        _say(failed=getattr(error, "detail", None) or str(error))
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
