"""Pages that MkDocs makes from the code at every build: commands, variables, HTTP APIs, registries, the
library.

Nothing that is made here is kept in the repository, so that it cannot differ from the code.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[2]
REFERENCE = "reference"


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Give every package of the library its place in the navigation."""
    sections = {title: pages for section in config.nav or [] for title, pages in section.items()}
    [library] = [part["Python API"] for part in sections["Reference"] if "Python API" in part]
    packages = sorted(path.parent.name for path in (ROOT / "shared" / "leakrange").glob("*/__init__.py"))
    library += [{f"leakrange.{name}": f"{REFERENCE}/python/{name}.md"} for name in packages]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are made: those under ``reference/``, and the notebooks'."""
    # MkDocs forgets what a hook added to the path when it was loaded.
    sys.path += [str(each) for each in (Path(__file__).parent, ROOT, ROOT / "shared")]
    import notebook_pages

    for path, text in _made():
        files.append(File.generated(config, f"{REFERENCE}/{path}", content=text))
    for path, text in notebook_pages.pages():
        files.append(File.generated(config, f"notebooks/{path}", content=text))
    return files


def _made() -> Iterator[tuple[str, str]]:
    import command_pages
    import endpoint_pages
    import library_pages
    import registry_pages
    import settings_pages

    yield "commands.md", command_pages.page()
    yield "registries.md", registry_pages.page()
    yield "variables.md", settings_pages.page()
    yield from endpoint_pages.pages()
    yield from library_pages.pages()
