"""Translators that PASS is compared with: what each of them goes down. Their training is that of all, see
`leakrange.defences.input.translating`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import Field
from typing_extensions import override

from leakrange.defences.input import input_defences
from leakrange.defences.input.trained import ObfuscatorParameters
from leakrange.defences.input.translating import Keeping, Observation, Translation

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["Adv", "Bdq", "Gap", "Mass", "Msda", "Ppdar", "Spact"]


class AdvParameters(Keeping):
    """``weight``: λ. ``budget``: k, the nats that the adversary may learn of each private attribute. Both
    defaults are ours."""

    weight: Annotated[float, Field(ge=0.0, le=1e3)] = 10.0
    budget: Annotated[float, Field(ge=0.0, le=10.0)] = 0.0


@input_defences.register("adv")
class Adv(Translation[AdvParameters]):
    """Σ_U H(u|x') + λ Σ_S max(0, KL(p(s|x') ‖ p(s)) − k)², by the protector's own classifiers (Bertran et
    al. 2019, Adversarially Learned Representations for Information Obfuscation and Inference). T is given
    noise, as there."""

    name = "adv"
    noisy = True
    Parameters = AdvParameters
    summary = "translate the sample so that the protector's adversary is left with the prior"
    paper = "Bertran et al. 2019 (ALR)"
    equation = "Σ H(u|x') + λ Σ max(0, KL(p(s|x') ‖ p(s)) − k)²"

    @override
    def loss(self, batch: Observation) -> dict[str, Tensor]:
        """See `Translation.loss`."""
        from leakrange.defences.translation import divergence

        parameters = self.parameters
        divergences = [divergence(logits, prior) for logits, _, prior in batch.guesses()]
        above = sum(
            ((each - parameters.budget).clamp(min=0.0).square() for each in divergences), batch.nothing()
        )
        return {"useful": batch.useless(), "private": parameters.weight * above}


class BdqParameters(Keeping):
    """``weight``: α; the default is ours."""

    weight: Annotated[float, Field(ge=0.0, le=1e3)] = 2.0


@input_defences.register("bdq")
class Bdq(Translation[BdqParameters]):
    """Σ_U H(u|x') − α Σ_S H(p(·|x')), the entropy of the adversary's answers (Kumawat & Nagahara 2022,
    Privacy-Preserving Action Recognition via Motion Difference Quantization). Their encoder of blur,
    difference and quantisation is for video; this is its training, of a translator for any sample."""

    name = "bdq"
    Parameters = BdqParameters
    summary = "translate the sample so that the protector's adversary is uncertain"
    paper = "Kumawat & Nagahara 2022 (BDQ)"
    equation = "Σ H(u|x') − α Σ H(p(·|x'))"

    @override
    def loss(self, batch: Observation) -> dict[str, Tensor]:
        """See `Translation.loss`."""
        from leakrange.providers.losses import entropy

        doubt = sum((entropy(logits.softmax(1)).mean() for logits, _, _ in batch.guesses()), batch.nothing())
        return {"useful": batch.useless(), "private": -self.parameters.weight * doubt}


class GapParameters(ObfuscatorParameters):
    """``distortion``: D, the mean squared error that is allowed, in squared units of a net's input; .4 is
    that of MaSS's authors for values of deviation 1. ``penalty``: ρ, ours. Useful attributes only serve to
    judge it, and teach it nothing."""

    distortion: Annotated[float, Field(gt=0.0, le=1e6)] = 0.4
    penalty: Annotated[float, Field(gt=0.0, le=1e6)] = 100.0


@input_defences.register("gap")
class Gap(Translation[GapParameters]):
    """−Σ_S H(s|x') + ρ max(0, E‖x' − x‖² − D), by the penalty method (Huang et al. 2018, Generative
    Adversarial Privacy). As in the paper, T is given noise."""

    name = "gap"
    noisy = True
    Parameters = GapParameters
    summary = "translate the sample so that the protector's adversary errs, within a bound on the distortion"
    paper = "Huang et al. 2018 (GAP)"
    equation = "−Σ H(s|x') + ρ max(0, E‖x' − x‖² − D)"

    @override
    def loss(self, batch: Observation) -> dict[str, Tensor]:
        """See `Translation.loss`."""
        parameters = self.parameters
        beyond = (batch.distortion() - parameters.distortion).clamp(min=0.0)
        return {"private": -batch.mistaken(), "distortion": parameters.penalty * beyond}


class MassParameters(ObfuscatorParameters):
    """``margin``: m, the nats of each private attribute that may leak; ``kept``: n, the share of the entropy
    of each useful one that has to be kept. ``general``: μ, and its ``temperature`` τ, are those of the
    authors' code. So is the weight 1 of both penalties; the other defaults are ours."""

    margin: Annotated[float, Field(ge=0.0, le=10.0)] = 0.0
    kept: Annotated[float, Field(ge=0.0, le=1.0)] = 1.0
    general: Annotated[float, Field(ge=0.0, le=1e3)] = 0.2
    temperature: Annotated[float, Field(gt=0.0, le=10.0)] = 0.07


@input_defences.register("mass")
class Mass(Translation[MassParameters]):
    """Σ_S φ(I(x'; s) − m) + Σ_U φ(n − I(x'; u)) + μ InfoNCE(x', x) with φ(v) = max(0, v) + max(0, v)²
    (Chen et al. 2024, MaSS: Multi-attribute Selective Suppression). Both I are the protector's estimates
    H(·) − H(·|x'). The net that compares x' and x learns with T."""

    name = "mass"
    compares = "translator"
    Parameters = MassParameters
    summary = (
        "translate the sample so that no more of private attributes is told than a margin, and the rest is"
    )
    paper = "Chen et al. 2024 (MaSS)"
    equation = "Σ φ(I(x';s) − m) + Σ φ(n − I(x';u)) + μ InfoNCE(x', x)"

    @override
    def loss(self, batch: Observation) -> dict[str, Tensor]:
        """See `Translation.loss`."""
        from leakrange.defences.translation import entropy, info_nce, information

        parameters = self.parameters
        private = [information(*each) for each in batch.guesses()]
        useful = [parameters.kept * entropy(each[2]) - information(*each) for each in batch.kept]
        assert batch.embedding is not None
        alike = info_nce(batch.embedding(batch.shown), batch.embedding(batch.inputs), parameters.temperature)
        return {
            "private": sum((_violation(each - parameters.margin) for each in private), batch.nothing()),
            "useful": sum((_violation(each) for each in useful), batch.nothing()),
            "general": parameters.general * alike,
        }


def _violation(by: Tensor) -> Tensor:
    above = by.clamp(min=0.0)
    return above + above.square()


Weight = Annotated[float, Field(ge=0.0, le=1e3)]


class MsdaParameters(ObfuscatorParameters):
    """``private_weight``: β_i. ``useful_weight``: β_a. ``distortion_weight``: β_d. The defaults are ours."""

    private_weight: Weight = 1.0
    useful_weight: Weight = 1.0
    distortion_weight: Weight = 1.0


@input_defences.register("msda")
class Msda(Translation[MsdaParameters]):
    """−β_i Σ_S [log(1 − p(s|x')) + log(1 − max p(·|x'))] + β_a Σ_U H(u|x') + β_d E‖x' − x‖² (Malekzadeh et
    al. 2019, Mobile Sensor Data Anonymization)."""

    name = "msda"
    Parameters = MsdaParameters
    summary = "translate the sample so that the protector's adversary errs and doubts, near to what it was"
    paper = "Malekzadeh et al. 2019 (MSDA)"
    equation = "−β_i Σ [log(1 − p_s) + log(1 − max p)] + β_a Σ H(u|x') + β_d E‖x' − x‖²"

    @override
    def loss(self, batch: Observation) -> dict[str, Tensor]:
        """See `Translation.loss`."""
        from leakrange.defences.translation import evasion

        parameters = self.parameters
        evasions = sum((evasion(logits, labels) for logits, labels, _ in batch.guesses()), batch.nothing())
        return {
            "private": parameters.private_weight * evasions,
            "useful": parameters.useful_weight * batch.useless(),
            "distortion": parameters.distortion_weight * batch.distortion(),
        }


class PpdarParameters(Keeping):
    """``weight``: γ. ``adversaries``: their number. ``restart``: the epochs after which the next of them
    starts anew. None restarts in the last epochs, so that all have learnt in the end. The defaults are ours.
    """

    weight: Annotated[float, Field(ge=0.0, le=1e3)] = 1.0
    adversaries: Annotated[int, Field(ge=1, le=16)] = 4
    restart: Annotated[int, Field(ge=1, le=1000)] = 10


@input_defences.register("ppdar")
class Ppdar(Translation[PpdarParameters]):
    """Σ_U H(u|x') − γ min_k Σ_S H_k(s|x'), against the best of K adversaries (Wu et al. 2020,
    Privacy-Preserving Deep Action Recognition: restarting and ensembles)."""

    name = "ppdar"
    Parameters = PpdarParameters
    summary = "translate the sample so that the best of several adversaries errs"
    paper = "Wu et al. 2020 (PPDAR)"
    equation = "Σ H(u|x') − γ min_k Σ H_k(s|x')"

    def __init__(self, parameters: PpdarParameters) -> None:
        super().__init__(parameters)
        self.adversaries = parameters.adversaries

    @override
    def loss(self, batch: Observation) -> dict[str, Tensor]:
        """See `Translation.loss`."""
        import torch

        best = torch.stack([batch.mistaken(each) for each in range(self.adversaries)]).min()
        return {"useful": batch.useless(), "private": -self.parameters.weight * best}

    @override
    def restarted(self, epoch: int) -> int | None:
        """See `Translation.restarted`."""
        parameters = self.parameters
        turn, between = divmod(epoch, parameters.restart)
        if between or epoch > parameters.epochs - parameters.restart:
            return None
        return turn % parameters.adversaries


class SpactParameters(Keeping):
    """``weight``: ω, 1 in the authors' code. ``temperature`` is that of NT-Xent, ``masked`` the share of
    values set to 0 in a view. Masking is ours: in the paper views are two frames of a film."""

    weight: Annotated[float, Field(ge=0.0, le=1e3)] = 1.0
    temperature: Annotated[float, Field(gt=0.0, le=10.0)] = 0.1
    masked: Annotated[float, Field(ge=0.0, lt=1.0)] = 0.25


@input_defences.register("spact")
class Spact(Translation[SpactParameters]):
    """Σ_U H(u|x') − ω NT-Xent of two views of each x' (Dave et al. 2022, SPAct: Self-supervised Privacy
    Preservation for Action Recognition). It knows no private attribute; the adversaries for those only serve
    to judge it, and teach it nothing."""

    name = "spact"
    compares = "observers"
    Parameters = SpactParameters
    summary = "translate the sample so that a contrastive adversary cannot tell samples apart"
    paper = "Dave et al. 2022 (SPAct)"
    equation = "Σ H(u|x') − ω NT-Xent(x')"

    def contrast(self, batch: Observation) -> Tensor:
        """NT-Xent of two views of each x' of the batch."""
        from leakrange.defences.translation import masked, nt_xent

        assert batch.embedding is not None
        first, second = (batch.embedding(masked(batch.shown, self.parameters.masked)) for _ in range(2))
        return nt_xent(first, second, self.parameters.temperature)

    @override
    def challenge(self, batch: Observation) -> Tensor:
        """See `Translation.challenge`."""
        return super().challenge(batch) + self.contrast(batch)

    @override
    def loss(self, batch: Observation) -> dict[str, Tensor]:
        """See `Translation.loss`."""
        return {"useful": batch.useless(), "private": -self.parameters.weight * self.contrast(batch)}
