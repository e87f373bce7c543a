from __future__ import annotations

import json
import subprocess
import sys

import pytest
from pydantic import ValidationError

from leakrange.service.app import check_operator
from leakrange.service.settings import ServiceSettings, read_settings
from leakrange.services.controller.settings import ControllerSettings
from leakrange.wire.errors import Forbidden


def test_settings_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEAKRANGE_OPERATOR_KEY", "0123456789abcdef")
    monkeypatch.setenv("LEAKRANGE_PORT", "9001")
    settings = ServiceSettings()
    assert settings.port == 9001
    assert settings.operator_key.get_secret_value() == "0123456789abcdef"
    assert "0123456789abcdef" not in repr(settings)


@pytest.mark.parametrize("key", ["", "short", "changeme-changeme-changeme", "Password0123456789"])
def test_weak_operator_keys_are_refused(monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    monkeypatch.setenv("LEAKRANGE_OPERATOR_KEY", key)
    with pytest.raises(ValidationError, match="random secret"):
        ServiceSettings()


def test_keys_that_replace_each_other_are_accepted_and_the_first_is_shown() -> None:
    old, new = "0123456789abcdef", "fedcba9876543210"
    alone = ServiceSettings(operator_key=old)
    assert (alone.shown_key, alone.derivation_secret) == (old, old)
    rotated = ServiceSettings(operator_key=f"{new}, {old}", derivation_key=old)
    assert (rotated.shown_key, rotated.derivation_secret) == (new, old)
    for given in (old, new):
        check_operator(f"Bearer {given}", rotated.operator_key)
    for given in (f"{new}, {old}", new[:-1], ","):
        with pytest.raises(Forbidden):
            check_operator(f"Bearer {given}", rotated.operator_key)
    with pytest.raises(ValidationError, match="LEAKRANGE_DERIVATION_KEY"):
        ServiceSettings(operator_key=f"{new},{old}", derivation_key="")
    with pytest.raises(ValidationError, match="random secret"):
        ServiceSettings(operator_key=f"{new},", derivation_key=old)


def test_settings_are_refused_without_telling_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEAKRANGE_OPERATOR_KEY", "hunter2")
    monkeypatch.setenv("LEAKRANGE_PORT", "high")
    with pytest.raises(SystemExit) as ended:
        read_settings(ServiceSettings, "provider")
    told = str(ended.value)
    assert told.startswith("the provider's settings cannot be taken:\n  ")
    assert "port: " in told
    assert "operator_key: " in told
    assert "hunter2" not in told


def test_a_setting_that_is_no_json_is_refused_without_telling_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEAKRANGE_OPERATOR_KEY", "0123456789abcdef")
    monkeypatch.setenv("LEAKRANGE_PROVIDERS", "honest=http://hunter2@provider")
    with pytest.raises(SystemExit) as ended:
        read_settings(ControllerSettings, "controller")
    assert 'field "providers"' in str(ended.value)
    assert "hunter2" not in str(ended.value)


def test_logs_are_one_json_object_a_line() -> None:
    """In a process of its own: logging is configured once and for all."""
    code = """
import logging, structlog, warnings
from leakrange.service.logs import configure_logs
configure_logs("edge", "info")
structlog.get_logger("a").info("enrolled", model="m\\n{}")
structlog.get_logger("a").debug("hidden")
logging.getLogger("b").warning("from %s", "elsewhere")
logging.getLogger("httpx").info("hidden")
try:
    1 / 0
except ZeroDivisionError:
    logging.getLogger("b").exception("failed")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    lines = [json.loads(line) for line in done.stderr.splitlines()]
    assert [line["event"] for line in lines] == ["enrolled", "from elsewhere", "failed"]
    assert lines[0]["model"] == "m\n{}"
    assert "ZeroDivisionError" in lines[2]["exception"]
    for line in lines:
        assert line["party"] == "edge"
        assert line["timestamp"].endswith("Z")
    assert [line["level"] for line in lines] == ["info", "warning", "error"]
