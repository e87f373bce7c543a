"""The material of an audit: the model, and samples with the labels that it is claimed to predict."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakrange.data import Attribute, Samples, datasets, load
from leakrange.data.splits import shuffled, stream
from leakrange.jobs.audit import AuditPlan
from leakrange.nets.classifier import Classifier
from leakrange.providers.inference import outputs
from leakrange.providers.model_config import ClassifierConfig
from leakrange.registry import UnknownName
from leakrange.wire.errors import InvalidInput
from leakrange.wire.samples import SampleSpec

__all__ = ["TEST_FROM", "Case", "ExaminedModel", "case_of", "examined"]

TEST_FROM = "test"
FEWEST = 20


@dataclass(frozen=True)
class ExaminedModel:
    """A model, and what it says of itself. ``logits`` maps samples (B, *shape) to float32 (B, Y);
    ``classifier`` is None where it cannot be trained further."""

    net: str
    width: float
    parameters: int
    task: str
    classes: tuple[str, ...]
    heads: tuple[int, ...]
    input: SampleSpec
    logits: Callable[[NDArray[Any]], NDArray[np.float32]]
    classifier: Classifier | None


def examined(classifier: Classifier, config: ClassifierConfig) -> ExaminedModel:
    """The model of a classifier's file."""
    return ExaminedModel(
        net=config.net,
        width=config.width,
        parameters=classifier.parameter_count(),
        task=config.target,
        classes=config.classes,
        heads=config.heads or (len(config.classes),),
        input=config.input,
        logits=partial(outputs, classifier, kind="logits"),
        classifier=classifier,
    )


@dataclass(frozen=True)
class Case:
    """A model and its samples. ``labelled`` and ``test`` are indices into ``data``; ``labels`` are the
    target's (N,), of several targets (N, heads), -1 where unknown."""

    model: ExaminedModel
    plan: AuditPlan
    data: Samples
    labels: NDArray[np.int64]
    labelled: NDArray[np.int64]
    test: NDArray[np.int64]

    def values(self, indices: NDArray[np.int64]) -> NDArray[Any]:
        """The samples of these indices."""
        return self.data.values[indices]


def case_of(model: ExaminedModel, plan: AuditPlan) -> Case:
    """Draw the samples of a plan for a model.

    Where there are fewer than the plan asks for, all are taken. Raises `InvalidInput` for a data set that
    does not have the model's task, for samples of another form, and where fewer than 20 are left.
    """
    try:
        attributes = datasets[plan.data.name].attributes
    except UnknownName as error:
        raise InvalidInput(str(error)) from error
    targets = _task(plan.data.name, attributes, model)  # before anything is loaded
    data = load(plan.data)
    labels = [data.labels[name] for name in targets]
    scaling = {"scale": data.spec.scale, "offset": data.spec.offset}  # which is a model's own
    if model.input.model_copy(update=scaling) != data.spec:
        raise InvalidInput(
            f"the model takes {_form(model.input)}; {plan.data.name!r} gives {_form(data.spec)}",
            hint="audit it with the data set, and at the picture size, that it is for",
        )
    known = np.all([each >= 0 for each in labels], axis=0)
    labelled = _drawn(data, known, plan.labelled_from, plan.labelled, plan.seed)
    known[labelled] = False  # no sample is both trained on and tested
    test = _drawn(data, known, TEST_FROM, plan.test, plan.seed)
    joined = labels[0] if len(model.heads) == 1 else np.stack(labels, axis=1)
    return Case(model, plan, data, joined, labelled, test)


def _task(data: str, attributes: Mapping[str, Attribute], model: ExaminedModel) -> list[str]:
    """The model's targets. Raises `InvalidInput` unless the data set has them, with as many classes."""
    targets = [model.task] if len(model.heads) == 1 else model.task.split(", ")
    missing = [name for name in targets if name not in attributes]
    if missing:
        raise InvalidInput(
            f"the model predicts {model.task[:200]!r}, and {data!r} has no labels of "
            f"{', '.join(missing)[:200]!r}; it has: {', '.join(sorted(attributes))}",
            hint="audit a model with a data set that has labels of its task",
        )
    sizes = tuple(len(attributes[name].classes) for name in targets)
    if sizes != model.heads:
        raise InvalidInput(
            f"the model has {', '.join(map(str, model.heads))} classes of {model.task[:200]!r}, and "
            f"{data!r} has {', '.join(map(str, sizes))}",
            hint="it was made for another data set",
        )
    return targets


def _drawn(data: Samples, known: NDArray[np.bool_], part: str, most: int, seed: int) -> NDArray[np.int64]:
    indices = data.where(part)
    indices = indices[known[indices]]
    if len(indices) < FEWEST:
        raise InvalidInput(
            f"{data.name!r} has {len(indices)} {part} samples with labels, and an audit needs {FEWEST}",
            hint="raise the data set's share of auxiliary samples, or its limit; or draw labelled samples "
            "from 'test' (labelled_from)",
        )
    return indices[shuffled(stream(seed, f"audit {part}"), len(indices))[:most]]


def _form(spec: SampleSpec) -> str:
    return f"{spec.encoding} samples of shape {spec.shape}"
