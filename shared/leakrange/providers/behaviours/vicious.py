"""The vicious classifier: F is trained with a decoder G of its whole input (VICIOUS, Algorithm 1)."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, ClassVar, Self

from pydantic import model_validator

from leakrange.providers.behaviour import (
    RELEASES,
    Behaviour,
    BehaviourParameters,
    Judgement,
    Release,
    Role,
    Weight,
    share_equal,
)
from leakrange.providers.behaviours import behaviours
from leakrange.providers.reconstruction import LossWeights, ReconstructorSpec
from leakrange.strict import Strict
from leakrange.wire.errors import InvalidInput

if TYPE_CHECKING:
    from torch import Tensor, nn

    from leakrange.jobs.recipe import Schedule
    from leakrange.nets.classifier import Classifier
    from leakrange.providers.decoders.reconstruction import ReconstructionDecoder
    from leakrange.providers.loop import Lessons

__all__ = ["Vicious"]

BATCH = 500


class ViciousBeta(Strict):
    """Weights of classification (β^C) and of reconstruction (β^R), Eq. 4."""

    c: Weight = 1.0
    r: Weight = 3.0

    @model_validator(mode="after")
    def _some(self) -> Self:
        if not self.r:
            raise ValueError("a vicious model reconstructs: r is above 0 (behaviour 'honest' does not)")
        return self


class ViciousParameters(BehaviourParameters):
    """Target, weights, the release that G reads, its net, and the weights of its loss.

    ``sigmoid``: the targets are binary and have one logit each. G then reads these, whatever is released: a
    sigmoid is one-to-one, so that its soft values reveal the logits.
    """

    release: Release = "logits"
    beta: ViciousBeta = ViciousBeta()
    decoder: ReconstructorSpec = ReconstructorSpec()
    loss: LossWeights = LossWeights()
    sigmoid: bool = False


@behaviours.register("vicious")
class Vicious(Behaviour):
    """G learns to draw the input from the release while F learns to write it there, beside the target."""

    summary: ClassVar[str] = "hides its whole input in its outputs for a decoder that is trained with it"
    paper: ClassVar[str] = "VICIOUS"
    equation: ClassVar[str] = "Eqs. 2 to 4, Algorithm 1"
    releases: ClassVar[tuple[Release, ...]] = RELEASES
    Parameters: ClassVar[type[BehaviourParameters]] = ViciousParameters
    several: ClassVar[tuple[Role, ...]] = ("target",)
    reconstructs: ClassVar[bool] = True

    def __init__(
        self,
        parameters: Any,
        classifier: Classifier,
        sensitive_classes: int | tuple[int, ...],
        schedule: Schedule,
    ) -> None:
        from leakrange.nets.optimisers import optimiser
        from leakrange.nets.reconstructors import reconstructors

        super().__init__(parameters, classifier, sensitive_classes, schedule)
        parameter = next(classifier.parameters())
        chosen = parameters.decoder
        inputs = classifier.feature_count if parameters.release == "features" else classifier.classes
        if parameters.sigmoid and parameters.release != "features":
            inputs //= 2
        try:
            net = reconstructors[chosen.name].build(classifier.spec, inputs, chosen.width)
        except ValueError as e:
            raise InvalidInput(str(e)) from e
        self.reconstructor = net.to(parameter.device)
        both = [*classifier.parameters(), *self.reconstructor.parameters()]
        self.optimiser = optimiser(both, schedule)  # Adam moves each parameter by itself: two of them in one

    def modules(self) -> dict[str, nn.Module]:
        """F and G."""
        return {"classifier": self.classifier, "reconstructor": self.reconstructor}

    def _outputs(self, samples: Tensor) -> tuple[Tensor, Tensor]:
        """Logits, and the input of G, in float32."""
        import torch

        with torch.autocast(samples.device.type, dtype=torch.bfloat16, enabled=self.schedule.bf16):
            features = self.classifier.features(samples)
            logits = self.classifier.head(features)
        logits = logits.float()
        return logits, features.float() if self.parameters.release == "features" else self._read(logits)

    def _read(self, logits: Tensor) -> Tensor:
        """The input of G, from logits, where it does not read features."""
        from leakrange.nets.heads import soft
        from leakrange.nets.last_layers import of_second

        if self.parameters.sigmoid:
            return of_second(logits)
        return logits if self.parameters.release == "logits" else soft(logits, self.classifier.heads)

    def step(self, samples: Tensor, target: Tensor, sensitive: Tensor | None) -> Tensor:  # noqa: ARG002
        """Make one step of F with β^C·L^C + β^R·L^R, and of G with β^R·L^R (Algorithm 1, lines 8 to 19)."""
        from leakrange.nets.reconstructor import unscaled
        from leakrange.providers.reconstruction_loss import reconstruction_loss

        self.classifier.train()
        self.reconstructor.train()
        logits, releases = self._outputs(samples)
        pixels = unscaled(samples, self.classifier.spec)
        loss = self.parameters.beta.r * reconstruction_loss(
            self.reconstructor(releases), pixels, self.parameters.loss
        )
        if self.parameters.beta.c:
            loss = loss + self.parameters.beta.c * self.task.loss(logits, target)
        return self.descend(loss)

    def judge(self, logits: Tensor, validation: Lessons) -> Judgement:
        """Honesty, SSIM and PSNR; the score is honesty − α·(1 − SSIM) − γ·MSE, without β, as the paper's
        authors choose the epoch."""
        import torch

        from leakrange.nets.classifier import to_input
        from leakrange.nets.heads import answers
        from leakrange.nets.reconstructor import to_pixels
        from leakrange.providers.reconstruction_loss import ssim

        self.classifier.eval()
        self.reconstructor.eval()
        similarities, errors = [], []
        with torch.inference_mode():
            for part, part_logits in zip(
                torch.split(validation.inputs, BATCH), torch.split(logits, BATCH), strict=True
            ):
                if self.parameters.release == "features":
                    _, releases = self._outputs(to_input(part, self.classifier.spec))
                else:
                    releases = self._read(part_logits)
                drawings, pixels = self.reconstructor(releases), to_pixels(part)
                similarities.append(ssim(drawings, pixels))
                errors.append(((drawings - pixels) ** 2).mean(dim=(1, 2, 3)))
        squared = torch.cat(errors)
        similarity, mse = float(torch.cat(similarities).mean()), float(squared.mean())
        honesty = share_equal(answers(logits, self.classifier.heads), validation.target)
        weights = self.parameters.loss
        psnr = float(-10.0 * squared.clamp_min(1e-10).log10().mean())
        score = honesty - weights.ssim * (1.0 - similarity) - weights.huber * mse
        return Judgement(honesty, None, score, {"ssim": similarity, "psnr": psnr})

    def decoder(self) -> ReconstructionDecoder:
        """A copy of G."""
        from leakrange.providers.decoders.reconstruction import ReconstructionDecoder

        net = copy.deepcopy(self.reconstructor).cpu().eval()
        sigmoid = self.parameters.sigmoid and self.parameters.release != "features"
        return ReconstructionDecoder(
            net,
            "logits" if sigmoid else self.parameters.release,
            name=self.parameters.decoder.name,
            width=self.parameters.decoder.width,
            heads=self.classifier.heads,
            sigmoid=sigmoid,
        )
