"""The menu of all pages."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["MENU", "NavigationEntry"]


@dataclass(frozen=True)
class NavigationEntry:
    """A page in the menu; it is the current one on every page whose path begins with one of ``under``."""

    path: str
    title: str
    under: tuple[str, ...] = ()

    def current(self, path: str) -> bool:
        """Whether the page at ``path`` belongs to this entry."""
        return path == self.path or path.startswith(self.under)


MENU = (
    NavigationEntry("/", "Runs", ("/runs/",)),
    NavigationEntry("/victim", "Try it", ("/victim/",)),
    NavigationEntry("/scenarios", "Scenarios", ("/scenarios/",)),
    NavigationEntry("/compare", "Compare"),
    NavigationEntry("/models", "Models", ("/models/",)),
    NavigationEntry("/protection", "Protection", ("/protection/",)),
    NavigationEntry("/keys", "Keys", ("/keys/",)),
    NavigationEntry("/audits", "Audits", ("/audits/",)),
)
