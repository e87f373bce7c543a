"""What of the library is public: the names in `__all__` of each module, and outside no others are used."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LIBRARY = ROOT / "shared"


def _parsed(folder: Path) -> dict[str, ast.Module]:
    root = LIBRARY if folder.is_relative_to(LIBRARY) else ROOT
    found = {}
    for path in sorted(folder.rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found[name] = ast.parse(path.read_text())
    return found


@cache
def _modules() -> dict[str, ast.Module]:
    return _parsed(LIBRARY / "leakrange")


def _exported(module: ast.Module) -> list[str] | None:
    for node in module.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            names: list[str] = ast.literal_eval(node.value)
            return names
    return None


def _defined(body: list[ast.stmt]) -> set[str]:
    found: set[str] = set()
    for node in body:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                found.add(node.name)
            case ast.Import() | ast.ImportFrom():
                found |= {alias.asname or alias.name for alias in node.names}
            case ast.Assign() | ast.AnnAssign():
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                found |= {
                    each.id for target in targets for each in ast.walk(target) if isinstance(each, ast.Name)
                }
            case ast.If() | ast.With() | ast.Try():
                found |= _defined(node.body) | _defined(getattr(node, "orelse", []))
    return found


def test_every_public_name_is_there() -> None:
    for name, module in _modules().items():
        exported = _exported(module) or []
        assert set(exported) <= _defined(module.body), name
        assert len(set(exported)) == len(exported), name


def test_modules_that_define_something_say_what_of_it_is_public() -> None:
    """What is registered needs not be named: its registry has it."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    for name, module in _modules().items():
        public = [
            node.name
            for node in module.body
            if isinstance(node, kinds) and not node.name.startswith("_") and not node.decorator_list
        ]
        assert not public or _exported(module) is not None, (name, public)


@pytest.mark.parametrize("folder", ["services", "clients", "load"])
def test_from_outside_only_public_names_are_used(folder: str) -> None:
    for user, module in _parsed(ROOT / folder).items():
        for node in ast.walk(module):
            if not isinstance(node, ast.ImportFrom) or node.module not in _modules():
                continue
            public = _exported(_modules()[node.module]) or []
            used = [alias.name for alias in node.names if f"{node.module}.{alias.name}" not in _modules()]
            assert set(used) <= set(public), f"{user} uses {node.module}: {set(used) - set(public)}"
