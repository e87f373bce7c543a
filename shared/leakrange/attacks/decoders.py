"""What a provider reads by the decoder that was trained with its classifier: from users' own outputs, or from
those of a student that its answers have taught."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import BaseModel, Field

from leakrange.attacks import attacks
from leakrange.attacks.attack import Attack, Knowledge
from leakrange.jobs.versions import VersionChange
from leakrange.strict import Strict

__all__ = ["CuriousDecoder", "Distillation", "ViciousDecoder"]


class CuriousDecoderParameters(Strict):
    """None: everything was fixed when the provider was trained."""


@attacks.register("curious-decoder")
class CuriousDecoder(Attack):
    """The provider applies its decoder (a net G or a threshold) to the users' uploads. The controller reads
    the inferences."""

    name: ClassVar[str] = "curious-decoder"
    summary: ClassVar[str] = "the provider decodes what its own classifier hid in the uploaded outputs"
    paper: ClassVar[str] = "HBC"
    equation: ClassVar[str] = "Eq. 4, Eq. 10"
    consumes: ClassVar[tuple[str, ...]] = ("logits", "softmax", "sample")
    grants: ClassVar[tuple[str, ...]] = ("training of the classifier", "every release that users upload")
    kind: ClassVar[str] = "decoder"
    knowledge: ClassVar[tuple[Knowledge, ...]] = ("unaware",)
    Parameters: ClassVar[type[BaseModel]] = CuriousDecoderParameters


class ViciousDecoderParameters(Strict):
    """None: everything was fixed when the provider was trained."""


@attacks.register("vicious-decoder")
class ViciousDecoder(Attack):
    """The provider applies its decoder G to the users' uploads. The controller reads the reconstructions."""

    name: ClassVar[str] = "vicious-decoder"
    summary: ClassVar[str] = "the provider reconstructs the input that its classifier hid in uploaded outputs"
    paper: ClassVar[str] = "VICIOUS"
    equation: ClassVar[str] = "Eq. 3, Eq. 4, Algorithm 1"
    consumes: ClassVar[tuple[str, ...]] = ("logits", "softmax", "features")
    grants: ClassVar[tuple[str, ...]] = ("training of the classifier", "every release that users upload")
    kind: ClassVar[str] = "reconstruction-decoder"
    knowledge: ClassVar[tuple[Knowledge, ...]] = ("unaware",)
    Parameters: ClassVar[type[BaseModel]] = ViciousDecoderParameters


FEWEST = 50
"""The least number of records that a student learns from."""


class DistillationParameters(Strict):
    """The student and its training.

    ``auxiliary``: the largest number of the user's own unlabelled records to query; its data and its budget
    may allow fewer. ``more`` names another data set whose training samples the user queries as well.
    ``net``: the student's; the teacher's unless given. ``width``: of its layers, relative to the teacher's.
    ``dropout``: the share that each of its dropout layers leaves out; the net's own unless given.
    ``temperature`` of the soft outputs in the loss; 1 leaves them as they are.

    ``threshold``: how the provider cuts the scores of its decoder for a hidden attribute of two classes. It
    keeps the "teacher"'s cut, as the paper's does. Or it knows the attribute of its own training records, and
    has as large a share of the users' scores above the cut as of these have class 1 ("shares"): that supposes
    that users are like them. Or it runs the student, which users have given it or which is published, on
    these records, and takes the cut that is right most often, both classes counted alike ("records").
    """

    auxiliary: Annotated[int, Field(ge=FEWEST, le=100_000)] = 100_000
    more: str | None = None
    net: str | None = None
    width: Annotated[float, Field(gt=0.0, le=2.0)] = 0.5
    dropout: Annotated[float, Field(ge=0.0, lt=1.0)] | None = None
    temperature: Annotated[float, Field(ge=0.1, le=100.0)] = 1.0
    epochs: Annotated[int, Field(ge=1, le=1000)] = 30
    batch: Annotated[int, Field(ge=8, le=4096)] = 50
    lr: Annotated[float, Field(gt=0.0, le=1.0)] = 2e-3
    threshold: Literal["teacher", "shares", "records"] = "teacher"


@attacks.register("distillation")
class Distillation(Attack):
    """A user queries unlabelled records and trains a student on the soft outputs by Eq. 11. Users of the
    student upload its outputs, and the provider applies its decoder to these.

    The student is trained in the fleet, which does not have the decoder; the provider never sees the student,
    unless ``threshold: records`` says so.
    """

    name: ClassVar[str] = "distillation"
    version: ClassVar[int] = 2
    changes: ClassVar[Mapping[int, VersionChange]] = {
        2: VersionChange(
            "it cuts scores by records where both classes count alike", {"threshold": ("records",)}
        )
    }
    summary: ClassVar[str] = "the provider decodes the outputs of a student that its answers have taught"
    paper: ClassVar[str] = "HBC"
    equation: ClassVar[str] = "Eq. 11, Table 6"
    consumes: ClassVar[tuple[str, ...]] = ("softmax",)
    grants: ClassVar[tuple[str, ...]] = ("training of the teacher", "every release of the student's users")
    kind: ClassVar[str] = "student"
    knowledge: ClassVar[tuple[Knowledge, ...]] = ("aware",)
    Parameters: ClassVar[type[BaseModel]] = DistillationParameters
