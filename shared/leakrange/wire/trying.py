"""Bodies of ``/v1/try``: a visitor lets one sample be released, and sees what providers make of it."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, model_validator

from leakrange.strict import Strict, example
from leakrange.wire.releases import ReleaseKind

__all__ = [
    "MOST_TEXT",
    "AttributeRelease",
    "Guess",
    "Label",
    "Redrawn",
    "Released",
    "Row",
    "Sample",
    "TrialOffer",
    "Tried",
    "Try",
    "TryView",
]

MOST_TEXT = 400_000
"""Characters of a drawing in base64: 300 kB."""
Base64 = Annotated[str, Field(max_length=MOST_TEXT)]
Share = Annotated[float, Field(ge=0.0, le=1.0)]


class Try(Strict):
    """What a visitor tries: one of the ready samples by its ``place``, or a ``drawing`` of dark ink on a
    white page, a PNG or JPEG in base64. ``digit`` is what the drawing shows, if the visitor says so.

    ``run`` is None for the newest run that can be tried, ``data`` its label of a data set.
    """

    model_config = example({"data": "digits", "place": 3})
    data: Annotated[str, Field(max_length=128)]
    run: Annotated[str, Field(max_length=64, pattern=r"^[A-Za-z0-9-]+$")] | None = None
    place: Annotated[int, Field(ge=0, le=10_000)] | None = None
    drawing: Base64 | None = None
    digit: Annotated[int, Field(ge=0, le=9)] | None = None

    @model_validator(mode="after")
    def _one_sample(self) -> Self:
        if (self.place is None) == (self.drawing is None):
            raise ValueError("a try has either the place of a ready sample or a drawing")
        return self


class Sample(Strict):
    """A ready sample: a picture (PNG in base64), and its classes by attribute."""

    place: int
    picture: str
    truth: dict[str, str]


class TrialOffer(Strict):
    """What can be tried of one data set of a run. ``drawn``: visitors may draw samples by hand. ``ready``:
    models and attackers stand, else ``waiting`` says what is still to be done."""

    data: str
    set: str
    drawn: bool
    target: list[str]
    hidden: str | None
    explained: str
    """What the hidden attribute is."""
    behaviours: list[str]
    defences: list[str]
    costs: int
    """Samples of the budget that a try takes: one for each provider and defence."""
    ready: bool
    waiting: str
    samples: list[Sample]


class TryView(Strict):
    """What visitors may try. ``run`` is None where nothing is trained yet: then ``scenario`` is the one to
    start. ``left`` of ``limit`` samples may be released today."""

    run: str | None
    name: str | None
    scenario: str
    offered: list[TrialOffer]
    limit: int
    left: int


class Label(Strict):
    """What the user got for one attribute; ``confidence`` where the answer tells it, ``right`` where the
    truth is known."""

    attribute: str
    label: str
    confidence: Share | None
    right: bool | None


class AttributeRelease(Strict):
    """The numbers that left for one attribute, one for each of its classes."""

    attribute: str
    classes: list[str]
    values: list[float]


class Guess(Strict):
    """What somebody made of the release about the hidden attribute. ``attack`` is the strongest of the run
    under that defence: it was right about the share ``reached`` of the run's users, where always saying the
    commonest class is right about ``chance``. ``better``: luck does not explain the difference (95 %)."""

    attribute: str
    label: str
    confidence: Share
    right: bool | None
    attack: str
    reached: Share
    chance: Share
    better: bool


class Redrawn(Strict):
    """A picture drawn from the release alone (PNG in base64), and how near it came to the sample."""

    picture: str
    psnr: float


class Released(Strict):
    """One release of the sample to one provider: what the user got, what left the device, what the provider
    could make of it. ``average`` is the mean training picture of the label that the user got: whoever has the
    label and such pictures can draw it."""

    behaviour: str
    provider: str
    labels: list[Label]
    release: ReleaseKind
    left: list[AttributeRelease]
    guess: Guess | None
    redrawn: Redrawn | None
    average: Redrawn | None


class Row(Strict):
    """One defence, and the releases under it."""

    defence: str
    chain: list[str]
    releases: list[Released]


class Tried(Strict):
    """The answer to a try. ``sample`` is the picture as the device saw it (PNG in base64). ``assumed``:
    nobody said which digit was drawn, and the truth holds if it is what the honest provider took it for."""

    run: str
    data: str
    sample: str
    truth: dict[str, str]
    assumed: bool
    rows: list[Row]
    limit: int
    left: int
    seconds: float
