"""A scenario from a few answers: what somebody says who has not written one yet."""

from __future__ import annotations

from typing import Annotated, Any

import yaml
from pydantic import BaseModel, Field, ValidationError

from leakrange.defences.chain import STAGES
from leakrange.scenario import registered
from leakrange.scenario.document import Budget, Seed
from leakrange.scenario.language import parse
from leakrange.scenario.mistakes import Mistakes
from leakrange.strict import Strict

__all__ = ["ScenarioAnswers", "answer_behaviours", "answer_defences", "scenario_text"]

USUAL: dict[str, dict[str, Any]] = {
    "round": {"decimals": 1},
    "noise": {"scale": 0.3},
    "top-k": {"k": 1, "rest": "zero"},
    "temperature": {"t": 4},
}
"""The parameters to begin with, of output defences that have to be told some."""
STYLE: dict[str, Any] = {
    "sort_keys": False,
    "default_flow_style": None,  # what holds no further mapping stands on one line
    "width": 110,
    "allow_unicode": True,
}
Name = Annotated[str, Field(max_length=256)]


class ScenarioAnswers(Strict):
    """What a scenario is to ask: what the provider of ``behaviour`` is asked for (``target``, an attribute of
    the data set) and what its users would not want to show (``hidden``: another attribute, or "" where the
    behaviour reads whole samples). ``defences`` are names of output defences; releasing everything as it is
    is always tried."""

    name: Annotated[str, Field(max_length=64)] = "my-scenario"
    data: Name = "digits"
    target: Name = "parity"
    hidden: Name = "slant"
    behaviour: Name = "honest"
    defences: Annotated[tuple[Name, ...], Field(max_length=16)] = ()
    budget: Budget = 1000
    seeds: Annotated[tuple[Seed, ...], Field(min_length=1, max_length=100)] = (0, 1, 2)


def answer_behaviours() -> dict[str, str]:
    """The behaviours that take a target and a hidden attribute and need no more, each with what it does."""
    return {
        name: entry.summary
        for name, entry in registered.behaviours().items()
        if entry.trains and _takes(entry.Parameters, {"target": "asked", "sensitive": "hidden"})
    }


def answer_defences() -> dict[str, str]:
    """The output defences that can be had by name alone, each with what it does."""
    return {name: entry.summary for name, entry in STAGES["output"].items() if _link(name) is not None}


def scenario_text(answers: ScenarioAnswers) -> str:
    """The scenario as YAML. A provider that is not honest stands beside an honest one, whose leaks are what
    the task itself gives away. Outside attackers are after the hidden attribute, and the provider after what
    it hid.

    Raises `leakrange.wire.errors.InvalidScenario` where the answers do not fit together, with a sentence for
    each that does not.
    """
    kinds = {"outside": "attribute-inference"} if answers.hidden else {}
    entry = registered.behaviours().get(answers.behaviour)
    if entry is not None and entry.reconstructs:
        kinds["inside"] = "vicious-decoder"
    elif entry is not None and "sensitive" in entry.Parameters.model_fields:
        kinds["inside"] = "curious-decoder"
    if not kinds:
        Mistakes().refuse(
            ("hidden",), "name a hidden attribute: without one, attackers are after nothing here"
        )
    asked = {"target": answers.target} | ({"sensitive": answers.hidden} if answers.hidden else {})
    providers = {"honest": {"behaviour": "honest", **asked}}
    if answers.behaviour != "honest":
        family, _, method = answers.behaviour.partition("/")
        named = {"behaviour": family} | ({"method": method} if method else {})
        providers[method or family] = {**named, **asked}
    document = {
        "name": answers.name,
        "seeds": list(answers.seeds),
        "data": answers.data,
        "providers": providers,
        "defences": {"none": []} | {name: [_link(name) or name] for name in answers.defences},
        "attacks": {name: {"kind": kind} for name, kind in kinds.items()},
        "budgets": [answers.budget],
    }
    text = f"{_question(answers)}{yaml.safe_dump(document, **STYLE)}"
    parse(text)
    return text


def _question(answers: ScenarioAnswers) -> str:
    """The comment that the scenario begins with."""
    what = f"{answers.hidden!r}" if answers.hidden else "the whole input"
    asked = f"What does a classifier of {answers.target!r} give away of {what} (data set {answers.data})?"
    return f"# {' '.join(asked.split())}\n"


def _takes(parameters: type[BaseModel], given: dict[str, Any]) -> bool:
    """Whether it needs no more than it is given."""
    try:
        parameters.model_validate({key: given[key] for key in given if key in parameters.model_fields})
    except ValidationError:
        return False
    return True


def _link(name: str) -> str | dict[str, Any] | None:
    """The link of a chain; None for a defence that has to be told more than its name."""
    entry = STAGES["output"].get(name)
    if entry is None or not _takes(entry.Parameters, USUAL.get(name, {})):
        return None
    return {name: USUAL[name]} if name in USUAL else name
