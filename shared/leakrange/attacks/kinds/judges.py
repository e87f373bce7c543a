"""Who says which person a drawing shows: a classifier, and the training pictures that are nearest to it. The
attacker has none of these."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from leakrange.attacks.kinds.kind import ReleaseStore
from leakrange.data import datasets, load
from leakrange.jobs.recipe import DataSpec, NetSpec, Schedule
from leakrange.metrics import unit_length
from leakrange.nets import nets
from leakrange.wire.digests import digest
from leakrange.wire.errors import InvalidInput

if TYPE_CHECKING:
    from leakrange.nets.classifier import Classifier

__all__ = ["Judges"]

MOST = 10_000
"""The most training pictures among which the nearest is looked for."""
REAL = 500
"""The most real pictures that are judged as drawings are."""
EVALUATOR = Schedule(epochs=20, batch=50, lr=2e-3)


class Judges:
    """The judges of a model of ``spec`` whose classes are those of ``target``.

    The evaluator, a net as ``chosen``, learns from the auxiliary pictures, on which the model was not
    trained; its work is done once for all trials of that data. ``gallery`` (G,) are the places of the
    training pictures in ``data``, and ``person`` (N,) the classes of all. Raises `InvalidInput` where there
    are too few pictures of either.
    """

    def __init__(self, spec: DataSpec, target: str, chosen: NetSpec, releases: ReleaseStore) -> None:
        import torch

        self.data = load(spec)
        self.person = self.data.labels[target]
        self.classes = len(self.data.attributes[target].classes)
        self.gallery, self.real = self._known("train")[:MOST], self._known("test")[:REAL]
        self._lessons = self._known("auxiliary")
        if not len(self.gallery) or len(self._lessons) < 2 * self.classes:
            raise InvalidInput(
                f"{len(self.gallery)} training and {len(self._lessons)} auxiliary pictures of {self.classes} "
                f"people: judges need some of the former, and two of each of the latter",
                hint="raise the 'auxiliary' share of the data, or take more pictures",
            )
        taken = [spec.model_dump(mode="json"), datasets[spec.name].version, target]
        name = digest(["evaluator", *taken, chosen.model_dump(mode="json")])
        arrays = dict(releases.once(name, lambda: self._learnt(chosen)))
        self._features = arrays.pop("features")
        self._net = nets[chosen.name].build(self.data.spec, self.classes, chosen.width).eval()
        self._net.load_state_dict({name: torch.from_numpy(np.array(each)) for name, each in arrays.items()})

    def _known(self, split: Any) -> NDArray[np.int64]:
        places = self.data.where(split)
        return places[self.person[places] >= 0]

    def _learnt(self, chosen: NetSpec) -> dict[str, NDArray[Any]]:
        """The evaluator's weights, and the ``features`` (G, F) that it gives the gallery, of length 1."""
        from leakrange.providers.distillation import distil

        truth = np.eye(self.classes, dtype=np.float32)[self.person[self._lessons]]
        lessons, spec = self.data.values[self._lessons], self.data.spec
        net = distil(lessons, truth, spec=spec, net=chosen, schedule=EVALUATOR)
        weights = {name: each.numpy() for name, each in net.state_dict().items()}
        return weights | {"features": _features(net, self.data.values[self.gallery])}

    def seen(self, pictures: NDArray[Any]) -> tuple[dict[str, NDArray[np.int64]], NDArray[np.float32]]:
        """Whom each of `leakrange.metrics.inversion.JUDGES` sees in ``pictures`` (N, *shape), (N,); and the
        greatest cosine (N, Y) to training pictures of each class, −1 where there is none."""
        from leakrange.providers.inference import outputs

        shown = self.person[self.gallery]
        cosines = _features(self._net, pictures) @ self._features.T
        similarity = np.full((self.classes, len(pictures)), -1.0, np.float32)
        np.maximum.at(similarity, shown, cosines.T)
        flat, others = (
            each.reshape(len(each), -1).astype(np.float32)
            for each in (pictures, self.data.values[self.gallery])
        )
        far = (others**2).sum(axis=1) - 2.0 * flat @ others.T
        by = {
            "evaluator": outputs(self._net, pictures, "logits").argmax(axis=1),
            "neighbour": shown[cosines.argmax(axis=1)],
            "pixels": shown[far.argmin(axis=1)],
        }
        return by, similarity.T


def _features(net: Classifier, pictures: NDArray[Any]) -> NDArray[np.float32]:
    from leakrange.providers.inference import outputs

    return unit_length(outputs(net, pictures, "features")).astype(np.float32)
