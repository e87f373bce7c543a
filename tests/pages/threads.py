"""Coroutines in tests of pages."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")


def awaited(coroutine: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine, whether or not a browser's event loop runs in this thread."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, coroutine).result()
