"""``python -m services.attacker.train PARENT``: trains what it is told to, one job after the other.

Jobs come as JSON lines on standard input, each with what is to be ``logged`` with it. What each training says
goes to standard output as JSON lines, the last of them ``{"done": …}`` or ``{"failed": …}``. The imports
(seconds of CPU time) are made once; each training is a fork, and its memory is given back. Loaded data sets
are kept for the next training.
"""

from __future__ import annotations

import importlib
import os
import signal
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import orjson
import structlog
from structlog.contextvars import bind_contextvars, clear_contextvars

from leakrange.data import load
from leakrange.jobs.job import TrainJob
from leakrange.registry import UnknownName
from leakrange.service.logs import configure_logs
from leakrange.service.parent import die_with
from leakrange.store.files import FolderStore, put_array
from leakrange.wire.errors import LeakrangeError
from services.attacker.artifacts import find_whole
from services.attacker.memory import LESS_TO_TRAIN, out_of_memory
from services.attacker.settings import FleetSettings

Say = Callable[[dict[str, Any]], None]
log = structlog.get_logger("leakrange.attacker.train")


def main() -> None:
    """Serve until standard input ends."""
    die_with(int(sys.argv[1]))
    settings = FleetSettings()
    configure_logs("trainer", settings.log_level)
    say = _private_output()
    preload()
    for line in sys.stdin.buffer:
        asked = orjson.loads(line)
        clear_contextvars()
        bind_contextvars(**asked["logged"])
        if (failure := _guarded(partial(_load, asked["job"]))) is not None:
            say(failure)
            continue
        here = os.getpid()
        child = os.fork()
        if child == 0:
            die_with(here)
            if (failure := _guarded(partial(_train, asked["job"], settings, say))) is not None:
                say(failure)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if status != 0:
            say(
                {
                    "failed": f"the training process died: {_how(status)}",
                    "hint": f"if it ran out of memory, {LESS_TO_TRAIN}",
                }
            )


def _private_output() -> Say:
    """Standard output for our lines alone: what a library prints goes to standard error, the worker's log."""
    output = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)

    def say(said: dict[str, Any]) -> None:
        output.write(orjson.dumps(said, option=orjson.OPT_SERIALIZE_NUMPY) + b"\n")

    return say


def preload() -> None:
    """Import what every training needs, and run nothing: a process that has run a torch operation must not be
    forked."""
    importlib.import_module("torch")
    importlib.import_module("leakrange.defences.trainables")
    from leakrange.defences.input import input_defences
    from leakrange.defences.representation import representation_defences
    from leakrange.nets import nets
    from leakrange.providers.behaviours import behaviours

    len(nets), len(behaviours), len(input_defences), len(representation_defences)  # fills them


def _guarded(work: Callable[[], None]) -> dict[str, Any] | None:
    """Do ``work``; what to say where it fails, which must not end the trainer."""
    try:
        work()
    except LeakrangeError as error:
        return {"failed": error.detail, "hint": error.hint}
    except (UnknownName, ValueError) as error:  # pydantic's validation errors among them
        log.warning("training refused", exc_info=error)
        return {"failed": str(error)}
    except Exception as error:
        log.error("training failed", exc_info=error)
        if (reason := out_of_memory(error)) is not None:
            return {"failed": reason.detail, "hint": LESS_TO_TRAIN}
        return {"failed": f"{type(error).__name__}: {error}"}
    return None


def _load(job: dict[str, Any]) -> None:
    load(TrainJob.model_validate(job).recipe.data)


def _train(asked: dict[str, Any], settings: FleetSettings, say: Say) -> None:
    import torch

    from leakrange.defences.trainables import train_stored

    job = TrainJob.model_validate(asked)
    recipe = job.recipe
    torch.set_num_threads(settings.train_threads)
    if job.shown is not None and (folder := find_whole(settings.models_dir, recipe.digest())) is not None:
        _show(job, folder, settings)
        say({"done": {"reused": True}})
        return
    device = settings.train_device
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"

    def progress(entry: dict[str, float]) -> None:
        message = f"epoch {entry['epoch']:.0f} of {recipe.schedule.epochs}"
        for figure in ("honesty", "curiosity"):
            if figure in entry:
                message += f", {figure} {100 * entry[figure]:.1f} %"
        say({**entry, "message": message})

    find = partial(find_whole, settings.models_dir)
    trained, folder = train_stored(recipe, settings.models_dir, find, device=device, progress=progress)
    _show(job, folder, settings)
    say(
        {
            "done": {
                "seconds": trained.seconds,
                "device": device,
                "chosen_epoch": trained.chosen_epoch,
                "figures": trained.figures,
            }
        }
    )


def _show(job: TrainJob, folder: Path, settings: FleetSettings) -> None:
    """Store the releases that the job wants of the model in ``folder``, if it wants any."""
    from leakrange.defences.trainables import shown_releases

    if job.shown is not None:
        released = shown_releases(folder, job.shown)
        put_array(FolderStore(settings.releases_dir), f"{job.identity()}.npy", released)


def _how(status: int) -> str:
    if os.WIFSIGNALED(status):
        return f"killed by {signal.Signals(os.WTERMSIG(status)).name}"
    return f"exit status {os.waitstatus_to_exitcode(status)}"


if __name__ == "__main__":
    main()
