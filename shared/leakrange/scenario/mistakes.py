"""Collects the mistakes of a scenario: where each is, what is wrong, and what is allowed."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NoReturn, get_args

from pydantic import BaseModel, ValidationError

from leakrange.wire.errors import InvalidScenario

__all__ = ["Mark", "Mistakes", "Path", "dotted"]

Path = tuple[str | int, ...]
Mark = tuple[int, int]
"""Line and column, counted from 1."""
MOST = 100


def dotted(path: Sequence[str | int]) -> str:
    """``providers.curious.beta.y``, ``seeds[0]``."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text


class Mistakes:
    """Collects mistakes; ``locate`` finds the place of a path in the document, once there is one."""

    def __init__(self) -> None:
        self.locate: Callable[..., Mark | None] = lambda _path, **_: None
        self._mistakes: dict[tuple[Any, ...], dict[str, Any]] = {}

    def __bool__(self) -> bool:
        return bool(self._mistakes)

    def add(
        self,
        path: Path,
        message: str,
        *,
        allowed: Iterable[str] = (),
        given: Any = None,
        key: bool = False,
        at: Path | None = None,
        mark: Mark | None = None,
    ) -> None:
        """Note a mistake about what stands at ``path`` (about its key, if ``key``).

        ``allowed`` are the accepted values; the one nearest to ``given`` is suggested. The mistake is located
        at ``mark``, else at the path ``at``, else at ``path``.
        """
        mark = mark or self.locate(path if at is None else at, key=key)
        choices = list(allowed)
        near = difflib.get_close_matches(str(given), choices, n=1) if given is not None else []
        if near:
            message += f" (did you mean {near[0]!r}?)"
        mistake = {
            "line": mark[0] if mark else None,
            "column": mark[1] if mark else None,
            "path": dotted(path),
            "message": message,
            "allowed": choices,
            "suggestion": near[0] if near else None,
        }
        self._mistakes.setdefault((mark, dotted(path), message), mistake)

    def add_pydantic(
        self, prefix: Path, error: ValidationError, model: type[BaseModel], fields: Iterable[str] = ()
    ) -> None:
        """Note everything that pydantic found in what stands at ``prefix``.

        ``fields`` are names that ``prefix`` may hold besides those of ``model``.
        """
        for each in error.errors(include_url=False):
            inner = tuple(each["loc"])
            path = (*prefix, *inner)
            if each["type"] == "missing":
                self.add(path, f"{inner[-1]!r} is missing", at=path[:-1], key=True)
            elif each["type"] == "extra_forbidden":
                known = [*_fields(model, inner[:-1]), *(fields if len(inner) == 1 else ())]
                message = f"unknown field {inner[-1]!r}"
                self.add(path, message, allowed=sorted(set(known)), given=inner[-1], key=True)
            elif each["type"] in ("literal_error", "enum"):
                allowed = re.findall(r"'([^']*)'", each["ctx"]["expected"])
                self.add(path, f"{_shown(each['input'])} is not one of {', '.join(allowed)}", allowed=allowed,
                         given=each["input"])  # fmt: skip
            else:
                message = each["msg"].removeprefix("Value error, ").replace("Input should", "should")
                self.add(
                    path,
                    f"{message}, not {_shown(each['input'])}" if message.startswith("should") else message,
                )

    def refuse(self, path: Path, message: str, *, mark: Mark | None = None) -> NoReturn:
        """Note one more mistake, and raise `InvalidScenario` with all."""
        self.add(path, message, mark=mark)
        raise InvalidScenario(self._sorted())

    def raise_if_any(self) -> None:
        """Raise `InvalidScenario` with all mistakes, in the order of the document."""
        if self._mistakes:
            raise InvalidScenario(self._sorted())

    def _sorted(self) -> list[dict[str, Any]]:
        everywhere = sorted(
            self._mistakes.values(), key=lambda m: (m["line"] or 0, m["column"] or 0, m["path"], m["message"])
        )
        return everywhere[:MOST]


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    text = "nothing" if value is None else repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _fields(model: type[BaseModel], inner: Sequence[str | int]) -> list[str]:
    """The names of the fields of ``model``, or of the model that its field ``inner`` holds."""
    for part in inner:
        field = model.model_fields.get(str(part))
        kinds = [field.annotation, *get_args(field.annotation)] if field is not None else []
        inner_model = next(
            (kind for kind in kinds if isinstance(kind, type) and issubclass(kind, BaseModel)), None
        )
        if inner_model is None:
            return []
        model = inner_model
    return list(model.model_fields)
