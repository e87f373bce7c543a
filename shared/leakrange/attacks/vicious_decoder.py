"""The vicious provider's own attack: the decoder that was trained with the classifier."""

from __future__ import annotations

from typing import ClassVar

from pydantic import BaseModel

from leakrange.attacks import attacks
from leakrange.attacks.attack import Attack, Knowledge
from leakrange.strict import Strict

__all__ = ["ViciousDecoder"]


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
