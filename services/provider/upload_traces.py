"""The traces in which uploads came, for what is made of them later."""

from __future__ import annotations

from collections import OrderedDict
from contextlib import AbstractContextManager

from leakrange import tracing

__all__ = ["UploadTraces"]

KEPT = 4096


class UploadTraces:
    """Kept in memory, and only while tracing is on. A decoder reads an upload when the operator asks: that is
    another request, and so another trace."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, str], str] = OrderedDict()

    def keep(self, model: str, upload: str) -> None:
        """Remember this trace as the one in which the upload came."""
        if (told := tracing.carried().get(tracing.TRACEPARENT)) is not None:
            self._kept[model, upload] = told
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)

    def goes_on(self, name: str, model: str, upload: str) -> AbstractContextManager[None]:
        """A span in the trace in which the upload came, linked to this one; in this one, where that is not
        known."""
        told = self._kept.get((model, upload))
        return tracing.span(name, model=model) if told is None else tracing.received(name, told, model=model)
