"""What the owner of a model file says of it: ``card.yaml``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, Self, TypeVar

import yaml
from pydantic import Field, ValidationError, field_validator, model_validator

from leakrange.providers.model_config import ClassName
from leakrange.strict import Strict
from leakrange.wire.errors import InvalidInput
from leakrange.wire.samples import SampleSpec

__all__ = ["FileCard", "FileRelease", "StoredCard", "read_card"]

FileRelease = Literal["logits", "softmax", "features"]
Card = TypeVar("Card", bound="FileCard")
MOST_BYTES = 2**16
"""Of a card; longer files are not parsed."""


class FileCard(Strict):
    """What a model file takes, and what its numbers are.

    The file gets ``value / scale + offset`` in float32, in the order of axes that ``layout`` names: of a
    picture, "channels-first" is (channels, height, width), "channels-last" (height, width, channels), "flat"
    one row of all its numbers in that last order.
    """

    input: SampleSpec
    release: FileRelease
    """What the numbers of the file are."""
    classes: Annotated[tuple[ClassName, ...], Field(max_length=1000)] = ()
    """In the order of the numbers; none of features."""
    task: Annotated[str, Field(min_length=1, max_length=4096)] = "class"
    """What the classes are classes of: an attribute's name."""
    output: Annotated[str, Field(min_length=1, max_length=256)] | None = None
    """Where the numbers stand: the name of a graph's output, or the method of an estimator. Without it the
    only output, or the method that fits ``release``."""
    layout: Literal["channels-first", "channels-last", "flat"] = "channels-first"

    @field_validator("input", mode="before")
    @classmethod
    def _filled(cls, value: object) -> object:
        """Derive what need not be written: a table's shape, and the type of the values."""
        if not isinstance(value, Mapping):
            return value
        derived: dict[str, object] = {"dtype": "uint8" if value.get("encoding") == "picture" else "float32"}
        if isinstance(columns := value.get("columns"), list | tuple):
            derived["shape"] = [len(columns)]
        return {**derived, **value}

    @field_validator("classes", mode="before")
    @classmethod
    def _named(cls, value: object) -> object:
        """Take numbers for names; refuse what YAML makes of yes and no."""
        if not isinstance(value, list | tuple):
            return value
        if any(isinstance(each, bool) for each in value):
            raise ValueError("YAML reads yes, no, true and false as truth values: write the names in quotes")
        return tuple(str(each) if isinstance(each, int | float) else each for each in value)

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if self.release == "features" and self.classes:
            raise ValueError("features have no classes: leave the classes out")
        if self.release != "features" and len(self.classes) < 2:
            raise ValueError(f"{self.release} are of two classes or more: name them, in the file's order")
        if len(set(self.classes)) != len(self.classes):
            raise ValueError("two classes have the same name")
        return self


class StoredCard(FileCard):
    """The card beside a file that was checked, with what the check adds."""

    format: Literal["onnx", "skops", "torch-export", "torchscript"]
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    """Of the file."""
    width: Annotated[int, Field(ge=1)]
    """How many numbers the file gives for a sample."""
    trusted: bool = False
    """Whether somebody has said that the file may run code."""

    def written(self) -> bytes:
        """The card as YAML, always the same for the same card."""
        text: str = yaml.safe_dump(self.model_dump(mode="json", exclude_none=True), sort_keys=True)
        return text.encode()


def read_card(content: bytes, schema: type[Card]) -> Card:
    """Read a ``card.yaml``: a `FileCard` of a user, or a `StoredCard`. Raises `InvalidInput` with all its
    ``mistakes``."""
    if len(content) > MOST_BYTES:
        raise InvalidInput(f"the card has {len(content):,} bytes; at most {MOST_BYTES:,} are read")
    try:
        fields = yaml.safe_load(content)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise InvalidInput(f"the card is no YAML: {_first_line(error)}") from error
    if not isinstance(fields, dict):
        raise InvalidInput("the card holds no fields", hint="write input, release and classes")
    try:
        return schema.model_validate(fields)
    except ValidationError as error:
        mistakes = [
            {"path": ".".join(map(str, each["loc"])) or "card", "message": each["msg"]}
            for each in error.errors(include_url=False, include_input=False)
        ]
        count = len(mistakes)
        raise InvalidInput(
            f"{count} mistake{'s' if count != 1 else ''} in the card", mistakes=mistakes
        ) from error


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0] or type(error).__name__
