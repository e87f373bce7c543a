"""The requests by which a target answers a batch of samples, one after the other, without a connection."""

from __future__ import annotations

import re
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from leakrange.targets.reading import captured, in_order, read_values, released
from leakrange.targets.target import VARIABLE, RemoteTarget, TargetStep
from leakrange.targets.template import Filler, filled_text
from leakrange.wire.errors import InvalidInput
from leakrange.wire.open_inference import HEAD_LENGTH, tensor_answer

__all__ = ["Refused", "TargetCall", "TargetReply", "dialogue", "probe_of", "with_secrets"]


@dataclass(frozen=True)
class TargetCall:
    """One request to a target. Variables of the environment still stand in its headers by name."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes | None


@dataclass(frozen=True)
class TargetReply:
    """A target's successful answer; header names are in lower case."""

    headers: Mapping[str, str]
    body: bytes


class Refused(InvalidInput):
    """The target's answer cannot be used, or a request for it cannot be made: ``detail`` says what to change
    in its file."""

    slug, title = "target-unusable", "The target's answer does not fit its file"


def probe_of(target: RemoteTarget) -> NDArray[Any]:
    """The one sample (1, *shape) by which a target is tried, zeros unless its file says another; where it
    compares, a pair of them."""
    spec = target.card.input.spec
    pair = (2,) if target.card.release == "score" else ()
    sample = np.zeros(spec.shape) if target.probe is None else np.array(target.probe).reshape(spec.shape)
    return np.broadcast_to(sample, (1, *pair, *spec.shape)).astype(spec.dtype)


def dialogue(
    target: RemoteTarget, samples: NDArray[Any]
) -> Generator[TargetCall, TargetReply, NDArray[np.float32]]:
    """Yields each request for ``samples`` (B, *shape), or pairs (B, 2, *shape), is sent the reply to it, and
    returns the release (B, N). Raises `Refused`."""
    known: dict[str, Any] = {}
    answer: Any = None
    for step in target.steps:
        filler = Filler(target, samples, known)
        try:
            body, described = filler.body(step)
            url = filled_text(step.url, filler.text)
        except InvalidInput as error:
            raise Refused(f"{step.method} {step.url}: {error.detail}", hint=error.hint) from error
        reply = yield TargetCall(step.method, url, {**described, **target.headers, **step.headers}, body)
        try:
            if step.tensors is not None:
                values = tensor_answer(
                    reply.body, reply.headers.get(HEAD_LENGTH.lower()), step.tensors["output"]
                )
                return released(
                    in_order(values.reshape(len(samples), -1), target.card), target.card, len(samples)
                )
            answer = _parsed(reply, step)
            known |= {name: captured(answer, path) for name, path in step.capture.items()}
            if step.read is not None:
                return read_values(answer, step.read, target.card, len(samples))
        except InvalidInput as error:
            raise Refused(f"the answer of {step.url}: {error.detail}", hint=error.hint) from error
        except ValueError as error:
            raise Refused(f"the answer of {step.url}: {error}") from error
    raise AssertionError("the last step reads")  # validated


def _parsed(reply: TargetReply, step: TargetStep) -> Any:
    if step.read is None and not step.capture:
        return None
    try:
        return orjson.loads(reply.body)
    except orjson.JSONDecodeError as error:
        raise InvalidInput(f"it is no JSON: {reply.body[:80]!r}") from error


def with_secrets(headers: Mapping[str, str], environment: Mapping[str, str]) -> dict[str, str]:
    """The headers with the variables' values. Raises `InvalidInput` for one that is not set."""

    def value(match: re.Match[str]) -> str:
        if match[1] not in environment:
            raise InvalidInput(
                f"the environment variable {match[1]} is not set where the proxy runs",
                hint=f"set {match[1]} and start the range again",
            )
        return environment[match[1]]

    return {name: VARIABLE.sub(value, text) for name, text in headers.items()}
