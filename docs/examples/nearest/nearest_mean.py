import numpy as np

from leakrange.attacks import attacks
from leakrange.attacks.attack import Evidence, Inference
from leakrange.attacks.attribute_inference import AttributeInference

__all__ = ["NearestMean"]


@attacks.register("nearest-mean")
class NearestMean(AttributeInference):
    """The class whose auxiliary records have the nearest mean release."""

    name = "nearest-mean"
    summary = "the class whose average release is nearest"
    paper, equation = "", "argmin_c ‖x − μ_c‖"

    def infer(self, evidence: Evidence) -> Inference:
        """Predict the victims' class (V,), with minus the distance to each mean as scores (V, S)."""
        scores = np.full((len(evidence.observed), evidence.classes), -np.inf, dtype=np.float32)
        for number in np.unique(evidence.auxiliary_labels):
            mean = evidence.auxiliary[evidence.auxiliary_labels == number].mean(axis=0)
            scores[:, number] = -np.linalg.norm(evidence.observed - mean, axis=1)
        return Inference(scores.argmax(axis=1).astype(np.int64), scores)
