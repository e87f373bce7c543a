"""What ``leakrange load`` says before it has anything asked."""

from pathlib import Path

import pytest

from tests.embedded import leakrange


def test_without_the_extra_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("leakrange.clients.cli.commands.load.find_spec", lambda _: None)
    done = leakrange("load", "any.yaml", "--state", str(tmp_path))
    assert done.returncode == 2
    assert "pip install 'leakrange[load]'" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "give a scenario, or --run"),
        (("s.yaml", "--run", "r"), "give a scenario, or --run"),
        (("s.yaml", "--web", "8089", "--headless"), "not both"),
        (("s.yaml", "--workers", "2", "--expect", "2"), "not both"),
        (("s.yaml", "--table", "t.txt"), ".csv or a .json"),
    ],
)
def test_what_does_not_go_together_is_refused(arguments: tuple[str, ...], said: str, tmp_path: Path) -> None:
    done = leakrange("load", *arguments, "--state", str(tmp_path))
    assert done.returncode == 2
    assert said in " ".join(done.stderr.replace("│", " ").split())


def test_without_a_range_it_says_how_to_get_one(tmp_path: Path) -> None:
    scenario = tmp_path / "s.yaml"
    scenario.write_text("name: any")
    done = leakrange("load", str(scenario), "--state", str(tmp_path / "none"))
    assert done.returncode == 3
    assert "leakrange up" in done.stderr
