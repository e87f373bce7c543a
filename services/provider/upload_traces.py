"""The traces of uploads, which later work on the uploads continues."""

from __future__ import annotations

from collections import OrderedDict
from contextlib import AbstractContextManager

from leakrange import tracing

__all__ = ["UploadTraces"]

KEPT = 4096


class UploadTraces:
    """The trace of each recent upload, in memory, and only while tracing is on. A decoder reads an upload
    when the operator asks: that is another request, and so another trace."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, str], str] = OrderedDict()

    def keep(self, model: str, upload: str) -> None:
        """Remember the current trace as the upload's."""
        if (trace := tracing.carried().get(tracing.TRACEPARENT)) is not None:
            self._kept[model, upload] = trace
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)

    def goes_on(self, name: str, model: str, upload: str) -> AbstractContextManager[None]:
        """A span in the upload's trace, linked to the current one; in the current trace, where the upload's
        is unknown."""
        trace = self._kept.get((model, upload))
        return (
            tracing.span(name, model=model) if trace is None else tracing.received(name, trace, model=model)
        )
