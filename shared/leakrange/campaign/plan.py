"""A plan file: which rows of which papers are to be measured, in order of priority."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import Field, ValidationError

from leakrange.jobs.recipe import TrainingRecipe
from leakrange.papers import Paper, papers
from leakrange.papers.trials import PaperTrial, batches
from leakrange.scenario.language import parse
from leakrange.scenario.matrix import expand
from leakrange.scenario.plan import Plan, PlannedTrial
from leakrange.strict import Strict
from leakrange.wire.errors import InvalidInput, InvalidScenario

__all__ = ["CampaignPlan", "Piece", "Selection", "read_plan", "recipes"]

REFUSED = {
    "audit": "an auditor downloads the model over HTTP",
    "student": "a student's outputs are handed in over HTTP",
}
"""Kinds of attack that need a range, with the reason."""


class Selection(Strict):
    """Rows of one paper, as ``leakrange reproduce`` takes them: its ``--table``, ``--rows``, ``--set`` and
    ``--seeds``."""

    paper: str
    table: list[str] = []
    rows: str = ""
    chosen: Annotated[dict[str, Any], Field(alias="set")] = {}
    seeds: Annotated[int, Field(ge=1)] | None = None

    def pieces(self) -> Iterator[Piece]:
        """Its trials, each with the plan of the run that would measure it. Raises `InvalidInput` for rows
        that the paper does not have, and for rows that need a range."""
        if self.paper not in papers:
            raise InvalidInput(f"there is no paper {self.paper!r}; there are: {', '.join(papers)}")
        entry = papers[self.paper]
        try:
            paper = entry(entry.Settings.model_validate(self.chosen))
        except ValidationError as error:
            first = error.errors()[0]
            raise InvalidInput(
                f"{self.paper}: set {'.'.join(map(str, first['loc']))}: {first['msg']}",
                hint=f"the settings are {', '.join(entry.Settings.model_fields)}",
            ) from error
        rows = entry.select(self.table or list(entry.sheet.tables), self.rows)
        for batch in batches(paper.wanted(rows, self.seeds or entry.sheet.seeds)):
            plan = _expanded(paper, batch.scenario(paper.sheet.name))
            for planned in plan.trials:
                result = planned.result
                trial = batch.trials[result.provider, result.defence, result.attack]
                yield Piece(paper, trial, plan, planned)


class CampaignPlan(Strict):
    """A plan file: its selections ``reproduce``, the worthiest first."""

    reproduce: Annotated[list[Selection], Field(min_length=1)]

    def pieces(self) -> list[Piece]:
        """All trials, each once, in the order of the file. Raises `InvalidInput`."""
        pieces = (piece for selection in self.reproduce for piece in selection.pieces())
        return list({str(piece.cell): piece for piece in pieces}.values())


@dataclass(frozen=True)
class Piece:
    """One trial of a paper, and the plan in which it is the trial ``planned``."""

    paper: Paper
    trial: PaperTrial
    plan: Plan
    planned: PlannedTrial

    def __post_init__(self) -> None:
        service = next(model for model in self.plan.models if model.id == self.planned.model).service
        reason = REFUSED.get(self.planned.result.kind)
        if service is not None:
            reason = f"its provider is a {service.kind} service, which compares and recognises people"
        if reason is not None:
            result = self.planned.result
            raise InvalidInput(
                f"a campaign cannot measure {result.attack} of {self.paper.sheet.name!r}, of the kind "
                f"{result.kind!r}: {reason}",
                hint="leave these rows to leakrange reproduce",
            )

    @property
    def cell(self) -> list[Any]:
        """The name of its cell."""
        return self.paper.cell(self.trial)


def read_plan(file: Path) -> CampaignPlan:
    """The plan of a YAML or JSON file. Raises `InvalidInput`."""
    try:
        return CampaignPlan.model_validate(yaml.safe_load(file.read_text(encoding="utf-8")))
    except OSError as error:
        raise InvalidInput(f"{file} cannot be read: {error.strerror}") from error
    except yaml.YAMLError as error:
        raise InvalidInput(f"{file} is no YAML: {error}") from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "the file"
        raise InvalidInput(
            f"{file}: {where}: {first['msg']}",
            hint="a plan is a list 'reproduce' of selections: paper, table, rows, set, seeds",
        ) from error


def _expanded(paper: Paper, scenario: dict[str, Any]) -> Plan:
    try:
        return expand(parse(scenario))
    except InvalidScenario as error:
        lines = "; ".join(f"{each['path']}: {each['message']}" for each in error.mistakes)
        raise InvalidInput(f"{paper.sheet.name}: no run can measure this: {lines}") from error


def recipes(plan: Plan, trial: PlannedTrial) -> list[TrainingRecipe]:
    """The recipes of all models that a trial needs, each once and after the models that it builds on."""
    needs = trial.needs
    streams = [each for each in plan.streams if each.id in {*needs.streams, *needs.undefended}]
    asked = {name for role in needs.probes.values() for name in role}
    probes = [each for each in plan.probes if each.id in asked]
    used = {trial.model, *(each.model for each in streams), *(each.model for each in probes)}
    models = [each for each in plan.models if each.id in used]
    models += [each for each in plan.shadows if each.id in needs.shadows]
    chains = [each.local for each in streams] + [each.local for each in probes]
    artifacts = {digest for chain in chains for digest in chain.artifacts}
    ordered = [each.recipe for each in plan.obfuscators if each.artifact in artifacts]
    ordered += [each.extractor.recipe for each in models if each.extractor is not None]
    ordered += [each.recipe for each in models]
    return list({recipe.digest(): recipe for recipe in ordered}.values())
