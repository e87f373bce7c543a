"""What is measured on one model: honesty, curiosity and entropy on the test images."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from leakrange.data import ImageSet
from leakrange.metrics import accuracy, entropy_bits, majority_share
from leakrange.reproduction.cells import Cell

if TYPE_CHECKING:
    from leakrange.providers.artifact import Artifact

__all__ = ["Measure", "measure"]


@dataclass(frozen=True)
class Measure:
    """How curiosity about ``sensitive`` is measured: "own" by the provider's own G or τ, "overlearning" by
    nets that are fitted on the model's ``release`` for the training images (HBC Section 5.1.1)."""

    kind: Literal["own", "overlearning"]
    sensitive: str
    release: Literal["logits", "softmax"]

    def identity(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self)


def measure(model: Artifact, images: ImageSet, target: str, wanted: Measure, seed: int) -> Cell:
    """The figures of one row on ``images``' test split: ``honesty``, ``curiosity``, their majority classes'
    shares (all in [0, 1]), ``entropy`` of soft outputs in bits (mean), and ``parameters`` and ``seconds``
    of the model.

    Honesty is over images whose target is known, curiosity over those whose sensitive attribute is.
    """
    from leakrange.providers.inference import outputs

    test = _known(images, "test", target)
    logits = outputs(model.classifier, images.images[test], "logits")
    soft = outputs(model.classifier, images.images[test], "softmax")
    hidden = _known(images, "test", wanted.sensitive)
    truth = images.labels[wanted.sensitive][hidden]
    released = outputs(model.classifier, images.images[hidden], wanted.release)
    if wanted.kind == "own":
        assert model.decoder is not None
        inferred, _ = model.decoder.infer(released, wanted.release)
    else:
        inferred = _overlearned(model, images, wanted, released, seed)
    return {
        "honesty": accuracy(logits.argmax(axis=1), images.labels[target][test]),
        "majority_target": majority_share(images.labels[target][test], _classes(images, target)),
        "curiosity": accuracy(inferred, truth),
        "majority_sensitive": majority_share(truth, _classes(images, wanted.sensitive)),
        "entropy": float(entropy_bits(soft).mean()),
        "samples": len(hidden),
        "parameters": model.record["parameters"],
        "seconds": model.record["seconds"],
        "chosen_epoch": model.record["chosen_epoch"],
    }


def _overlearned(
    model: Artifact, images: ImageSet, wanted: Measure, observed: NDArray[np.float32], seed: int
) -> NDArray[np.int64]:
    from leakrange.attacks.attack import Evidence
    from leakrange.attacks.attribute_inference import AttributeInference, AttributeInferenceParameters
    from leakrange.providers.inference import outputs

    known = _known(images, "train", wanted.sensitive)
    evidence = Evidence(
        auxiliary=outputs(model.classifier, images.images[known], wanted.release),
        auxiliary_labels=images.labels[wanted.sensitive][known],
        observed=observed,
        classes=_classes(images, wanted.sensitive),
        release=wanted.release,
        seed=seed,
    )
    attack = AttributeInference(AttributeInferenceParameters(sensitive=wanted.sensitive))
    return attack.infer(evidence).predicted


def _known(images: ImageSet, split: str, attribute: str) -> NDArray[np.int64]:
    chosen = images.where(split)
    return chosen[images.labels[attribute][chosen] >= 0]


def _classes(images: ImageSet, attribute: str) -> int:
    return len(images.attributes[attribute].classes)
