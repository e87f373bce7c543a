"""The sheet of a paper, ``paper.yaml`` beside its module: the texts of its page, and the template of its
trials."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any, Literal

from pydantic import ValidationError, field_validator

from leakrange.papers.orderings import Claim
from leakrange.papers.template import TemplatePart
from leakrange.scenario.mistakes import Mistakes, dotted
from leakrange.scenario.yaml_source import read
from leakrange.strict import Strict
from leakrange.wire.errors import InvalidInput, InvalidScenario

__all__ = ["PaperTable", "Sheet", "StatedDifference", "read_sheet"]


class PaperTable(Strict):
    """A table of a page. ``figures`` and ``notes`` are shown instead of those that the sheet has for all
    tables, ``setting`` is the text of what the table varies, and ``remark`` stands above its rows."""

    title: str
    figures: Sequence[str] = ()
    notes: Sequence[str] | None = None
    setting: str = ""
    remark: str = ""


class StatedDifference(Strict):
    """A setting in which ours differs from the paper's. With a filter ``rows`` its text is filled for each
    measured row that this keeps."""

    text: str
    rows: str | None = None


class Sheet(Strict):
    """A paper as data. Its texts may have names in braces (see `leakrange.papers.template.text`): those about
    a row the names of the template of trials, others the paper's settings and `Paper.words`."""

    name: str
    title: str
    about: str
    figures: Sequence[str]
    """Metrics that its tables hold, in their order."""
    headings: Mapping[str, str] = {}
    """Names of figures on the page, where they are not the metrics' titles."""
    shown: Sequence[str] = ()
    """Figures of a table that names none; without any, those that the table prints."""
    notes: Sequence[str] = ()
    """Titles of the columns behind the figures."""
    labels: Mapping[str, str]
    """Columns before a row's figures: by title the text; ``{setting}`` is that of the table."""
    percent: Literal["all", "shares", "none"] = "shares"
    """The figures that it writes in percent."""
    decimals: int = 2
    seeds: int
    """Number of the paper's own runs."""
    quick: Sequence[str]
    """Small rows of every kind, for a look that takes minutes."""
    quick_settings: Mapping[str, Any]
    views: Sequence[str] = ()
    """Views of trials that its pictures are drawn from: cells hold them beside the metrics."""
    naming: Sequence[str] = ()
    """The fields that name the compared rows of a claim."""
    claims: Sequence[Claim]
    """Its claims about the order of its rows. Where ``figure`` has the words for each of several figures by
    name, it is a claim about each of them."""
    differences: Sequence[StatedDifference]
    """Each text is said once, and none that comes out empty."""
    tables: Mapping[str, PaperTable]
    """In the order of the page."""
    trial: Sequence[TemplatePart]

    @field_validator("claims", mode="before")
    @classmethod
    def _about_each_figure(cls, claims: Any) -> Any:
        return (
            [each for claim in claims for each in _by_figure(claim)] if isinstance(claims, list) else claims
        )


def _by_figure(claim: Any) -> list[Any]:
    if not isinstance(claim, dict) or not isinstance(claim.get("figure"), dict):
        return [claim]
    text, figures = claim.get("text"), claim["figure"]
    return [claim | {"figure": name, "text": f"{text}: {words}"} for name, words in figures.items()]


def read_sheet(package: str) -> Sheet:
    """The sheet of a paper's ``package``. Raises `InvalidInput` with the first mistake and its place."""
    text = (files(package) / "paper.yaml").read_text(encoding="utf-8")
    mistakes = Mistakes()
    try:
        source = read(text, mistakes)
        mistakes.raise_if_any()
        return Sheet.model_validate(source.value)
    except InvalidScenario as error:
        first = error.mistakes[0]
        where, message = f"line {first['line']}", first["message"]
    except ValidationError as error:
        where, message = dotted(error.errors()[0]["loc"]), error.errors()[0]["msg"]
    raise InvalidInput(f"{package}, paper.yaml, {where}: {message}")
