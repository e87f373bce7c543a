"""What an examiner has on the table: the model, and samples with the labels that it is claimed to predict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakrange.data import Attribute, Samples, datasets, load
from leakrange.data.splits import shuffled, stream
from leakrange.jobs.audit import AuditPlan
from leakrange.nets.classifier import Classifier
from leakrange.providers.model_config import ClassifierConfig
from leakrange.registry import UnknownName
from leakrange.wire.errors import InvalidInput

__all__ = ["TEST_FROM", "Case", "case_of"]

TEST_FROM = "test"
FEWEST = 20


@dataclass(frozen=True)
class Case:
    """``labelled`` and ``test`` are places in ``data``; ``labels`` the target's (N,), of several (N, heads),
    -1 where unknown."""

    classifier: Classifier
    plan: AuditPlan
    data: Samples
    labels: NDArray[np.int64]
    labelled: NDArray[np.int64]
    test: NDArray[np.int64]

    def values(self, places: NDArray[np.int64]) -> NDArray[Any]:
        """The samples of these places."""
        return self.data.values[places]


def case_of(classifier: Classifier, config: ClassifierConfig, plan: AuditPlan) -> Case:
    """Draw the samples of a plan for a model with that config.

    Takes all there are where there are fewer than the plan asks for. Raises `InvalidInput` for a data set
    that does not have the model's task, for samples of another form, and where fewer than 20 are left.
    """
    try:
        there = datasets[plan.data.name].attributes
    except UnknownName as error:
        raise InvalidInput(str(error)) from error
    named = _task(plan.data.name, there, config)  # before anything is loaded
    data = load(plan.data)
    labels = [data.labels[name] for name in named]
    if data.spec != config.input:
        raise InvalidInput(
            f"the model takes {_told(config.input)}; {plan.data.name!r} gives {_told(data.spec)}",
            hint="audit it with the data set, and at the picture size, that it is for",
        )
    known = np.all([each >= 0 for each in labels], axis=0)
    labelled = _drawn(data, known, plan.labelled_from, plan.labelled, plan.seed)
    known[labelled] = False  # none is both trained on and looked at
    test = _drawn(data, known, TEST_FROM, plan.test, plan.seed)
    joined = labels[0] if config.heads is None else np.stack(labels, axis=1)
    return Case(classifier, plan, data, joined, labelled, test)


def _task(data: str, attributes: Mapping[str, Attribute], config: ClassifierConfig) -> list[str]:
    """What the model says that it predicts, if the data set of that name has it with as many classes."""
    named = [config.target] if config.heads is None else config.target.split(", ")
    missing = [name for name in named if name not in attributes]
    if missing:
        raise InvalidInput(
            f"the model predicts {config.target[:200]!r}, and {data!r} has no labels of "
            f"{', '.join(missing)[:200]!r}; it has: {', '.join(sorted(attributes))}",
            hint="audit a model with a data set that has labels of its task",
        )
    sizes = tuple(len(attributes[name].classes) for name in named)
    if sizes != (config.heads or (len(config.classes),)):
        raise InvalidInput(
            f"the model has {config.heads or len(config.classes)} classes of {config.target[:200]!r}, and "
            f"{data!r} has {', '.join(map(str, sizes))}",
            hint="it was made for another data set",
        )
    return named


def _drawn(data: Samples, known: NDArray[np.bool_], part: str, most: int, seed: int) -> NDArray[np.int64]:
    there = data.where(part)
    there = there[known[there]]
    if len(there) < FEWEST:
        raise InvalidInput(
            f"{data.name!r} has {len(there)} {part} samples with labels, and an audit needs {FEWEST}",
            hint="raise the data set's share of auxiliary samples, or its limit; or draw labelled samples "
            "from 'test' (labelled_from)",
        )
    return there[shuffled(stream(seed, f"audit {part}"), len(there))[:most]]


def _told(spec: Any) -> str:
    return f"{spec.encoding} samples of shape {spec.shape}"
