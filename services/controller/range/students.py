"""Uploads the outputs of a user's own model, as an edge client uploads those of the provider's model."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from leakrange.jobs.job import Span
from leakrange.scenario.plan import PlannedModel
from leakrange.service.operators import Providers, Proxy
from leakrange.wire.errors import LeakrangeError, NotFound
from leakrange.wire.names import upload_name

__all__ = ["hand_in"]


async def hand_in(
    proxy: Proxy,
    providers: Providers,
    model: PlannedModel,
    *,
    served_as: str,
    account: str,
    key: str,
    outputs: NDArray[np.float32],
    spans: list[Span],
    upload: str,
) -> dict[str, NDArray[np.generic]]:
    """Upload a student's soft outputs (V, Y) to the model that is ``served_as`` that name, through the
    proxy with the ``key`` of the user's ``account``. Each span is one upload, named ``{upload}.0``,
    ``{upload}.1``, …. Then ask the provider what it inferred from them.

    Returns ``decisions`` (V,), ``inferred`` (V,) and ``scores`` (V, S). A repetition under the same names
    costs nothing and returns the same. Raises `NotFound` where the provider has no decoder.
    """
    decisions, inferred, scores = [], [], []
    start = 0
    for number, span in enumerate(spans):
        values = outputs[start : start + span.stop - span.start]
        start += len(values)
        name = f"{upload}.{number}"
        decided = await proxy.upload(key, served_as, "softmax", values, name)
        record = await providers.intake(model.recipe.behaviour, served_as, upload_name(account, name))
        if record.decisions != decided:
            raise LeakrangeError(f"provider and user disagree about upload {name}")
        if record.inferred is None or record.scores is None:
            raise NotFound(f"the provider of {model.id} has no decoder: it inferred nothing")
        decisions += decided
        inferred += record.inferred
        scores += record.scores
    return {
        "decisions": np.asarray(decisions, dtype=np.int64),
        "inferred": np.asarray(inferred, dtype=np.int64),
        "scores": np.asarray(scores, dtype=np.float32),
    }
