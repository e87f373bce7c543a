"""What is measured on one model: honesty, curiosity and entropy on the test images."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from leakrange.data import Samples
from leakrange.defences.model.pruning import Prune, PruneParameters
from leakrange.jobs.recipe import DataSpec, NetSpec, Schedule
from leakrange.metrics import accuracy, entropy_bits, majority_share
from leakrange.reproduction.cells import Cell

if TYPE_CHECKING:
    from leakrange.nets.classifier import Classifier
    from leakrange.providers.artifact import Artifact

__all__ = ["Measure", "measure"]

STUDENT_WIDTH, STUDENT_BATCH = 0.5, 50
"""The user has a fourth of the provider's images: smaller batches, or hardly a step is made."""
HAIR = "hair-color"
VERSION = 1
"""Raised when the same model gives other figures than before."""


@dataclass(frozen=True)
class Measure:
    """How curiosity about ``sensitive`` is measured: "own" by the provider's own G or τ; "overlearning" by
    nets that are fitted on the model's ``release`` for the training images (HBC Section 5.1.1); "student" by
    the provider's own again, on a student of half the width that the model's soft outputs for the user's
    images have taught in ``epochs`` (Section 5.8).

    The user's images are the auxiliary ones, and the training images of the set ``unlabelled`` without a hair
    colour, where it is named: the provider's set has none of those.
    """

    kind: Literal["own", "overlearning", "student"]
    sensitive: str
    release: Literal["logits", "softmax"]
    epochs: int = 0
    pruned: float = 0.0
    """Share of all weights, before anything is asked (Section 5.7); nets that overlearn know of it."""
    unlabelled: str = ""

    def identity(self) -> dict[str, Any]:
        """As plain values, with the version of the code that measures."""
        return {**asdict(self), "version": VERSION}


def measure(model: Artifact, images: Samples, target: str, wanted: Measure, seed: int) -> Cell:
    """The figures of one row on ``images``' test split: ``honesty``, ``curiosity``, their majority classes'
    shares (all in [0, 1]), ``entropy`` of soft outputs in bits (mean), and ``parameters`` and ``seconds``
    of the model; of a student, how many ``answers`` taught it.

    Honesty is over images whose target is known, curiosity over those whose sensitive attribute is.
    """
    from leakrange.providers.inference import outputs

    classifier, asked = model.classifier, {}
    if wanted.kind == "student":
        own = _users(images, wanted)
        classifier, asked = _student(model, own, wanted, seed), {"answers": len(own)}
    if wanted.pruned:
        classifier = Prune(PruneParameters(amount=wanted.pruned)).apply(classifier)
    test = _known(images, "test", target)
    logits = outputs(classifier, images.values[test], "logits")
    soft = outputs(classifier, images.values[test], "softmax")
    hidden = _known(images, "test", wanted.sensitive)
    truth = images.labels[wanted.sensitive][hidden]
    released = outputs(classifier, images.values[hidden], wanted.release)
    if wanted.kind == "overlearning":
        inferred = _overlearned(classifier, images, wanted, released, seed)
    else:
        assert model.decoder is not None
        inferred, _ = model.decoder.infer(released, wanted.release)
    return {
        "honesty": accuracy(logits.argmax(axis=1), images.labels[target][test]),
        "majority_target": majority_share(images.labels[target][test], _classes(images, target)),
        "curiosity": accuracy(inferred, truth),
        "majority_sensitive": majority_share(truth, _classes(images, wanted.sensitive)),
        "entropy": float(entropy_bits(soft).mean()),
        "samples": len(hidden),
        "parameters": classifier.parameter_count(),
        "seconds": model.record["seconds"],
        "chosen_epoch": model.record["chosen_epoch"],
        **asked,
    }


def _users(images: Samples, wanted: Measure) -> NDArray[np.uint8]:
    """A user's own images (N, H, W, C), for which it asks the provider."""
    from leakrange.data import load

    own = images.values[images.where("auxiliary")]
    if not wanted.unlabelled:
        return own
    more = load(DataSpec(name=wanted.unlabelled, size=own.shape[1], validation=0.0, auxiliary=0.0))
    theirs = more.where("train")
    without = theirs[more.labels[HAIR][theirs] < 0]
    return np.concatenate([own, more.values[without]])


def _student(model: Artifact, own: NDArray[np.uint8], wanted: Measure, seed: int) -> Classifier:
    from leakrange.providers.distillation import distil
    from leakrange.providers.inference import outputs

    net = NetSpec(name=model.config.net, width=STUDENT_WIDTH * model.config.width)
    schedule = Schedule(epochs=wanted.epochs, batch=STUDENT_BATCH)
    return distil(
        own,
        outputs(model.classifier, own, "softmax"),
        spec=model.classifier.spec,
        net=net,
        schedule=schedule,
        seed=seed,
    )


def _overlearned(
    classifier: Classifier, images: Samples, wanted: Measure, observed: NDArray[np.float32], seed: int
) -> NDArray[np.int64]:
    from leakrange.attacks.attack import Evidence
    from leakrange.attacks.attribute_inference import AttributeInference, AttributeInferenceParameters
    from leakrange.providers.inference import outputs

    known = _known(images, "train", wanted.sensitive)
    evidence = Evidence(
        auxiliary=outputs(classifier, images.values[known], wanted.release),
        auxiliary_labels=images.labels[wanted.sensitive][known],
        observed=observed,
        classes=_classes(images, wanted.sensitive),
        release=wanted.release,
        seed=seed,
    )
    attack = AttributeInference(AttributeInferenceParameters(sensitive=wanted.sensitive))
    return attack.infer(evidence).predicted


def _known(images: Samples, split: str, attribute: str) -> NDArray[np.int64]:
    chosen = images.where(split)
    return chosen[images.labels[attribute][chosen] >= 0]


def _classes(images: Samples, attribute: str) -> int:
    return len(images.attributes[attribute].classes)
