"""The audit of a model file that others made: by its outputs alone, since it cannot be trained further."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakrange.audit.case import ExaminedModel
from leakrange.audit.examination import examine_loaded
from leakrange.jobs.audit import AuditPlan
from leakrange.jobs.verdict import Verdict
from leakrange.providers.foreign import folder
from leakrange.providers.foreign.card import FileCard
from leakrange.providers.foreign.model import FileModel
from leakrange.wire.errors import InvalidInput

__all__ = ["examine_file"]

LEAST = 1e-12
"""Probabilities below it have the same logarithm."""


def examine_file(file: Path, card: FileCard, plan: AuditPlan, *, trusted: bool = False) -> Verdict:
    """Audit a model file as its card describes it. It is checked as `folder.add` does, and not kept.

    Raises `InvalidArtifact` for a file that does not fit the card, `InvalidInput` for a file of features, and
    the errors of the audit.
    """
    if card.release == "features":
        raise InvalidInput(
            "an audit compares decisions, and this file gives features", hint="audit a classifier"
        )
    with TemporaryDirectory(prefix="leakrange-audit-") as place:
        added = folder.add(Path(place), file, card, trusted=trusted)
        model = folder.load(Path(place) / added.digest)
    return examine_loaded(
        _examined(model), plan, sha256=added.card.sha256, size=file.stat().st_size, name=None
    )


def _examined(model: FileModel) -> ExaminedModel:
    card = model.card

    def logits(samples: NDArray[Any]) -> NDArray[np.float32]:
        """Logits, or the logarithms of probabilities, whose softmax they are."""
        values = model.outputs(samples, card.release)
        if not np.isfinite(values).all():
            raise InvalidInput("the file gives values that are not finite for samples of the data set")
        return values if card.release == "logits" else np.log(np.maximum(values, LEAST))

    return ExaminedModel(
        net=f"a file ({card.format})",
        width=1.0,
        parameters=0,
        task=card.task,
        classes=card.classes,
        heads=(len(card.classes),),
        input=card.input,
        logits=logits,
        classifier=None,
    )
