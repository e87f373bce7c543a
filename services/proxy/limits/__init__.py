"""Limits beside a key's budget: further bounds of the samples that keys may have answered.

A limit is one file here with one registered class. On one server its Lua runs in the script that charges a
key, so all limits of a request are checked and charged in the one step that charges the budget. In a cluster
it runs in a script of its own after that (`leakrange.services.proxy.spread`).
"""

from leakrange.services.proxy.limits.base import Ask, Bounds, Limit, limit_kinds, read_limit

__all__ = ["Ask", "Bounds", "Limit", "limit_kinds", "read_limit"]
