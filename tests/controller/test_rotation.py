"""A controller and a worker whose secrets are replaced: both are accepted, and names stay."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from pydantic import SecretStr

from leakrange.services.attacker.keys import derived_key
from leakrange.services.attacker.settings import FleetSettings
from leakrange.services.controller.range.parties import Parties
from leakrange.services.controller.settings import ControllerSettings
from leakrange.services.controller.visitors import role_of
from leakrange.wire.keys import api_key
from leakrange.wire.names import PublicNames
from tests.controller.conftest import FLEET_SECRET, OPERATOR, serve

NEW = "fedcba9876543210-the-next-operator"
VIEWERS = "0123456789abcdef-viewer", "fedcba9876543210-viewer"


@pytest.fixture(scope="module")
def rotated(settings: Callable[..., ControllerSettings]) -> ControllerSettings:
    return settings(operator_key=f"{NEW},{OPERATOR}", derivation_key=OPERATOR, viewer_key=",".join(VIEWERS))


def test_both_keys_have_the_role_and_names_are_those_of_before(rotated: ControllerSettings) -> None:
    roles = [role_of(key, rotated) for key in (OPERATOR, NEW, *VIEWERS, f"{NEW},{OPERATOR}", "")]
    assert roles == ["operator", "operator", "viewer", "viewer", "stranger", "stranger"]
    before = PublicNames(OPERATOR).of("model", "digest")
    assert PublicNames(rotated.derivation_secret).of("model", "digest") == before
    again = ControllerSettings.handed_over(rotated.handed_on())
    assert (again.shown_key, again.derivation_secret) == (NEW, OPERATOR)


def test_a_controller_takes_both_operator_keys(rotated: ControllerSettings) -> None:
    with serve(rotated) as url, httpx.Client(base_url=url, timeout=60) as client:
        for key, status in ((OPERATOR, 404), (NEW, 404), (VIEWERS[0], 403), (OPERATOR[:-1], 403)):
            headers = {"Authorization": f"Bearer {key}"}
            assert client.delete("/v1/runs/nothing", headers=headers).status_code == status


def test_the_fleet_asks_with_one_of_the_keys_that_its_account_has(tmp_path: Path) -> None:
    """A worker with either secret, or on its way from one to the other."""

    class OfFleet:
        fleet_secret = SecretStr(f"{FLEET_SECRET},{NEW}")

    keys = Parties.fleet_keys(OfFleet, "run.attacker")  # type: ignore[arg-type]
    assert keys == [api_key(FLEET_SECRET, "run.attacker"), api_key(NEW, "run.attacker")]
    for secret in (FLEET_SECRET, NEW, f"{NEW},{FLEET_SECRET}"):
        worker = FleetSettings(fleet_secret=secret, models_dir=tmp_path, releases_dir=tmp_path)
        assert derived_key("run.attacker", worker) in keys
