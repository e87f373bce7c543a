"""``leakrange reproduce``: a paper's tables, measured again."""

from leakrange.clients.cli.commands.reproduce.paper import reproduce

__all__ = ["reproduce"]
