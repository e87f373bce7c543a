"""``python -m leakrange.services.attacker.trainer PARENT``: trains models, job after job.

Jobs come as JSON lines on standard input, each with the context to be ``logged`` with it. The reports of each
training go to standard output as JSON lines, the last of them ``{"done": …}`` or ``{"failed": …}``. The
imports (seconds of CPU time) are made once; each training is a fork, and its memory is given back. Loaded
data sets are kept for the next training.
"""

from __future__ import annotations

import importlib
import os
import signal
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import orjson
import structlog
from pydantic import Field, TypeAdapter
from structlog.contextvars import bind_contextvars, clear_contextvars

from leakrange.data import load
from leakrange.jobs.steps.craft import CRAFT, CraftJob
from leakrange.jobs.steps.show import SHOW, ShowJob
from leakrange.jobs.steps.train import TrainJob
from leakrange.registry import UnknownName
from leakrange.service.logs import configure_logs
from leakrange.service.parent import die_with
from leakrange.services.attacker.artifacts import find_whole
from leakrange.services.attacker.gpu import shared_gpu
from leakrange.services.attacker.memory import LESS_TO_TRAIN, out_of_memory
from leakrange.services.attacker.settings import FleetSettings
from leakrange.store.files import put_array, whole
from leakrange.store.folders import publish
from leakrange.store.places import store_at
from leakrange.store.releases import crafted_in
from leakrange.wire.errors import LeakrangeError

Trainable = TrainJob | ShowJob | CraftJob
JOB: TypeAdapter[Trainable] = TypeAdapter(Annotated[Trainable, Field(discriminator="kind")])
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
    """Standard output for our lines alone: the output of libraries goes to standard error, the worker's
    log."""
    output = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)

    def say(report: dict[str, Any]) -> None:
        output.write(orjson.dumps(report, option=orjson.OPT_SERIALIZE_NUMPY) + b"\n")

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
    """Do ``work``; return the report of a failure, which must not end the trainer."""
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


def _load(asked: dict[str, Any]) -> None:
    job = JOB.validate_python(asked)
    load(job.span.data if isinstance(job, CraftJob) else job.recipe.data)


def _train(asked: dict[str, Any], settings: FleetSettings, say: Say) -> None:
    import torch

    from leakrange.defences.trainables import train_stack, train_stored

    job = JOB.validate_python(asked)
    torch.set_num_threads(settings.train_threads)
    if isinstance(job, CraftJob):
        _craft(job, settings, say)
        return
    recipe, find = job.recipe, partial(find_whole, settings.models_dir)
    if isinstance(job, ShowJob) and (folder := find(recipe.digest())) is not None:
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

    models = store_at(settings.models_dir)
    recipes = job.recipes if isinstance(job, TrainJob) else [recipe]
    with shared_gpu(recipe, len(recipes), device):
        if len(recipes) > 1:
            folders = train_stack(recipes, models.local, find, device=device, progress=progress)
            for folder in folders or ():
                publish(models, folder)
            say({"done": {"apart": folders is None, "device": device}})
            return
        trained, folder = train_stored(recipe, models.local, find, device=device, progress=progress)
    publish(models, folder)
    if isinstance(job, ShowJob):
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


def _craft(job: CraftJob, settings: FleetSettings, say: Say) -> None:
    """Store samples that are crafted against the models of the job's recipes."""
    from leakrange.attacks.membership.crafting import crafted_against

    def progress(rounds: int, most: int) -> None:
        say({"progress": rounds / most, "message": f"round {rounds} of at most {most}"})

    samples = crafted_against(job, partial(find_whole, settings.models_dir), progress)
    put_array(store_at(settings.releases_dir), CRAFT.file(job.identity()), samples)
    say({"done": {}})


def _show(job: ShowJob, folder: Path, settings: FleetSettings) -> None:
    """Store the releases that the job wants of the model in ``folder``, but for those that are stored."""
    from leakrange.defences.trainables import shown_releases

    store = store_at(settings.releases_dir)
    for each in job.apart():
        file = SHOW.file(each.identity())
        if not whole(store, file):
            put_array(store, file, shown_releases(folder, each.release, each.span, crafted=crafted_in(store)))


def _how(status: int) -> str:
    if os.WIFSIGNALED(status):
        return f"killed by {signal.Signals(os.WTERMSIG(status)).name}"
    return f"exit status {os.waitstatus_to_exitcode(status)}"


if __name__ == "__main__":
    main()
