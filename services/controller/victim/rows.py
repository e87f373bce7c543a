"""The answer to a try, row by row: what was released, the user's answers, and what providers and attackers
made of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leakrange.attacks import attacks
from leakrange.attacks.attack import AttributeAttack, Inference
from leakrange.data import Samples, names
from leakrange.metrics import softmax
from leakrange.metrics.reconstruction import psnr
from leakrange.scenario.plan import PlannedModel, PlannedPolicy
from leakrange.services.controller.victim.attackers import Attacker
from leakrange.services.controller.victim.demonstration import behaviour
from leakrange.services.controller.victim.samples import picture, samples_of
from leakrange.services.controller.victim.standing import StandingDemonstration
from leakrange.wire.errors import LeakrangeError
from leakrange.wire.heads import parted
from leakrange.wire.releases import ReleaseKind
from leakrange.wire.schemas import IntakeRecord
from leakrange.wire.trying import AttributeRelease, Guess, Label, Redrawn, Released, Row

__all__ = ["rows"]

FEWEST = 3
"""The number of training pictures of one label below which their mean says too much of each."""


def rows(
    standing: StandingDemonstration,
    records: Mapping[tuple[str, str], IntakeRecord],
    sample: NDArray[np.uint8],
    truth: Mapping[str, int],
) -> list[Row]:
    """A row for each defence, from the ``records`` of releases by model and defence."""
    shown = standing.shown
    data, _ = samples_of(shown)
    table = []
    for policy in shown.defences:
        releases = [
            _Release(standing, model, policy, records[model.id, policy.defence], truth).told(data, sample)
            for model in shown.models
            if (model.id, policy.defence) in records
        ]
        chain = [name for name, _ in policy.chain.stages]
        table.append(Row(defence=policy.defence, chain=chain, releases=releases))
    return table


@dataclass(frozen=True)
class _Release:
    """The release of one sample to a model under a defence, as its provider recorded it; ``truth`` are the
    sample's classes by attribute, −1 or none where unknown."""

    standing: StandingDemonstration
    model: PlannedModel
    policy: PlannedPolicy
    record: IntakeRecord
    truth: Mapping[str, int]

    def told(self, data: Samples, sample: NDArray[np.uint8]) -> Released:
        """All that is shown of it."""
        stream = self.standing.shown.stream(self.model, self.policy)
        assert stream is not None
        release, pictures = stream.released(self.model, self.policy), self.record.samples()
        drawn = _redrawn(sample, None if pictures is None else pictures[0])
        attacker = self.standing.attackers.get(self._cell)
        guess = None
        if attacker is not None:
            with suppress(LeakrangeError):  # for instance, it keeps nothing of what it learnt
                guess = self._guess(attacker)
        return Released(
            behaviour=behaviour(self.model),
            provider=self.model.provider,
            labels=self._labels(release),
            release=release,
            left=self._left(),
            guess=guess,
            redrawn=drawn,
            average=None if drawn is None else self._average(data, sample),
        )

    @property
    def _cell(self) -> tuple[str, str]:
        return self.model.id, self.policy.defence

    @property
    def _values(self) -> NDArray[np.float64]:
        return np.asarray(self.record.values, dtype=np.float64)

    @property
    def _decisions(self) -> list[int]:
        decisions: list[int] = np.ravel(self.record.decisions[0]).tolist()
        return decisions

    @property
    def _heads(self) -> Sequence[int]:
        return self.standing.shown.plan.heads(self.model)

    def _classes(self, attribute: str) -> list[str]:
        return self.standing.shown.plan.classes[self.model.data][attribute]

    def _right(self, attribute: str, label: int) -> bool | None:
        known = self.truth.get(attribute, -1)
        return label == known if known >= 0 else None

    def _labels(self, release: ReleaseKind) -> list[Label]:
        """The classes that the user got."""
        soft = softmax(self._values, self._heads) if release == "logits" else self._values
        result = []
        for attribute, decision, part in zip(
            names(self.model.target), self._decisions, parted(soft, self._heads), strict=True
        ):
            graded = _probabilities(part[0]) and not _one_hot(part[0])
            result.append(
                Label(
                    attribute=attribute,
                    label=self._classes(attribute)[decision],
                    confidence=float(min(1.0, part[0, decision])) if graded else None,
                    right=self._right(attribute, decision),
                )
            )
        return result

    def _left(self) -> list[AttributeRelease]:
        """The numbers of the release as they reached the provider."""
        return [
            AttributeRelease(
                attribute=attribute,
                classes=self._classes(attribute),
                values=[float(f"{value:.4g}") for value in part[0]],
            )
            for attribute, part in zip(
                names(self.model.target), parted(self._values, self._heads), strict=True
            )
        ]

    def _guess(self, attacker: Attacker) -> Guess | None:
        """The attacker's guess from the release; None if a provider's decoder cannot read it."""
        inference = self._inferred(attacker)
        if inference is None:
            return None
        attribute, place = attacker.attribute, int(inference.predicted[0])
        scores = np.clip(inference.scores[0].astype(np.float64), 0.0, None)
        return Guess(
            attribute=attribute,
            label=self._classes(attribute)[place],
            confidence=float(scores[place] / scores.sum()) if scores.sum() > 0 else 0.0,
            right=self._right(attribute, place),
            attack=attacker.attack,
            reached=attacker.reached,
            chance=attacker.chance,
            better=attacker.better,
        )

    def _inferred(self, attacker: Attacker) -> Inference | None:
        if attacker.job is not None:
            entry = attacks[attacker.attack]
            assert issubclass(entry, AttributeAttack)
            return entry.again(self.standing.learnt.get(self._cell, {}), self._values.astype(np.float32))
        if self.record.inferred is None or self.record.scores is None:
            return None
        every = names(self.model.sensitive)
        scores = np.asarray(self.record.scores, dtype=np.float32)
        whole = Inference(np.asarray(self.record.inferred), scores)
        return whole.of(every.index(attacker.attribute), [len(self._classes(name)) for name in every])

    def _average(self, data: Samples, sample: NDArray[np.uint8]) -> Redrawn | None:
        """The mean of the training pictures that have the labels of the decisions; None if hardly any picture
        has them."""
        alike = data.where("train")
        for attribute, decision in zip(names(self.model.target), self._decisions, strict=True):
            alike = alike[data.labels[attribute][alike] == decision]
        if len(alike) < FEWEST:
            return None
        return _redrawn(sample, data.values[alike].mean(axis=0))


def _redrawn(sample: NDArray[np.uint8], drawn: NDArray[np.floating] | None) -> Redrawn | None:
    """The picture (H, W, C) that a provider drew from the release; None if it drew none, or one of another
    shape."""
    if drawn is None or drawn.shape != sample.shape:
        return None
    seen = np.clip(np.rint(drawn), 0, 255).astype(np.uint8)
    near = psnr(sample[None] / 255.0, seen[None] / 255.0)
    return Redrawn(picture=picture(seen), psnr=round(float(near[0]), 2))


def _one_hot(values: NDArray[np.float64]) -> bool:
    return bool(np.isin(values, (0.0, 1.0)).all())


def _probabilities(values: NDArray[np.float64]) -> bool:
    return bool((values >= 0.0).all() and (values <= 1.0).all())
