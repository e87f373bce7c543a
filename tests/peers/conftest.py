"""The running parties of other rooms' tests, which tests of this one ask as well."""

from __future__ import annotations

from tests.proxy.conftest import _provider, _proxy, live
from tests.range.conftest import controller

__all__ = ["_provider", "_proxy", "controller", "live"]
