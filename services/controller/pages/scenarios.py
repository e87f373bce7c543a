"""``/scenarios``: ready scenarios by the data that they need, and a form that writes a new one."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any

from fastapi import APIRouter, Form, Query, Request, Response
from fastapi.responses import HTMLResponse
from pydantic import BaseModel, Field

from leakrange.data import DataSet, datasets
from leakrange.defences.chain import STAGES
from leakrange.defences.stages import name_of
from leakrange.scenario import registered
from leakrange.scenario.answers import ScenarioAnswers, answer_behaviours, answer_defences, scenario_text
from leakrange.scenario.document import Scenario
from leakrange.scenario.forecast import Forecast
from leakrange.scenario.language import parse
from leakrange.scenario.missing import is_here, missing_data
from leakrange.scenario.shipped import Shipped, shipped
from leakrange.services.controller.pages.editor import begin, editor
from leakrange.services.controller.pages.rendering import fragment, show
from leakrange.services.controller.scenarios.service import ScenarioService
from leakrange.services.controller.visitors import Operating, Reading, Visitor
from leakrange.wire.errors import InvalidScenario

router = APIRouter(include_in_schema=False)

GROUPS = ("No files needed", "Data that is here", "Data that is missing")
Name = Annotated[str, Field(max_length=256)]
MOST_SEEDS = 20
MOST_CLASSES = 4


@dataclass(frozen=True)
class ReadyScenario:
    """A ready scenario: its data sets, the papers of its attacks and trained defences, what to do about data
    that is not here, and what it takes, where that is known."""

    about: Shipped
    data: list[str]
    papers: list[str]
    missing: dict[str, str]
    cost: Forecast | None

    @property
    def group(self) -> str:
        """The heading that it stands under."""
        if self.missing:
            return GROUPS[2]
        entries = [datasets[name] for name in self.data]
        return GROUPS[0 if all(each.procedural() or each.bundled for each in entries) else 1]


class FormAnswers(BaseModel):
    """The fields of the form."""

    name: Annotated[str, Field(max_length=64)] = "my-scenario"
    data: Name = "digits"
    target: Name = ""
    hidden: Name | None = None
    behaviour: Name = "curious/parameterized"
    defences: Annotated[list[Name], Field(max_length=16)] = []
    budget: Annotated[int, Field(ge=1, le=10_000_000)] = 1000
    repeats: Annotated[int, Field(ge=1, le=MOST_SEEDS)] = 3

    def answers(self) -> ScenarioAnswers:
        """The answers that these fields stand for: a seed for each repeat."""
        return ScenarioAnswers(
            **self.model_dump(include={"name", "data", "target", "behaviour", "budget"}),
            hidden=self.hidden or "",
            defences=tuple(self.defences),
            seeds=tuple(range(self.repeats)),
        )

    def settled(self) -> FormAnswers:
        """The same with attributes that the data set has: the first and the second, where others are
        named."""
        entry = datasets.get(self.data)
        names = [] if entry is None else list(entry.attributes)
        target = self.target if self.target in names else next(iter(names), "")
        others = [*(name for name in names if name != target), ""]
        hidden = self.hidden if self.hidden in others else others[0]
        return self.model_copy(update={"target": target, "hidden": hidden})


@router.get("/scenarios")
async def scenarios(request: Request, visitor: Reading) -> Response:
    """What there is to begin with."""
    return show(request, "scenarios.html.j2", visitor=visitor, **await _ready(request, visitor, costs=False))


@router.get("/scenarios/list")
async def listed(request: Request, visitor: Reading) -> Response:
    """The list alone, with what each scenario takes."""
    values = await _ready(request, visitor, costs=True)
    return HTMLResponse(fragment(request, "scenarios_list.html.j2", visitor=visitor, **values))


@router.get("/scenarios/form")
async def form(request: Request, visitor: Reading, given: Annotated[FormAnswers, Query()]) -> Response:
    """The form, as far as it is filled in."""
    return _form(request, visitor, given.settled())


@router.post("/scenarios/form")
async def write(request: Request, visitor: Reading, given: Annotated[FormAnswers, Form()]) -> Response:
    """The editor with the scenario, or the form again with what does not fit together."""
    try:
        text = scenario_text(given.answers())
    except InvalidScenario as error:
        return _form(request, visitor, given, error)
    return await editor(request, visitor, text)


@router.post("/scenarios/form/start")
async def start(request: Request, visitor: Operating, given: Annotated[FormAnswers, Form()]) -> Response:
    """The same, and the run begins."""
    try:
        text = scenario_text(given.answers())
    except InvalidScenario as error:
        return _form(request, visitor, given, error)
    return await begin(request, visitor, text)


def _form(
    request: Request, visitor: Visitor, given: FormAnswers, error: InvalidScenario | None = None
) -> Response:
    entry = datasets.get(given.data)
    return show(
        request,
        "scenario_form.html.j2",
        status=200 if error is None else error.status,
        visitor=visitor,
        given=given,
        mistakes=[] if error is None else [each["message"] for each in error.extra["mistakes"]],
        sets={name: each.description for name, each in datasets.items() if is_here(each)},
        attributes={} if entry is None else _attributes(entry),
        behaviours=answer_behaviours(),
        defences=answer_defences(),
        most_seeds=MOST_SEEDS,
    )


def _attributes(entry: type[DataSet]) -> dict[str, str]:
    """Each attribute of a data set with its first classes."""
    classes = {name: each.classes for name, each in entry.attributes.items()}
    return {
        name: f"{name}: {', '.join(each[:MOST_CLASSES])}{', …' if len(each) > MOST_CLASSES else ''}"
        for name, each in classes.items()
    }


async def _ready(request: Request, visitor: Visitor, *, costs: bool) -> dict[str, Any]:
    """The ready scenarios by group; with ``costs`` what each takes, which may take seconds to find out."""
    service: ScenarioService = request.app.state.scenarios
    groups: dict[str, list[ReadyScenario]] = {group: [] for group in GROUPS}
    facts = await asyncio.to_thread(_facts)
    for about in shipped().values():
        data, papers = facts[about.name]
        missing = missing_data(data)
        cost = await service.cost(about.text, operates=visitor.operates) if costs and not missing else None
        ready = ReadyScenario(about, data, papers, missing, cost)
        groups[ready.group].append(ready)
    return {"groups": groups, "costs": costs}


@cache
def _facts() -> dict[str, tuple[list[str], list[str]]]:
    """The data sets of each ready scenario, and its papers."""
    read = {name: parse(about.text) for name, about in shipped().items()}
    return {
        name: (list(dict.fromkeys(spec.name for spec in each.data.values())), _papers(each))
        for name, each in read.items()
    }


def _papers(scenario: Scenario) -> list[str]:
    """The papers that its defences and attacks come from."""
    attacks = [registered.attacks()[attack.kind].paper for attack in scenario.attacks.values()]
    links = {name_of(link) for chain in scenario.defences.values() for link in chain}
    defences = [entry.paper for stage in STAGES.values() for name, entry in stage.items() if name in links]
    return list(dict.fromkeys(paper.removeprefix("after ") for paper in (*defences, *attacks) if paper))
