"""A proxy with its provider, as the tests of the proxy have it."""

from __future__ import annotations

from tests.proxy.conftest import _provider, _proxy, another, live

__all__ = ["_provider", "_proxy", "another", "live"]
