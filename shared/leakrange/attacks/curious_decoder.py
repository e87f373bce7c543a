"""The curious provider's own attack: the decoder that was trained with the classifier."""

from __future__ import annotations

from typing import ClassVar

from pydantic import BaseModel

from leakrange.attacks import attacks
from leakrange.attacks.attack import Attack, Knowledge
from leakrange.strict import Strict

__all__ = ["CuriousDecoder"]


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
