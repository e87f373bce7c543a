"""Request bodies read in one go, where services read them a step at a time."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

from leakrange.wire.codecs import count_steps, sample_steps
from leakrange.wire.numbers import finish
from leakrange.wire.pairs import pair_count_steps, pair_steps


def _at_once(steps: Callable[..., Generator[None, None, Any]]) -> Callable[..., Any]:
    return lambda content_type, body, **how: finish(steps(content_type, body, **how))


count_samples, decode_samples = _at_once(count_steps), _at_once(sample_steps)
count_pairs, decode_pairs = _at_once(pair_count_steps), _at_once(pair_steps)
