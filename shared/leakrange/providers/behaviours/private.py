"""A classifier that is trained with differential privacy: DP-SGD, by Opacus."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self

from pydantic import Field, model_validator

from leakrange.providers.behaviour import (
    RELEASES,
    Behaviour,
    BehaviourParameters,
    Judgement,
    Release,
    Role,
    share_equal,
)
from leakrange.providers.behaviours import behaviours
from leakrange.wire.errors import InvalidInput

if TYPE_CHECKING:
    from torch import Tensor, nn

    from leakrange.providers.loop import Lessons
    from leakrange.providers.model_config import PrivacyLedger

__all__ = ["Private"]

ACCOUNTANT = "rdp"


class PrivateParameters(BehaviourParameters):
    """What is promised of each training sample: (``epsilon``, ``delta``), or in place of ε the ``noise``, a
    multiple of the norm to which each sample's gradient is clipped, ``clip``."""

    epsilon: Annotated[float | None, Field(gt=0.0, le=1000.0)] = None
    noise: Annotated[float | None, Field(ge=0.1, le=1000.0)] = None
    delta: Annotated[float, Field(ge=1e-12, lt=0.01)] = 1e-5
    clip: Annotated[float, Field(gt=0.0, le=1000.0)] = 1.0

    @model_validator(mode="after")
    def _promises_one_thing(self) -> Self:
        if (self.epsilon is None) == (self.noise is None):
            raise ValueError("give either 'epsilon' or 'noise': each follows from the other")
        return self


@behaviours.register("honest/private")
class Private(Behaviour):
    """A standard classifier, each of whose steps adds Gaussian noise to the sum of its samples' clipped
    gradients. A batch takes each sample with the same probability (Poisson sampling), so batches differ in
    size. All steps of all epochs are accounted for, also where an earlier epoch is kept.

    The ledger treats the number of training samples as known, as Opacus does. The noise comes from torch's
    seeded generator, so that a training can be repeated: who knows the seed can take it away again.
    """

    summary: ClassVar[str] = "a standard classifier, trained with differential privacy (DP-SGD)"
    paper: ClassVar[str] = "Abadi et al. 2016"
    equation: ClassVar[str] = "Algorithm 1, with Poisson sampling; accounted for by Rényi divergences"
    releases: ClassVar[tuple[Release, ...]] = RELEASES
    Parameters: ClassVar[type[BehaviourParameters]] = PrivateParameters
    several: ClassVar[tuple[Role, ...]] = ("target",)
    samples_apart: ClassVar[bool] = True

    def study(self, lessons: Lessons) -> None:
        """Write the ledger, before anything is learnt. Raises `InvalidInput` for a net with batch norm, a
        schedule whose gradients are not of one sample each, and a promise that means nothing, or that no
        noise keeps."""
        _check_net(self.classifier)
        schedule, parameters = self.schedule, self.parameters
        if schedule.augment is True or schedule.bf16:
            raise InvalidInput(
                "DP-SGD clips the gradient of each sample: a copy would count as another sample, and bf16 "
                "rounds the norms by which they are clipped",
                hint="set 'augment' to false or 'varied', and leave out 'bf16'",
            )
        if parameters.delta >= 1 / len(lessons):
            raise InvalidInput(
                f"a delta of {parameters.delta:g} allows to publish one of {len(lessons)} samples",
                hint=f"choose one well below {1 / len(lessons):.1e}",
            )
        steps = schedule.epochs * (len(lessons) // schedule.batch)
        self.ledger = _ledger(parameters, schedule.batch / len(lessons), steps)
        self._clip_and_noise(self.ledger.noise)

    def _clip_and_noise(self, noise: float) -> None:
        """Have every step clip each sample's gradient, and add that much noise."""
        from opacus.grad_sample import GradSampleModule
        from opacus.optimizers import DPOptimizer
        from torch.optim import SGD

        for layer in self.classifier.modules():
            if getattr(layer, "inplace", False):  # hooks see what a layer gave, unless it is overwritten
                layer.inplace = False  # type: ignore[assignment]
        self.learning = [each for each in self.classifier.parameters() if each.requires_grad]
        self.samples = GradSampleModule(self.classifier)  # its hooks lie on the classifier's own layers
        self.mechanism = DPOptimizer(
            SGD(self.learning, lr=0.0),  # the schedule's own optimiser moves the parameters
            noise_multiplier=noise,
            max_grad_norm=self.parameters.clip,
            expected_batch_size=self.schedule.batch,
        )

    def step(self, samples: Tensor, target: Tensor, sensitive: Tensor | None) -> Tensor:  # noqa: ARG002
        """Minimise the cross-entropy on the target, by clipped gradients with noise. A batch that drew no
        samples moves by noise alone."""
        self.classifier.train()
        logits = self.forward(samples)
        return self.descend(self.task.loss(logits, target) if len(samples) else logits.sum())

    def descend(self, loss: Tensor) -> Tensor:
        """One step of the classifier, whose gradient Opacus clips sample by sample, and adds noise to."""
        self.mechanism.zero_grad()
        with warnings.catch_warnings():  # of hooks on the first layer, and of channels in another order
            warnings.simplefilter("ignore", UserWarning)
            loss.backward()  # type: ignore[no-untyped-call]
        self.mechanism.pre_step()
        self.optimiser.step()
        return loss.detach()

    def judge(self, logits: Tensor, validation: Lessons) -> Judgement:
        """The score is honesty alone."""
        from leakrange.nets.heads import answers

        honesty = share_equal(answers(logits, self.classifier.heads), validation.target)
        return Judgement(honesty, None, honesty)


def _check_net(net: nn.Module) -> None:
    """Raise `InvalidInput` for a net whose answer about a sample depends on the others of its batch."""
    from torch.nn.modules.batchnorm import _BatchNorm

    from leakrange.nets import nets

    if any(isinstance(layer, _BatchNorm) for layer in net.modules()):
        apart = [name for name, each in nets.items() if each.samples_apart]
        raise InvalidInput(
            "the net has batch norm, which mixes the samples of a batch: no gradient is of one sample alone",
            hint=f"take a net without it: {' or '.join(apart)}",
        )


def _ledger(parameters: PrivateParameters, rate: float, steps: int) -> PrivacyLedger:
    """What is promised in so many ``steps``, each of a sample with probability ``rate``. Where ε is given,
    the noise is the least that keeps to it, to a hundredth of ε. Raises `InvalidInput` where none does."""
    from opacus.accountants import create_accountant
    from opacus.accountants.utils import get_noise_multiplier

    from leakrange.providers.model_config import PrivacyLedger

    accountant: Any = create_accountant(ACCOUNTANT)
    with warnings.catch_warnings():  # that more orders would prove less: what is promised holds all the same
        warnings.simplefilter("ignore", UserWarning)
        try:
            noise = parameters.noise or get_noise_multiplier(
                target_epsilon=parameters.epsilon,
                target_delta=parameters.delta,
                sample_rate=rate,
                steps=steps,
                accountant=ACCOUNTANT,
                epsilon_tolerance=(parameters.epsilon or 0.0) / 100,
            )
        except ValueError as error:
            raise InvalidInput(
                f"no noise proves an epsilon of {parameters.epsilon:g} for a delta of {parameters.delta:g}",
                hint="choose a larger epsilon or delta",
            ) from error
        accountant.history = [(noise, rate, steps)]
        epsilon = float(accountant.get_epsilon(delta=parameters.delta))
    return PrivacyLedger(
        epsilon=epsilon, delta=parameters.delta, noise=noise, clip=parameters.clip, rate=rate, steps=steps
    )
