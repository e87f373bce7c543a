"""PASS: each sample is replaced by one of the protector's own, drawn so that it tells the useful attribute
but not the private one."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator
from typing_extensions import override

from leakrange.data.samples import Attribute, names
from leakrange.defences.input import input_defences
from leakrange.defences.input.trained import (
    ObfuscatorParameters,
    ObfuscatorTraining,
    Outcome,
    Task,
    TrainedInputDefence,
)
from leakrange.defences.trained import DefenceConfig
from leakrange.strict import Strict
from leakrange.wire.digests import digest_each
from leakrange.wire.errors import InvalidInput
from leakrange.wire.samples import SampleSpec

if TYPE_CHECKING:
    from torch import Tensor

    from leakrange.defences.substitutes.net import Substitution
    from leakrange.nets.optimisers import Optimiser
    from leakrange.providers.loop import Lessons

__all__ = ["Pass", "PassParameters", "SubstitutionTraining", "Weights"]

Weight = Annotated[float, Field(ge=0.0, le=1e3)]
Share = Annotated[float, Field(ge=0.0, le=1.0)]


class Weights(Strict):
    """``useful``: λ, by default N/M; ``general``: μ, by default 0.2·N; for M private and N useful
    attributes."""

    useful: Weight | None = None
    general: Weight | None = None


class PassParameters(ObfuscatorParameters):
    """``substitutes``: the largest number of training samples that are drawn to replace others. ``skew``: for
    some attributes the shares that their classes have among them, in order, e.g. ``{digit: [0.5, 0.1, …]}``.
    ``synthetic``: substitutes are nobody's sample; each is drawn from a normal distribution of the training
    samples of its useful classes, with so many principal components. ``embedding`` is the length of f(x) and
    g(x'), ``temperature`` τ. ``sticky``: a keyed hash of the sample draws its substitute, so that the same
    sample always gets the same one."""

    weights: Weights = Weights()
    substitutes: Annotated[int, Field(ge=2, le=65_536)] = 4096
    skew: dict[str, Annotated[tuple[Share, ...], Field(min_length=2)]] = Field(default_factory=dict)
    synthetic: Annotated[int, Field(ge=1, le=4096)] | None = None
    embedding: Annotated[int, Field(ge=2, le=4096)] = 512
    temperature: Annotated[float, Field(gt=0.0, le=10.0)] = 0.01
    sticky: bool = False

    @model_validator(mode="after")
    def _skewed(self) -> Self:
        for name, shares in self.skew.items():
            if name not in (*names(self.private), *names(self.useful)):
                raise ValueError(f"skew: {name!r} is no private or useful attribute")
            if abs(sum(shares) - 1.0) > 1e-3:
                raise ValueError(f"skew: the shares of {name!r} add up to {sum(shares):g}, and not to 1")
        return self

    def resolved(self, private: int, useful: int) -> tuple[float, float]:
        """λ and μ for so many attributes."""
        weights = self.weights
        lam = useful / private if weights.useful is None else weights.useful
        return lam, 0.2 * useful if weights.general is None else weights.general


@input_defences.register("pass")
class Pass(TrainedInputDefence[PassParameters]):
    """Draw a substitute for each sample, by the similarity of learned embeddings (Algorithm 2).

    A training sample of somebody leaves the device, or a ``synthetic`` one of the range and form that samples
    have.
    """

    name = "pass"
    at_use = frozenset({"sticky"})
    substitutes = True
    Parameters = PassParameters
    summary = "replace the sample by another one, drawn so that private attributes cannot be told from it"
    paper = "PASS"
    equation = "Eqs. 2 to 8, Algorithms 1 and 2"

    @property
    @override
    def deterministic(self) -> bool:
        """Whether it is sticky. Without that a substitute is drawn for each upload."""
        return self.parameters.sticky

    @property
    @override
    def keyed(self) -> bool:
        """Whether it is sticky, since the keyed hash needs a key."""
        return self.parameters.sticky

    @override
    def check(self, attributes: Mapping[str, Attribute]) -> None:
        """See `TrainedInputDefence.check`; a skew has one share for each class."""
        super().check(attributes)
        for name, shares in self.parameters.skew.items():
            if len(shares) != (classes := len(attributes[name].classes)):
                raise InvalidInput(f"skew: {name!r} has {classes} classes, {len(shares)} shares are given")

    @classmethod
    @override
    def build(cls, parameters: Any, config: DefenceConfig) -> Substitution:
        """See `TrainedInputDefence.build`; ``size`` holds the number of ``substitutes``."""
        from leakrange.defences.substitutes.net import Substitution
        from leakrange.nets import nets

        if not (count := config.size.get("substitutes")):
            raise ValueError("it does not say how many substitutes there are")
        embedding = nets[config.net.name].build(config.input, parameters.embedding, config.net.width)
        private = len(names(parameters.private))
        return Substitution(embedding, count, private, parameters.temperature)

    @override
    def study(self, task: Task) -> ObfuscatorTraining:
        """See `TrainedInputDefence.study`."""
        return SubstitutionTraining(self.parameters, task)

    @override
    def obfuscate(
        self, module: Any, samples: NDArray[Any], spec: SampleSpec, draw: np.random.Generator
    ) -> NDArray[Any]:
        """Draw a substitute for each sample. It depends on the sample only by its probability."""
        substitutes: NDArray[Any] = module.substituted(samples, self._uniform(samples, draw))
        return substitutes

    def _uniform(self, samples: NDArray[Any], draw: np.random.Generator) -> NDArray[np.float64]:
        """A number of [0, 1) for each sample (B,). With ``sticky`` it is a keyed hash of the sample, so that
        nobody without the key can tell which substitute is drawn."""
        if not self.parameters.sticky:
            return draw.random(len(samples))
        keyed = hashlib.blake2b(
            str(self.parameters.artifact).encode(), key=self._key[:64], digest_size=8, person=b"sticky-sample"
        )
        digests = b"".join(digest_each(keyed, (np.ascontiguousarray(each).data for each in samples)))
        words = np.frombuffer(digests, dtype="<u8") >> np.uint64(11)
        return words.astype(np.float64) * 2.0**-53


class SubstitutionTraining(ObfuscatorTraining):
    """Algorithm 1: f and g move together down L̂ = Σ L̂_S + λ Σ L̂_U + μ L̂_X (Eq. 3)."""

    module: Substitution

    def __init__(self, parameters: PassParameters, task: Task) -> None:
        from leakrange.defences.substitutes.bounds import estimates, loss_constant
        from leakrange.defences.substitutes.choice import choose
        from leakrange.nets.optimisers import optimiser

        super().__init__(task)
        private, useful = _columns(task)
        self.chosen = choose(private | useful, parameters.substitutes, parameters.skew, task.seed)
        for name, labels in useful.items():
            if missing := set(labels.tolist()) - set(labels[self.chosen].tolist()):
                raise InvalidInput(
                    f"no substitute has class {min(missing)} of {name!r}, which training samples have",
                    hint="give every class a share above 0, or take more substitutes",
                )
        lessons = task.lessons
        self.config = task.config.model_copy(update={"size": {"substitutes": len(self.chosen)}})
        self.module = Pass.build(parameters, self.config).to(lessons.inputs.device)
        self.module.substitutes.copy_(lessons.inputs[self.chosen])
        self.sources = self.chosen
        if parameters.synthetic is not None:
            self._synthesise(useful, parameters.synthetic)
        self.labels = lessons.target[self.chosen]
        # A synthetic substitute has the useful classes it was drawn for, and no private class.
        labelled = useful if parameters.synthetic is not None else private | useful
        self.substitute_labels = {name: labels[self.chosen] for name, labels in labelled.items()}
        self.weights = parameters.resolved(len(private), len(useful))
        self.constant = loss_constant(useful, len(private), len(self.chosen), *self.weights)
        self.estimates = estimates(private, useful, lessons.inputs.cpu().numpy())
        self.optimiser = optimiser(self.module.parameters(), task.schedule)

    def _synthesise(self, useful: Mapping[str, NDArray[np.int64]], rank: int) -> None:
        """Replace the chosen samples by draws; their sources are all samples of their classes."""
        import torch

        from leakrange.data.splits import stream
        from leakrange.defences.substitutes.choice import synthesised

        spec, inputs = self.config.input, self.task.lessons.inputs.cpu().numpy()
        classes = (
            np.unique(np.stack(list(useful.values())), axis=1, return_inverse=True)[1].ravel()
            if useful
            else np.zeros(len(inputs), np.int64)
        )
        scale = np.asarray(spec.scale)  # so that one variance suits all values
        rows = (inputs / scale).reshape(len(inputs), -1)
        drawn = synthesised(rows, classes, self.chosen, rank, stream(self.task.seed, "synthetic"))
        samples = spec.nearest(drawn.reshape(len(drawn), *spec.shape) * scale)
        self.module.substitutes.copy_(torch.from_numpy(samples))
        self.sources = np.flatnonzero(np.isin(classes, classes[self.chosen]))

    @override
    def optimisers(self) -> tuple[Optimiser, ...]:
        """The one optimiser, of f and g."""
        return (self.optimiser,)

    @override
    def step(self, inputs: Tensor, target: Tensor, sensitive: Tensor | None, /) -> Tensor:
        """See `ObfuscatorTraining.step`."""
        from leakrange.defences.substitutes.net import general_loss, private_loss, useful_loss

        assert sensitive is not None
        self.module.train()
        log_p = self.module(inputs)
        zero = log_p.new_zeros(())
        hidden = zip(sensitive.T, self.task.private.values(), strict=True)
        kept = zip(target.T, self.labels.T, self.task.useful.values(), strict=True)
        terms = {
            "private": sum((private_loss(log_p, labels, of) for labels, of in hidden), zero),
            "useful": sum((useful_loss(log_p, labels, others, of) for labels, others, of in kept), zero),
            "general": general_loss(log_p),
        }
        lam, mu = self.weights
        self.count(terms)
        return self.optimiser.descend(terms["private"] + lam * terms["useful"] + mu * terms["general"])

    @override
    def entry(self, loss: float) -> dict[str, float]:
        """The mean of each term, and the upper bound of L (``bound``, Theorem 4.1); in nats."""
        means = super().entry(loss)
        return means if self.constant is None else means | {"bound": loss + self.constant}

    @override
    def outcome(self, parts: Mapping[str, Lessons]) -> Outcome:
        """Figures by split: H(X'|X), H(X'), and how often a substitute has the sample's class of a useful
        attribute.

        ``classes``, of the last split: the probability that a sample's class (row) meets each class of its
        substitute; for private attributes only where substitutes are samples, whose classes are known.

        ``privacy``, by split: the information of substitutes about each private attribute, I(X'; S), the
        worst γ and its δ, and δ over samples (Appendix B), all in nats. f and g were made to tell little of
        the training samples: for users the held-out ones speak, on which counting gives too high values
        rather than too low ones. The record has the estimates from before the training, and the indices of
        the samples that substitutes are, or are drawn from.
        """
        import torch

        from leakrange.defences.substitutes.bounds import class_joint, divergences, examined

        figures: dict[str, dict[str, float]] = {}
        privacy: dict[str, dict[str, dict[str, float]]] = {}
        met: dict[str, NDArray[np.float64]] = {}
        attributes = {**self.task.private, **self.task.useful}
        for split, part in parts.items():
            assert part.sensitive is not None
            labels = torch.cat([part.sensitive, part.target], dim=1)
            split_figures = examined(self.module, part.inputs, labels, list(attributes.values()))
            joints = dict(zip(attributes, split_figures.joints, strict=True))
            met = {name: class_joint(joints[name], of) for name, of in self.substitute_labels.items()}
            figures[split] = {
                "samples": float(len(part)),
                "general": split_figures.general,
                "spread": split_figures.spread,
                **{f"agreement {name}": float(np.trace(met[name])) for name in self.task.useful},
            }
            leaks = [divergences(joints[name]) for name in self.task.private]
            if split == "train":
                self.module.gammas.copy_(torch.from_numpy(np.stack([gamma for gamma, _ in leaks])))
            privacy[split] = self._privacy(part.inputs, leaks)
        lam, mu = self.weights
        before = {"lambda": lam, "mu": mu, "constant": self.constant, **self.estimates}
        return Outcome(
            figures,
            {
                "estimates": before,
                "privacy": privacy,
                "substitutes": self.sources.tolist(),
                "classes": {name: joint.tolist() for name, joint in met.items()},
            },
        )

    def _privacy(
        self, inputs: Tensor, leaks: list[tuple[NDArray[np.float64], float]]
    ) -> dict[str, dict[str, float]]:
        """Of each private attribute, given its γ by substitute and class and its information."""
        from leakrange.defences.substitutes.bounds import deltas, sample_deltas

        by_sample = sample_deltas(self.module, inputs, np.stack([gamma for gamma, _ in leaks])).T
        return {
            name: {
                "information": information,
                "gamma": float(gamma.max()),
                "delta": float(deltas(gamma).max()),
                "sample_delta_mean": float(sample_delta.mean()),
                "sample_delta_max": float(sample_delta.max()),
            }
            for name, (gamma, information), sample_delta in zip(
                self.task.private, leaks, by_sample, strict=True
            )
        }


def _columns(task: Task) -> tuple[dict[str, NDArray[np.int64]], dict[str, NDArray[np.int64]]]:
    """The labels (N,) of each private and of each useful attribute."""
    assert task.lessons.sensitive is not None

    def of(attributes: Mapping[str, int], labels: Tensor) -> dict[str, NDArray[np.int64]]:
        return dict(zip(attributes, labels.cpu().numpy().T, strict=True))

    return of(task.private, task.lessons.sensitive), of(task.useful, task.lessons.target)
