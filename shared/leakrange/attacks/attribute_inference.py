"""Inferring an attribute that a model was not trained for, from its releases (overlearning)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel

from leakrange.attacks import attacks
from leakrange.attacks.attack import AttributeAttack, Evidence, Inference, Knowledge
from leakrange.attacks.attribute_nets import AttributeInferenceParameters, check_evidence
from leakrange.attacks.learning import dealt, flat
from leakrange.attacks.panel.panel import apply, every_learner, panel, panel_arrays
from leakrange.jobs.versions import VersionChange
from leakrange.wire.errors import InvalidInput

__all__ = ["AttributeInference", "AttributeInferenceParameters", "check_evidence"]


@attacks.register("attribute-inference")
class AttributeInference(AttributeAttack):
    """A panel of learners, fitted on releases of records whose attribute the attacker knows.

    They are logistic regression, the nearest class mean, boosted trees, nearest neighbours, an MLP whose
    width and decay are chosen, and the paper's nets (`attribute-nets`), on releases and on logarithms of
    probabilities. Records that a learner has not learnt from choose its settings, and the learner: the
    highest AUC counts (of more than two classes the mean of one against the rest), then the least log loss.
    Each learner is the mean of its models of five folds. Records that resemble each other are held out
    together. Releases of any rank are flattened.
    """

    name: ClassVar[str] = "attribute-inference"
    version: ClassVar[int] = 4
    changes: ClassVar[Mapping[int, VersionChange]] = {
        4: VersionChange(
            "it finds what probabilities below a millionth tell, and numbers that vary by less than that"
        )
    }
    summary: ClassVar[str] = (
        "a panel of learners fitted on releases of labelled auxiliary records (overlearning)"
    )
    paper: ClassVar[str] = "HBC"
    equation: ClassVar[str] = "Section 5.1.4 (Std), by more than the nets of Table 13"
    consumes: ClassVar[tuple[str, ...]] = ("logits", "softmax", "features", "sample")
    grants: ClassVar[tuple[str, ...]] = ("queries", "auxiliary records with the hidden attribute")
    knowledge: ClassVar[tuple[Knowledge, ...]] = ("unaware", "aware", "averaging")
    keeps: ClassVar[bool] = True
    Parameters: ClassVar[type[BaseModel]] = AttributeInferenceParameters

    def infer(self, evidence: Evidence) -> Inference:
        """Fit the panel and apply its best to the victims. Raises `InvalidInput` for evidence that cannot be
        used."""
        check_evidence(evidence)
        rows, observed = flat(evidence.auxiliary), flat(evidence.observed)
        best = panel(
            rows,
            evidence.auxiliary_labels,
            evidence.classes,
            every_learner(self.parameters),
            soft=evidence.release == "softmax",
            group=evidence.auxiliary_group,
            seed=evidence.seed,
        )
        labels, group = evidence.auxiliary_labels, evidence.auxiliary_group
        learners = [each.row(observed) for each in best]
        scores = learners[0][-1]
        learnt = best[0].arrays() | {"values": np.array(rows.shape[1])}
        fold = dealt(labels, group, evidence.seed)
        arrays = panel_arrays(learners, best[0].held_out, fold, labels, group)
        return Inference(scores.argmax(axis=1).astype(np.int64), scores, learnt, arrays)

    @classmethod
    def again(cls, learnt: Mapping[str, NDArray[Any]], observed: NDArray[np.float32]) -> Inference:
        """See `AttributeAttack.again`: the scores of the chosen learner, in NumPy."""
        rows = flat(observed)
        if learnt.get("values", rows.shape[1]) != rows.shape[1]:
            raise InvalidInput(
                f"the attack learnt from releases of {int(learnt['values'])} values, not {rows.shape[1]}"
            )
        scores = apply(learnt, rows)
        return Inference(scores.argmax(axis=1).astype(np.int64), scores)
