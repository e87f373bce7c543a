"""The provider's own attack: it decodes the users' uploads."""

from __future__ import annotations

from typing import Any, ClassVar

from leakrange.attacks.attack import Attack, Inference
from leakrange.attacks.kinds import kinds
from leakrange.attacks.kinds.attribute import judge_guesses
from leakrange.attacks.kinds.cell import Cell, Needs, Offer
from leakrange.attacks.kinds.silent import SilentKind
from leakrange.attacks.kinds.target import Target
from leakrange.attacks.kinds.trial import Judged, Trial, Uploaded
from leakrange.wire.errors import NotFound

__all__ = ["DecoderKind", "decoded", "what_is_decoded"]


@kinds.register("decoder")
class DecoderKind(SilentKind):
    """Needs no queries and no fit: the provider's inferences come with the uploads."""

    name: ClassVar[str] = "decoder"
    leakage: ClassVar[str] = "auc"
    asks = None

    def target(self, attack: type[Attack], given: dict[str, Any], provider: Offer) -> Target | str:
        """What the provider's model hides for its decoder."""
        return what_is_decoded(attack, given, provider)

    def plan(self, cell: Cell) -> Needs | None:
        """One stream of users' uploads."""
        return Needs(streams=cell.uploads())

    def judge(self, trial: Trial) -> Judged:
        """Compares the inferences with the labels that the users' edge clients registered."""
        return judge_guesses(trial, trial.uploaded, decoded(trial, trial.uploaded), seen=trial.budget)


def what_is_decoded(attack: type[Attack], given: dict[str, Any], provider: Offer) -> Target | str:
    """The attribute that the provider's decoder infers, or the reason why there is none."""
    if not provider.decodes or provider.sensitive is None:
        return "it decodes nothing"
    classes = provider.attributes[provider.sensitive].classes
    return Target(attack, provider.sensitive, classes, attack.Parameters.model_validate(given))


def decoded(trial: Trial, uploaded: Uploaded) -> Inference:
    """What the provider inferred from uploads. Raises `NotFound` where it has no decoder."""
    if uploaded.inferred is None:
        raise NotFound(f"the provider of {trial.model.id} has no decoder: it inferred nothing")
    return uploaded.inferred
