"""Crafting the one question about each record by which a label tells members most: a transferred adversarial
example (Peng et al. 2024)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from leakrange.attacks.membership.one_label import advantage, halves, margins
from leakrange.data.spans import members_of, span_of
from leakrange.jobs.steps.craft import CraftJob
from leakrange.wire.errors import NotFound
from leakrange.wire.samples import SampleSpec

if TYPE_CHECKING:
    from leakrange.nets.classifier import Classifier

__all__ = ["craft", "crafted_against"]

ROUNDS = 40
"""The most rounds of changes."""
PATIENCE = 4
"""Rounds without a better one, after which crafting ends."""
STEP = 1 / 127.5
"""The change of each value in a round, of values as a net gets them: a level of grey of a picture."""
BATCH = 250

Progress = Callable[[int, int], None]


def crafted_against(
    job: CraftJob, find: Callable[[str], Path | None], progress: Progress | None = None
) -> NDArray[Any]:
    """The samples (N, *shape) of a job; ``find`` tells the folder of a model by its digest. Raises `NotFound`
    where a shadow model is not trained."""
    from leakrange.providers.artifact import load as load_provider

    data, chosen = span_of(job.span)
    nets = []
    for recipe in job.recipes:
        folder = find(recipe.digest())
        if folder is None:
            raise NotFound(f"the shadow {recipe.digest()[:12]} is not trained", hint="train it, then craft")
        nets.append(load_provider(folder).classifier.eval().requires_grad_(False))
    members = members_of(job.span, data, [recipe.data for recipe in job.recipes])
    return craft(nets, members, data.values[chosen], data.labels[job.target][chosen], progress)


def craft(
    nets: Sequence[Classifier],
    members: NDArray[np.bool_],
    samples: NDArray[Any],
    labels: NDArray[np.integer],
    progress: Progress | None = None,
) -> NDArray[Any]:
    """The ``samples`` (N, *shape), of true classes ``labels`` (N,), changed so that models lose the class of
    a record that they were not trained on, and keep it otherwise.

    ``members`` (K, N) tells which of the K ``nets``, in eval mode, was trained on each record. The first half
    of the nets gives directions: those without a record push it out of its class, by signs of gradients with
    momentum. The other half judges: of all rounds that one is taken, for all records, after which its labels
    tell members best. The paper stops record by record, at a confidence that is chosen beforehand.
    """
    spec = nets[0].spec
    sources, judges = halves(len(nets))
    scale = np.broadcast_to(np.asarray(spec.scale, np.float64), spec.shape)
    step = np.maximum(np.rint(STEP * scale), 1.0) if spec.dtype == "uint8" else STEP * scale
    changed, velocity = samples, np.zeros(samples.shape)
    best, most, since = samples, _told(nets[judges], members[judges], samples, labels), 0
    for number in range(1, ROUNDS + 1):
        velocity += _outwards(nets[sources], members[sources], changed, labels, spec)
        changed = spec.nearest(changed + step * np.sign(velocity))
        told = _told(nets[judges], members[judges], changed, labels)
        best, most, since = (changed, told, 0) if told > most else (best, most, since + 1)
        if progress is not None:
            progress(number, ROUNDS)
        if since == PATIENCE:
            break
    return best


def _told(
    nets: Sequence[Classifier], members: NDArray[np.bool_], samples: NDArray[Any], labels: NDArray[np.integer]
) -> float:
    """How well labels of these samples tell members, in the mean over records."""
    from leakrange.providers.inference import outputs

    released = np.stack([outputs(net, samples, "logits") for net in nets])
    return float(advantage(margins(released, labels, "logits"), members).mean())


def _outwards(
    nets: Sequence[Classifier],
    members: NDArray[np.bool_],
    samples: NDArray[Any],
    labels: NDArray[np.integer],
    spec: SampleSpec,
) -> NDArray[np.float64]:
    """The gradient of the loss of the nets without each record (N, *shape), scaled to a mean size of 1."""
    import torch
    from torch.nn.functional import cross_entropy

    from leakrange.nets.classifier import to_input

    total = np.zeros(samples.shape)
    for net, inside in zip(nets, members, strict=True):
        outside = np.flatnonzero(~inside)
        for places in np.split(outside, range(BATCH, len(outside), BATCH)):
            values = torch.from_numpy(samples[places].astype(np.float32)).requires_grad_()
            loss = cross_entropy(
                net(to_input(values, spec)), torch.from_numpy(labels[places]), reduction="sum"
            )
            [gradient] = torch.autograd.grad(loss, values)
            total[places] += gradient.numpy()
    size = np.abs(total).reshape(len(total), -1).mean(axis=1)
    return np.asarray(total / np.maximum(size, 1e-30).reshape(-1, *(1 for _ in spec.shape)))
