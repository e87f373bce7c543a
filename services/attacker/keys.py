"""The API keys of the fleet."""

from __future__ import annotations

from leakrange.services.attacker.settings import FleetSettings
from leakrange.wire.errors import LeakrangeError
from leakrange.wire.keys import api_key, first_key


def derived_key(account: str, settings: FleetSettings) -> str:
    """The key of that name, made of the fleet's secret; raises `LeakrangeError` if the worker has none."""
    if settings.fleet_secret is None:
        raise LeakrangeError(
            "a worker that talks to the proxy has no secret to make its API keys of",
            hint="set its LEAKRANGE_FLEET_SECRET to the controller's",
        )
    return api_key(first_key(settings.fleet_secret.get_secret_value()), account)
