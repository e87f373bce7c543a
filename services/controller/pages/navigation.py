"""The menu of all pages."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["MENU", "Entry"]


@dataclass(frozen=True)
class Entry:
    """A page in the menu; it is the current one on every page whose path begins with one of ``under``."""

    path: str
    title: str
    under: tuple[str, ...] = ()

    def current(self, path: str) -> bool:
        """Whether the page at ``path`` belongs to this entry."""
        return path == self.path or path.startswith(self.under)


MENU = (
    Entry("/", "Runs", ("/runs/",)),
    Entry("/victim", "Try it", ("/victim/",)),
    Entry("/scenarios", "Scenarios", ("/scenarios/",)),
    Entry("/compare", "Compare"),
    Entry("/models", "Models", ("/models/",)),
    Entry("/keys", "Keys", ("/keys/",)),
    Entry("/audits", "Audits", ("/audits/",)),
)
