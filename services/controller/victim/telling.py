"""A visitor's release in words and numbers: the user's answers, the released values, the guesses from
them."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakrange.attacks import attacks
from leakrange.attacks.attack import AttributeAttack, Inference
from leakrange.data import Samples, names
from leakrange.metrics import softmax
from leakrange.metrics.reconstruction import psnr
from leakrange.scenario.plan import Plan, PlannedModel
from leakrange.services.controller.victim.attackers import Attacker
from leakrange.wire.heads import parted
from leakrange.wire.pictures import png
from leakrange.wire.releases import ReleaseKind
from leakrange.wire.schemas import IntakeRecord
from leakrange.wire.trying import AttributeRelease, Guess, Label, Redrawn

__all__ = ["average", "guessed", "labels", "left", "picture", "redrawn"]

FEWEST = 3
"""The number of training pictures of one label below which their mean says too much of each."""


def labels(
    plan: Plan, model: PlannedModel, record: IntakeRecord, truth: Mapping[str, int], release: ReleaseKind
) -> list[Label]:
    """The classes that the user of the one sample of ``record`` got."""
    values, heads = np.asarray(record.values, dtype=np.float64), plan.heads(model)
    soft = softmax(values, heads) if release == "logits" else values
    result = []
    for attribute, decision, part in zip(
        names(model.target), np.ravel(record.decisions[0]).tolist(), parted(soft, heads), strict=True
    ):
        classes = plan.classes[model.data][attribute]
        graded = _probabilities(part[0]) and not _one_hot(part[0])
        result.append(
            Label(
                attribute=attribute,
                label=classes[decision],
                confidence=float(min(1.0, part[0, decision])) if graded else None,
                right=decision == truth[attribute] if truth.get(attribute, -1) >= 0 else None,
            )
        )
    return result


def left(plan: Plan, model: PlannedModel, record: IntakeRecord) -> list[AttributeRelease]:
    """The numbers of the release as they reached the provider."""
    parts = parted(np.asarray(record.values, dtype=np.float64), plan.heads(model))
    return [
        AttributeRelease(
            attribute=attribute,
            classes=plan.classes[model.data][attribute],
            values=[float(f"{value:.4g}") for value in part[0]],
        )
        for attribute, part in zip(names(model.target), parts, strict=True)
    ]


def guessed(
    plan: Plan,
    model: PlannedModel,
    record: IntakeRecord,
    attacker: Attacker,
    learnt: Mapping[str, NDArray[Any]] | None,
    truth: Mapping[str, int],
) -> Guess | None:
    """The attacker's guess from the release; None if a provider's decoder cannot read it."""
    inference = _inferred(plan, model, record, attacker, learnt)
    if inference is None:
        return None
    attribute, place = attacker.attribute, int(inference.predicted[0])
    scores = np.clip(inference.scores[0].astype(np.float64), 0.0, None)
    known = truth.get(attribute, -1)
    return Guess(
        attribute=attribute,
        label=plan.classes[model.data][attribute][place],
        confidence=float(scores[place] / scores.sum()) if scores.sum() > 0 else 0.0,
        right=place == known if known >= 0 else None,
        attack=attacker.attack,
        reached=attacker.reached,
        chance=attacker.chance,
        better=attacker.better,
    )


def _inferred(
    plan: Plan,
    model: PlannedModel,
    record: IntakeRecord,
    attacker: Attacker,
    learnt: Mapping[str, NDArray[Any]] | None,
) -> Inference | None:
    if attacker.job is not None:
        entry = attacks[attacker.attack]
        assert issubclass(entry, AttributeAttack)
        return entry.again(learnt or {}, np.asarray(record.values, dtype=np.float32))
    if record.inferred is None or record.scores is None:
        return None
    every = names(model.sensitive)
    whole = Inference(np.asarray(record.inferred), np.asarray(record.scores, dtype=np.float32))
    return whole.of(every.index(attacker.attribute), [len(plan.classes[model.data][name]) for name in every])


def redrawn(sample: NDArray[np.uint8], drawn: NDArray[np.floating] | None) -> Redrawn | None:
    """The picture (H, W, C) that a provider drew from the release; None if it drew none, or one of another
    shape."""
    if drawn is None or drawn.shape != sample.shape:
        return None
    seen = np.clip(np.rint(drawn), 0, 255).astype(np.uint8)
    near = psnr(sample[None] / 255.0, seen[None] / 255.0)
    return Redrawn(picture=picture(seen), psnr=round(float(near[0]), 2))


def average(
    data: Samples, model: PlannedModel, sample: NDArray[np.uint8], decisions: Sequence[int]
) -> Redrawn | None:
    """The mean of the training pictures that have the labels of the decisions; None if hardly any picture has
    them."""
    alike = data.where("train")
    for attribute, decision in zip(names(model.target), decisions, strict=True):
        alike = alike[data.labels[attribute][alike] == decision]
    if len(alike) < FEWEST:
        return None
    return redrawn(sample, data.values[alike].mean(axis=0))


def picture(values: NDArray[np.uint8]) -> str:
    """A PNG of (H, W, C), in base64."""
    return base64.b64encode(png(values)).decode("ascii")


def _one_hot(values: NDArray[np.float64]) -> bool:
    return bool(np.isin(values, (0.0, 1.0)).all())


def _probabilities(values: NDArray[np.float64]) -> bool:
    return bool((values >= 0.0).all() and (values <= 1.0).all())
