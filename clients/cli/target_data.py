"""What a data set says of a target that is asked its samples: the input, and the names of the classes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from leakrange.clients.cli.exits import CliError, Exit
from leakrange.targets.columns import lacking, taken_from
from leakrange.wire.errors import InvalidInput
from leakrange.wire.samples import SampleSpec

__all__ = ["AskedData", "asked_data"]


@dataclass(frozen=True)
class AskedData:
    """A data set whose samples the target is asked: what one looks like, and the classes of the
    ``attribute`` that the target answers for."""

    name: str
    attribute: str
    classes: tuple[str, ...]
    sample: SampleSpec

    @property
    def input(self) -> dict[str, Any]:
        """The ``input`` of a target that takes all that a sample holds."""
        if self.sample.columns is None:
            return {"encoding": self.sample.encoding, "shape": list(self.sample.shape)}
        taken = taken_from(self.sample.columns)
        texts = {name: list(each) for name, each in taken.items() if each}
        described: dict[str, Any] = {"encoding": self.sample.encoding, "columns": list(taken)}
        return described | ({"categories": texts} if texts else {})

    def completed(self, given: Mapping[str, Any]) -> tuple[dict[str, Any], str | None]:
        """The ``input`` of a request that was pasted with what the data know of it, and what is doubtful
        about it then. Raises `InvalidInput` where the samples cannot be sent in it."""
        columns, known = given.get("columns"), self.input
        if columns is not None and self.sample.columns is not None:
            if absent := lacking(columns, self.sample.columns):
                raise InvalidInput(
                    f"the request has a value {absent[0]!r}, and the samples of {self.name!r} have none: they"
                    f" have {', '.join(known['columns'])}",
                    hint="neither the target of an import nor what is hidden is in a sample; import the data"
                    " with that column, or leave it out of the request",
                )
            texts = {name: each for name, each in known.get("categories", {}).items() if name in columns}
            described = {"encoding": "table", "columns": list(columns)}
            return described | ({"categories": texts} if texts else {}), None
        size = len(known["columns"]) if "columns" in known else list(self.sample.shape)
        asked = given.get("shape", [len(columns or ())])
        if asked not in ([size], size):
            raise InvalidInput(
                f"the request has a sample of {given['encoding']} {asked}, and {self.name!r} has samples of"
                f" {known['encoding']} {size}"
            )
        named = "columns" in known
        return dict(known), "are these the columns, in the order of the request?" if named else None


def asked_data(name: str, attribute: str | None) -> AskedData:
    """The data set of that name. ``attribute`` is its first one where None. Raises `CliError`."""
    from leakrange.data.catalogue import datasets  # brings scikit-learn and all sets: only where it is used
    from leakrange.jobs.recipe import DataSpec

    if name not in datasets:
        raise CliError(
            f"there is no data set {name!r}",
            code=Exit.USAGE,
            hint="'leakrange data list' names all; imported ones lie in the folder of LEAKRANGE_DATA",
        )
    entry = datasets[name]
    asked = attribute or next(iter(entry.attributes))
    if asked not in entry.attributes:
        raise CliError(
            f"{name!r} has no attribute {asked!r}; it has {', '.join(entry.attributes)}", code=Exit.USAGE
        )
    return AskedData(name, asked, tuple(entry.attributes[asked].classes), entry.sample(DataSpec(name=name)))
