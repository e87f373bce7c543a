"""Procedurally drawn faces: any number, any size, nobody's likeness."""

from __future__ import annotations

from leakrange.data.catalogue import Content, DataSet, Outline, datasets
from leakrange.data.faces.portrait import draw
from leakrange.data.faces.traits import FACE_ATTRIBUTES, IDENTITIES, face_labels, sample
from leakrange.jobs.recipe import DataSpec
from leakrange.wire.samples import SampleSpec

__all__ = ["SynthFaces"]


@datasets.register("synthfaces")
class SynthFaces(DataSet):
    """Cartoon faces of 256 invented people with independent attributes.

    Skin, hair, facial hair and the shape of the face belong to the person; age, smile, glasses, pose, light,
    clothes and background to the picture. Attributes are independent of each other. A number of pictures or a
    size other than the default gives other pictures of the same kind; the size alone changes neither people
    nor labels.
    """

    name = "synthfaces"
    description = "procedurally drawn cartoon faces of 256 invented people with independent attributes"
    person = "identity"
    attributes = FACE_ATTRIBUTES
    spec = SampleSpec.picture(64, 64, 3)
    source = "drawn by Leakrange from a seed; shows nobody"
    default_count = 4000
    notes = (f"drawn faces of {IDENTITIES} invented people: easier than photographs, and nobody's likeness",)

    @classmethod
    def read(cls, spec: DataSpec) -> Content:
        """``spec.count`` pictures at ``spec.size``, the same for the same ``spec.seed``."""
        traits, labels = sample(spec.count or cls.default_count, spec.seed)
        return Content(values=draw(traits, spec.size or cls.spec.shape[0], spec.seed), labels=labels)

    @classmethod
    def outline(cls, spec: DataSpec) -> Outline:
        """The labels of these pictures; nothing is drawn."""
        return Outline(labels=face_labels(spec.count or cls.default_count, spec.seed))
