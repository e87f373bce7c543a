"""The plan of an audit: sizes, tests, and the settings of each."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from leakrange.jobs.recipe import DataSpec, OptimiserSpec
from leakrange.strict import Strict

__all__ = ["Attribute", "AuditPlan", "KnownScores", "TestName", "ViciousnessSettings"]

TestName = Literal["viciousness", "entropy", "curiosity"]
Finite = Annotated[float, Field(allow_inf_nan=False)]
Attribute = Annotated[str, Field(min_length=1, max_length=128)]


class ViciousnessSettings(Strict):
    """How a model is trained further (VICIOUS Appendix I.2), and when it is suspicious.

    The paper states the threshold alone. The rest is ours: a round is one pass over the labelled samples in
    batches of ``batch``, by the optimiser at learning rate ``lr``. ``mode`` is that of batch normalisation
    and dropout in these passes: in "eval" the statistics stay those that the model came with. ``output`` says
    which outputs are compared. Of the settings that were tried, these told honest models from vicious ones
    best (``docs/audit.md``).
    """

    rounds: Annotated[int, Field(ge=1, le=1000)] = 20
    batch: Annotated[int, Field(ge=1, le=4096)] = 50
    lr: Annotated[float, Field(gt=0.0, le=1.0)] = 1e-4
    optimiser: OptimiserSpec = OptimiserSpec()
    mode: Literal["eval", "train"] = "eval"
    output: Literal["logits", "softmax"] = "logits"
    threshold: Annotated[float, Field(gt=0.0, lt=1.0)] = 0.01


class KnownScores(Strict):
    """The scores that the same test gave to models whose behaviour is known; ``source`` says which."""

    source: Annotated[str, Field(min_length=1, max_length=1000)]
    honest: Annotated[list[Finite], Field(max_length=10_000)]
    dishonest: Annotated[list[Finite], Field(max_length=10_000)]


class AuditPlan(Strict):
    """With what a model is audited, and how.

    ``labelled`` samples are drawn from the data set's auxiliary samples and ``test`` ones from its test
    samples, by ``seed``; with ``labelled_from`` "test" from other test samples, for a set that keeps no
    auxiliary ones. "curiosity" needs ``sensitive``, the attribute that outputs are searched for.
    ``known`` are scores of known models, by test: they tell how often the test errs.
    """

    data: DataSpec
    labelled: Annotated[int, Field(ge=20, le=100_000)] = 500
    labelled_from: Literal["auxiliary", "test"] = "auxiliary"
    test: Annotated[int, Field(ge=20, le=100_000)] = 1000
    tests: Annotated[tuple[TestName, ...], Field(min_length=1)] = ("viciousness", "entropy")
    sensitive: Attribute | None = None
    viciousness: ViciousnessSettings = ViciousnessSettings()
    seed: Annotated[int, Field(ge=0, le=2**53)] = 0
    known: dict[TestName, KnownScores] = {}

    @model_validator(mode="after")
    def _meant(self) -> Self:
        if ("curiosity" in self.tests) != (self.sensitive is not None):
            raise ValueError("the test 'curiosity' and the 'sensitive' attribute need each other")
        return self
