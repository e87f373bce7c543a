"""Pages of the library, from its docstrings: one for each package of `leakrange`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

__all__ = ["pages"]

INTRODUCTION = """# Python API

The library runs without any service. Each package lists the public names of its modules."""
UNIMPORTANT = "---\nsearch: {boost: 0.1}\n---"
"""Lets the search show pages that explain a word before code that mentions it."""
LIBRARY = Path(__file__).parents[2] / "shared" / "leakrange"


def pages() -> Iterator[tuple[str, str]]:
    """A page for each package, and one that lists them. What a module exports is in its ``__all__``."""
    rows = []
    for package in sorted(LIBRARY.iterdir()):
        if package.is_symlink() or not (package / "__init__.py").exists():
            continue  # parties are linked to
        modules = list(_modules(package))
        rows.append(f"| [leakrange.{package.name}]({package.name}.md) | {_told(package / '__init__.py')} |")
        sections = [f"::: {name}" for name in modules]
        parts = [UNIMPORTANT, f"# leakrange.{package.name}", *sections]
        yield f"python/{package.name}.md", "\n\n".join(parts) + "\n"
    table = "\n".join(["| package | what it holds |", "|---|---|", *rows])
    yield "python/index.md", f"{INTRODUCTION}\n\n{table}\n"


def _modules(package: Path) -> Iterator[str]:
    for path in sorted(package.rglob("*.py")):
        if _exports(path):
            parts = path.relative_to(LIBRARY.parent).with_suffix("").parts
            yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _exports(path: Path) -> bool:
    """Whether the module defines what it exports, and does not merely pass it on."""
    body = ast.parse(path.read_text()).body
    kinds = (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)
    # What is registered is in the list of what there is.
    if any(isinstance(node, kinds) and any(map(_registers, node.decorator_list)) for node in body):
        return False
    here = {node.name for node in body if isinstance(node, kinds)}
    listed = [
        node for node in body if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
    ]
    return any(here.intersection(ast.literal_eval(node.value)) for node in listed)


def _registers(decorator: ast.expr) -> bool:
    return ast.unparse(decorator).partition("(")[0].endswith(".register")


def _told(path: Path) -> str:
    text = ast.get_docstring(ast.parse(path.read_text())) or ""
    return " ".join(text.split("\n\n")[0].split()).replace("|", "\\|")
