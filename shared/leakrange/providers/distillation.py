"""Knowledge distillation: a student learns from a teacher's soft outputs alone (HBC Section 5.8)."""

from __future__ import annotations

import copy
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from leakrange.jobs.recipe import NetSpec, Schedule
from leakrange.nets import nets
from leakrange.nets.classifier import Classifier
from leakrange.nets.dropout import Dropout
from leakrange.providers.inference import logits_of
from leakrange.providers.loop import EpochSelection, FittedNet, Lessons, Trainer, scaled, seeded
from leakrange.providers.losses import distillation_loss
from leakrange.wire.errors import InvalidInput
from leakrange.wire.samples import SampleSpec

__all__ = ["HELD_OUT", "distil"]

HELD_OUT = 0.1
"""The share of the teacher's answers on which the epoch is chosen."""
STREAM = int.from_bytes(b"student", "little")
"""Added to a student's seed: a teacher of the same seed must not begin with the same weights, or effects of
that likeness would be taken for effects of the answers."""


def distil(
    samples: NDArray[Any],
    answers: NDArray[np.floating],
    *,
    spec: SampleSpec,
    net: NetSpec,
    schedule: Schedule,
    temperature: float = 1.0,
    dropout: float | None = None,
    seed: int = 0,
    device: str = "cpu",
) -> Classifier:
    """Train a student of ``net``'s kind on ``samples`` (N, *shape), of the form ``spec``, and on nothing but
    the teacher's soft outputs for them, ``answers`` (N, Y). The student is on the CPU, in eval mode.

    ``dropout`` is the share that each of its dropout layers leaves out, None for the net's own. A tenth of
    the answers is held out: of the epochs of ``schedule`` the one with the least loss on that tenth is kept.
    The same arguments give the same student on the same machine and number of threads. Raises `InvalidInput`
    for arrays that do not fit together or are too few, `UnknownName` for an unknown net.
    """
    fits = samples.dtype == spec.dtype and samples.shape[1:] == spec.shape
    if not fits or answers.shape != (len(samples), answers.shape[-1]):
        raise InvalidInput(
            f"a student learns from samples of {spec.dtype} and shape {spec.shape}, and soft outputs (N, Y), "
            f"not from {samples.dtype} {samples.shape} and {answers.shape}"
        )
    if not np.isfinite(answers).all():
        raise InvalidInput("an answer holds values that are not finite")
    held = max(1, round(HELD_OUT * len(samples)))
    if len(samples) - held < 2:
        raise InvalidInput(f"{len(samples)} answers are too few to learn from and to choose an epoch on")
    inputs = torch.from_numpy(np.ascontiguousarray(samples)).to(device)
    soft = torch.from_numpy(np.ascontiguousarray(answers, dtype=np.float32)).to(device)
    loss = partial(distillation_loss, temperature=temperature)
    with seeded((STREAM + seed) % 2**63, device):
        student = _student(net, spec, answers.shape[1], schedule, dropout).to(device)
        order = torch.randperm(len(samples)).to(device)
        unseen, lessons = (Lessons(inputs, soft)[part] for part in (order[:held], order[held:]))
        trainer = Trainer(
            FittedNet(student, lambda logits, taught: loss(taught, logits), schedule),
            lessons,
            batch=min(schedule.batch, len(lessons)),
            prepare=scaled(spec, schedule),
        )
        selection: EpochSelection[dict[str, Tensor]] = EpochSelection()
        for epoch in range(1, schedule.epochs + 1):
            trainer.epoch()
            missed = float(loss(unseen.target, logits_of(student, unseen.inputs)))
            selection.offer(epoch, -missed, lambda: copy.deepcopy(student.state_dict()))
    student.load_state_dict(selection.state)
    student.to("cpu", memory_format=torch.contiguous_format)  # type: ignore[call-overload]
    student.requires_grad_(False)
    return student.eval()


def _student(
    net: NetSpec, spec: SampleSpec, classes: int, schedule: Schedule, dropout: float | None
) -> Classifier:
    try:
        student = nets[net.name].build(spec, classes, net.width)
    except ValueError as e:
        raise InvalidInput(str(e)) from e
    for layer in student.modules():
        if dropout is not None and isinstance(layer, Dropout):
            layer.p = dropout
    if schedule.channels_last:
        student.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    return student
