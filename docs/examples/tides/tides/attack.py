"""An attack of the new kind."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel

from leakrange.attacks import attacks
from leakrange.attacks.attack import Attack, Knowledge
from leakrange.strict import Strict


@attacks.register("least-squares")
class LeastSquares(Attack):
    """Samples as linear functions of the answers about them."""

    name: ClassVar[str] = "least-squares"
    summary: ClassVar[str] = "restores samples from releases by linear regression"
    paper: ClassVar[str] = ""
    equation: ClassVar[str] = "min ‖A W − X‖²"
    kind: ClassVar[str] = "restoration"
    consumes: ClassVar[tuple[str, ...]] = ("logits",)
    grants: ClassVar[tuple[str, ...]] = ("queries", "samples of its own")
    knowledge: ClassVar[tuple[Knowledge, ...]] = ("aware",)
    Parameters: ClassVar[type[BaseModel]] = Strict

    def restore(
        self, answers: NDArray[np.float32], samples: NDArray[np.float32], observed: NDArray[np.float32]
    ) -> NDArray[np.float32]:
        """(A, N) and (A, *shape) of its own, (V, N) of users -> (V, *shape)."""
        known, asked = (np.column_stack([each, np.ones(len(each))]) for each in (answers, observed))
        weights = np.linalg.lstsq(known, samples.reshape(len(samples), -1), rcond=None)[0]
        return (asked @ weights).reshape(-1, *samples.shape[1:]).astype(np.float32)
