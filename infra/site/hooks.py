"""Pages that MkDocs makes from the code at every build: commands, variables, HTTP APIs, registries, the
library.

Nothing that is made here is kept in the repository, so that it cannot differ from the code.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from mkdocs.utils import get_relative_url

ROOT = Path(__file__).parents[2]
REFERENCE = "reference"
PAGES: dict[str, str] = {}
"""The text of each page that is made, by its path below the reference."""
SEARCH_FRAME = "assets/javascripts/search-frame.js"
OFFLINE_SCRIPT = "https://unpkg.com/iframe-worker/shim"
"""What Material would have a reader's browser fetch, so that its search works without a server."""


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Make the pages of the reference. In the navigation each folder of them is a section."""
    # MkDocs forgets what a hook added to the path when it was loaded.
    sys.path += [str(each) for each in (Path(__file__).parent, ROOT, ROOT / "shared")]
    PAGES.clear()
    PAGES.update(_made())
    sections: dict[str, list[Any]] = {"": []}
    for path in sorted(PAGES, key=_place):
        folder = path.rpartition("/")[0]
        if folder not in sections:
            sections[folder] = []
            sections[folder.rpartition("/")[0]].append({_title(f"{folder}/index.md"): sections[folder]})
        sections[folder].append({_title(path): f"{REFERENCE}/{path}"})
    assert config.nav is not None
    [reference] = [each["Reference"] for each in config.nav if "Reference" in each]
    reference += sections[""]
    return config


def _place(path: str) -> tuple[list[str], bool, int]:
    """A folder's first page stands first, the others as they were made."""
    return path.split("/")[:-1], not path.endswith("index.md"), list(PAGES).index(path)


def _title(path: str) -> str:
    return next(line for line in PAGES[path].splitlines() if line.startswith("# ")).removeprefix("# ")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add what is made: the pages of the reference, those of the notebooks, and the script of the search."""
    import notebook_pages

    for path, text in PAGES.items():
        files.append(File.generated(config, f"{REFERENCE}/{path}", content=text))
    for path, text in notebook_pages.pages():
        files.append(File.generated(config, f"notebooks/{path}", content=text))
    frame = (Path(__file__).parent / "search_frame.js").read_text()
    files.append(File.generated(config, SEARCH_FRAME, content=frame))
    return files


def _made() -> Iterator[tuple[str, str]]:
    import command_pages
    import endpoint_pages
    import glossary_page
    import library_pages
    import registry_pages
    import settings_pages

    yield "glossary.md", glossary_page.page()
    yield from command_pages.pages()
    yield from registry_pages.pages()
    yield from settings_pages.pages()
    yield from endpoint_pages.pages()
    yield from library_pages.pages()


def on_post_template(output_content: str, **_: object) -> str:
    """Do the same for the page that a server shows in place of one that is missing."""
    return output_content.replace(OFFLINE_SCRIPT, f"/{SEARCH_FRAME}")


def on_post_page(output: str, page: Page, **_: object) -> str:
    """Let the search without a server take our script, and nothing from another site."""
    return output.replace(OFFLINE_SCRIPT, get_relative_url(SEARCH_FRAME, page.url))
