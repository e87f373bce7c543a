"""README and pages say what there is: ports, files of the architecture, and where to go on."""

from __future__ import annotations

import re

from leakrange.clients.cli.embedded.ports import DEFAULT_BASE, names
from tests.docs.blocks import ROOT


def test_the_ports_are_those_of_the_launcher() -> None:
    page = (ROOT / "docs" / "parties.md").read_text()
    shown = dict(re.findall(r"(?m)^\| ([a-z-]+) \| (87\d\d) \|", page))
    assert {name: int(port) for name, port in shown.items()} == {
        name: DEFAULT_BASE + i for i, name in enumerate(names())
    }


def test_the_readme_links_to_what_is_there() -> None:
    """The site's strict build checks the links of the pages; the README is none."""
    readme = (ROOT / "README.md").read_text()
    links = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", readme)
    assert len(links) > 10
    assert [link for link in links if not link.startswith("http") and not (ROOT / link).exists()] == []


def test_the_readme_is_for_somebody_who_has_one_minute() -> None:
    words = (ROOT / "README.md").read_text().split()
    assert len(words) < 450
