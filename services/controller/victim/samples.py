"""A visitor's sample: one that is ready, or one that is made of a drawing."""

from __future__ import annotations

import base64
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from leakrange.data import Samples, load, names
from leakrange.services.controller.victim.demonstration import Demonstration, behaviour
from leakrange.services.controller.victim.standing import StandingDemonstration
from leakrange.wire.errors import InvalidInput
from leakrange.wire.pictures import png, read_drawing, resized
from leakrange.wire.tensors import from_base64
from leakrange.wire.trying import Sample, TrialOffer, Try

__all__ = ["named", "offered", "picture", "sample_of", "samples_of"]

OTHERS = 12
"""The number of ready samples of a set that has no digits; of digits there is one of each."""


def samples_of(shown: Demonstration) -> tuple[Samples, NDArray[np.int64]]:
    """The samples, and which of them are users': no model was trained on these."""
    data = load(shown.spec)
    return data, data.where("test")


def sample_of(shown: Demonstration, asked: Try) -> tuple[NDArray[np.uint8], dict[str, int]]:
    """The sample (H, W, C) as a device takes it, and its true classes."""
    data, users = samples_of(shown)
    if asked.place is not None:
        if asked.place >= len(users):
            raise InvalidInput(f"sample {asked.place} of {len(users)}: there is no such sample")
        chosen = users[asked.place]
        return data.values[chosen], {name: int(labels[chosen]) for name, labels in data.labels.items()}
    page = 255 - read_drawing(from_base64(asked.drawing or ""))
    drawing = shown.entry.drawn(page, asked.digit or 0)
    if drawing is None:
        raise InvalidInput(
            f"nobody draws {shown.entry.name}", hint="choose one of its ready samples by 'place'"
        )
    labels = {name: int(values[0]) for name, values in drawing.labels.items()}
    return resized(drawing.values, data.spec.shape[0])[0], labels if asked.digit is not None else {}


def offered(standing: StandingDemonstration) -> TrialOffer:
    """The offer to visitors of one data set of a run; loads that set."""
    shown = standing.shown
    data, users = samples_of(shown)
    entry, hidden = shown.entry, shown.hidden
    classes = shown.plan.classes[shown.data]
    samples = [
        Sample(
            place=place,
            picture=picture(data.values[users[place]]),
            truth=named({name: int(data.labels[name][users[place]]) for name in data.labels}, classes),
        )
        for place in _ready(data, users)
    ]
    return TrialOffer(
        data=shown.data,
        set=entry.name,
        drawn=_is_drawn(shown),
        target=list(names(shown.models[0].target)),
        hidden=hidden,
        explained=entry.attributes[hidden].description if hidden else "",
        behaviours=[behaviour(model) for model in shown.models],
        defences=[policy.defence for policy in shown.defences],
        costs=shown.costs,
        ready=standing.stands,
        waiting=standing.waiting,
        samples=samples,
    )


def _ready(data: Samples, users: NDArray[np.int64]) -> list[int]:
    """Places of the ready samples among the users'."""
    if "digit" not in data.labels:
        return list(range(min(OTHERS, len(users))))
    digit = data.labels["digit"][users]
    return [int(place) for value in range(10) for place in np.flatnonzero(digit == value)[:1]]


def _is_drawn(shown: Demonstration) -> bool:
    page = np.zeros((64, 64), dtype=np.uint8)
    page[10:50, 28:36] = 255
    return shown.entry.drawn(page, 1) is not None


def named(truth: Mapping[str, int], classes: Mapping[str, list[str]]) -> dict[str, str]:
    """Labels by the names of their classes, without those that are unknown or of no interest to the run."""
    return {name: classes[name][label] for name, label in truth.items() if name in classes and label >= 0}


def picture(values: NDArray[np.uint8]) -> str:
    """A PNG of (H, W, C), in base64."""
    return base64.b64encode(png(values)).decode("ascii")
