"""A population of models whose behaviour is known, each with the scores that the tests gave it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from leakrange.audit.case import examined
from leakrange.audit.examination import examine_loaded
from leakrange.audit.population import ErrorRates, error_rates, rates_by_group
from leakrange.jobs.audit import AuditPlan, KnownScores, TestName
from leakrange.jobs.recipe import TrainingRecipe
from leakrange.providers.artifact import load
from leakrange.strict import Strict
from leakrange.wire.errors import InvalidArtifact, InvalidInput

__all__ = ["Member", "ModelPopulation", "member_of"]

HONEST = "honest"
Value = str | int | float


class Member(Strict):
    """One model, by the digest of its recipe and the SHA-256 of its file. ``groups`` are properties to group
    it by, ``scores`` and ``thresholds`` are by test. ``accuracy`` is that of its target on the test samples,
    None where the test of viciousness was not made."""

    artifact: str
    sha256: str
    dishonest: bool
    groups: dict[str, Value]
    scores: dict[TestName, float]
    thresholds: dict[TestName, float]
    accuracy: float | None
    rounds: list[float]


class ModelPopulation(Strict):
    """Models that were audited by one plan."""

    plan: AuditPlan
    members: list[Member] = []

    def known(self, test: TestName) -> KnownScores | None:
        """The models' scores, in the form in which the plan of another audit takes them. None where the test
        was not made. Raises `InvalidInput` as `rates` does."""
        self._threshold(test)
        honest = [each.scores[test] for each in self.members if test in each.scores and not each.dishonest]
        others = [each.scores[test] for each in self.members if test in each.scores and each.dishonest]
        if not honest and not others:
            return None
        source = f"{len(honest)} honest and {len(others)} other models on {self.plan.data.name}"
        return KnownScores(source=source, honest=honest, dishonest=others)

    def rates(self, test: TestName) -> tuple[ErrorRates, dict[str, dict[object, ErrorRates]]] | None:
        """The error rates of a test, of all models and by each of their groups with more than one value. None
        where the test was not made. Raises `InvalidInput` where the models' scores do not share one
        threshold."""
        threshold = self._threshold(test)
        if threshold is None:
            return None
        tested = [each for each in self.members if test in each.scores]
        scores = np.array([each.scores[test] for each in tested])
        dishonest = np.array([each.dishonest for each in tested])
        names = dict.fromkeys(name for each in tested for name in each.groups)
        groups = {name: [each.groups.get(name, "") for each in tested] for name in names}
        groups = {name: values for name, values in groups.items() if len(set(values)) > 1}
        whole = error_rates(scores, dishonest, threshold)
        parts = rates_by_group(scores, dishonest, groups, threshold)
        return whole, {name: _without_missing(values) for name, values in parts.items()}

    def _threshold(self, test: TestName) -> float | None:
        thresholds = {each.thresholds[test] for each in self.members if test in each.scores}
        if len(thresholds) > 1:
            raise InvalidInput(
                f"the models of this population have {len(thresholds)} thresholds of {test}: an earlier "
                "version scored some of them otherwise",
                hint="audit them again into a new file: leakrange audit population FOLDER --out NEW.json",
            )
        return thresholds.pop() if thresholds else None


def member_of(folder: Path, plan: AuditPlan) -> Member:
    """Audit the trained model in an artifact folder, and describe it by its record.

    Raises `InvalidArtifact` for a folder that is none, and the errors of `examine_loaded`.
    """
    artifact = load(folder)
    try:
        recipe = TrainingRecipe.model_validate(artifact.record["recipe"])
    except (KeyError, ValueError) as error:
        raise InvalidArtifact(f"{folder}: its record holds no recipe of this version") from error
    verdict = examine_loaded(
        examined(artifact.classifier, artifact.config),
        plan,
        sha256=artifact.sha256,
        size=0,
        disjoint=True if recipe.data == plan.data else None,
    )
    moved = verdict.of("viciousness")
    return Member(
        artifact=recipe.digest(),
        sha256=artifact.sha256,
        dishonest=recipe.behaviour != HONEST,
        groups=_groups(recipe),
        scores={each.test: each.score for each in verdict.findings},
        thresholds={each.test: each.threshold for each in verdict.findings},
        accuracy=None if moved is None else moved.figures["accuracy_before"],
        rounds=[] if moved is None else moved.rounds,
    )


def _without_missing(values: dict[object, ErrorRates]) -> dict[object, ErrorRates]:
    """Rates without those of models that lack the property: honest models, for one, have no ratio."""
    return {value: rates for value, rates in values.items() if value != ""}


def _groups(recipe: TrainingRecipe) -> dict[str, Value]:
    properties: dict[str, Value] = {
        "data": recipe.data.name,
        "behaviour": recipe.behaviour,
        "net": recipe.net.name,
        "width": recipe.net.width,
        "epochs": recipe.schedule.epochs,
    }
    if (release := recipe.parameters.get("release")) is not None:
        properties["release"] = str(release)
    if (ratio := _ratio(recipe.parameters.get("beta"))) is not None:
        properties["ratio"] = ratio
    return properties


def _ratio(weights: Any) -> str | None:
    """The weight of what is hidden to that of the task, as the papers print it: β^R/β^C, or β^s/β^y."""
    if not isinstance(weights, Mapping):
        return None
    for hidden, task in (("r", "c"), ("s", "y")):
        if hidden in weights and task in weights:
            return f"{weights[hidden]:g}/{weights[task]:g}"
    return None
