"""The quality of pictures reconstructed from releases: compared in the fleet, which loads the originals as
the edge client does, and judged in the controller."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from leakrange.attacks.kinds.cell import Offer
from leakrange.attacks.kinds.kind import ReleaseStore
from leakrange.attacks.kinds.trial import Fitted, Judged, Trial
from leakrange.attacks.kinds.users import user_groups
from leakrange.data import Samples, datasets, load
from leakrange.data.spans import span_of
from leakrange.defences.output import Chain
from leakrange.defences.output.base import CLASS_SCORES
from leakrange.defences.output.chain import upper_bits
from leakrange.jobs.recipe import DataSpec
from leakrange.jobs.samples import Span
from leakrange.metrics import SoftOutputs, UserDecisions, measured
from leakrange.metrics.outcomes import Predictions
from leakrange.metrics.reconstructed import Nearness
from leakrange.metrics.reconstruction import WINDOW
from leakrange.metrics.risk import Inverses, Moments
from leakrange.strict import Strict
from leakrange.wire.digests import digest
from leakrange.wire.errors import InvalidInput
from leakrange.wire.samples import SampleSpec, encodings

__all__ = ["HIDDEN", "Compared", "compare", "first", "judge_pictures", "pictures_of", "strip"]

HIDDEN = "sample"
"""The name of what is inferred, in results."""
MOST = 10_000
"""The largest number of users whose pictures are compared."""
SHOWN = 10
"""The largest number of users whose pictures the report shows."""
WHITE = 255.0
BATCH = 1000


class Compared(Strict):
    """Whose pictures were reconstructed: the first ``count`` of the samples of ``users``, session by session;
    the data on which their provider ``trained``; and which class of the ``target`` was ``decided`` of each,
    where that is one attribute."""

    users: Annotated[list[Span], Field(min_length=1)]
    count: Annotated[int, Field(ge=1, le=MOST)]
    trained: DataSpec
    target: str = ""
    decided: list[int] = []

    @classmethod
    def of(cls, trial: Trial, seen: int = MOST) -> Compared:
        """The comparison with the first users of a trial, of whom an attack has ``seen`` that many."""
        users = first(trial.users, trial.users, min(seen, MOST))
        total = sum(span.stop - span.start for span in users)
        count = min(total, seen, MOST)
        asked = cls(users=users, count=count, trained=trial.model.recipe.data)
        target = trial.model.target
        if not isinstance(target, str):
            return asked
        decided = trial.uploaded.decisions[:count].tolist()
        return asked.model_copy(update={"target": target, "decided": decided})


def first(parts: Sequence[Any], sessions: Sequence[Span], count: int) -> list[Any]:
    """The first of ``parts``, one for each of the ``sessions``, that hold the first ``count`` samples of
    these."""
    before = np.cumsum([0, *(span.stop - span.start for span in sessions[:-1])])
    return [part for part, begun in zip(parts, before, strict=True) if begun < count]


def pictures_of(provider: Offer) -> SampleSpec | str:
    """The form of a user's picture, or the reason why pictures cannot be compared."""
    data = datasets[provider.data.name]
    if not encodings[data.spec.encoding].pictured:
        return f"its samples are no pictures, but of the encoding {data.spec.encoding!r}"
    spec = data.sized(provider.data.size)
    if min(spec.shape[:2]) < WINDOW:
        return f"its pictures have less than {WINDOW} pixels a side; choose a larger 'size'"
    return spec


def capacity(trial: Trial) -> float | None:
    """The most bits that the releases of one user's sample can carry, one for each stream; None where their
    length is not known. A policy may shorten class scores, of which the model has one for each class; it
    leaves the length of other releases unchanged."""
    release, uploaded = trial.model.release, trial.uploaded
    values = sum(uploaded.heads) if release in CLASS_SCORES else uploaded.values
    if not values:
        return None
    policy = Chain.parse(trial.needs.asked["policy"])
    return float(len(trial.needs.streams) * upper_bits(policy, release, values, uploaded.heads))


def compare(
    asked: Compared, pictures: NDArray[np.floating], releases: ReleaseStore
) -> dict[str, NDArray[Any]]:
    """The arrays of a `Nearness` of the reconstructed ``pictures`` (V, H, W, C) from 0 to 255 to the users';
    and PNG files of the first ones side by side, ``original`` and ``reconstructed``, as uint8.

    Raises `InvalidInput` where they are not of the shape of the users' pictures.
    """
    originals = np.concatenate([_pixels(_samples(span)) for span in asked.users])[: asked.count]
    if pictures[: asked.count].shape != originals.shape:
        raise InvalidInput(
            f"reconstructions of shape {pictures.shape} of pictures of shape {originals.shape}",
            hint="was the decoder trained for pictures of another size?",
        )
    reconstructed = np.clip(pictures[: asked.count] / WHITE, 0.0, 1.0).astype(np.float32)
    trained = [asked.trained.model_dump(mode="json"), datasets[asked.trained.name].version]
    name = digest(["inverses", *trained])
    inverses = Inverses.of(releases.once(name, lambda: _inverses(asked.trained).arrays()))
    of_class = None
    if asked.decided:
        name = digest(["class means", *trained, asked.target])
        means = releases.once(name, lambda: {"means": _class_means(asked.trained, asked.target)})["means"]
        of_class = means[asked.decided]
    return {
        **Nearness.judge(originals, reconstructed, inverses, of_class=of_class).arrays(),
        "original": strip(originals[:SHOWN] * WHITE),
        "reconstructed": strip(reconstructed[:SHOWN] * WHITE),
    }


def judge_pictures(trial: Trial, fitted: Fitted, *, spent: int) -> Judged:
    """The metrics of the reconstructions, and of the answers that the same users got under the same
    defence."""
    outcome, uploaded = Nearness.of(fitted.arrays), trial.uploaded
    users = len(outcome.psnr)
    target = uploaded.truth(trial.model.target)[:users]
    group = user_groups(trial, uploaded, trial.model.target, slice(users))
    outcome = replace(outcome, capacity=capacity(trial), group=user_groups(trial, uploaded, "", slice(users)))
    outcomes: list[object] = [outcome, UserDecisions(uploaded.decisions[:users], target, group)]
    if uploaded.soft is not None:
        asked = (target.reshape(users, -1) >= 0).all(axis=1)
        outcomes.append(SoftOutputs(uploaded.soft[:users][asked], uploaded.heads))
        if target.ndim == 1:
            outcomes.append(Predictions(uploaded.soft[:users], target, group))
    shown = {name: base64.b64encode(fitted.arrays[name].tobytes()).decode() for name in STRIPS}
    figures = {"psnr": outcome.psnr, "ssim": outcome.ssim, "risk": outcome.published.risk}
    view = shown | {name: values[:SHOWN].tolist() for name, values in figures.items()}
    return Judged(metrics=measured(*outcomes), views={"reconstructions": view}, victims=users, spent=spent)


STRIPS = ("original", "reconstructed")


def _inverses(trained: DataSpec) -> Inverses:
    """The inverses of the covariance of the provider's training and validation samples (VICIOUS, Eq. 6)."""
    data = load(trained)
    return Inverses.of_moments(Moments.of(_pixels(data.values[part]) for part in _known(data)))


def _class_means(trained: DataSpec, target: str) -> NDArray[np.float32]:
    """The mean picture of each class (C, H, W, C) in [0, 1], of the same samples; a class without samples
    gets the mean of all."""
    data = load(trained)
    labels = data.labels[target]
    sums = np.zeros((len(data.attributes[target].classes), *data.values.shape[1:]))
    counts = np.zeros(len(sums))
    for part in _known(data):
        for number in np.unique(labels[part][labels[part] >= 0]):
            pictures = _pixels(data.values[part[labels[part] == number]])
            sums[number] += pictures.sum(axis=0, dtype=np.float64)
            counts[number] += len(pictures)
    means = sums / np.maximum(counts, 1.0).reshape(-1, 1, 1, 1)
    means[counts == 0] = sums.sum(axis=0) / max(counts.sum(), 1.0)
    return means.astype(np.float32)


def _known(data: Samples) -> list[NDArray[np.int64]]:
    """Where the provider's training and validation samples are, batch by batch."""
    chosen = np.concatenate([data.where("train"), data.where("validation")])
    return np.split(chosen, range(BATCH, len(chosen), BATCH))


def _samples(span: Span) -> NDArray[Any]:
    data, chosen = span_of(span)
    return data.values[chosen]


def _pixels(samples: NDArray[Any]) -> NDArray[np.float32]:
    return samples.astype(np.float32) / np.float32(WHITE)


def strip(pictures: NDArray[Any]) -> NDArray[np.uint8]:
    """A PNG file of pictures (N, H, W, C) from 0 to 255 side by side, its bytes."""
    from PIL import Image

    side_by_side = np.concatenate(np.rint(pictures).astype(np.uint8), axis=1)
    file = io.BytesIO()
    Image.fromarray(side_by_side.squeeze(2) if side_by_side.shape[2] == 1 else side_by_side).save(file, "PNG")
    return np.frombuffer(file.getvalue(), np.uint8)
