"""What the page of a protected model shows: who answers and how that fares, its policies, its keys."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray
from pydantic import ValidationError

from leakrange.targets.target import RemoteTarget, target_of
from leakrange.wire.administration import Account, BindingBody, Route
from leakrange.wire.calling import call
from leakrange.wire.endpoints import endpoint_of
from leakrange.wire.errors import InvalidInput, LeakrangeError, NotFound
from leakrange.wire.samples import SampleSpec
from leakrange.wire.schemas import ModelCard
from leakrange.wire.transport import Transport

__all__ = [
    "ModelHealth",
    "curl_for",
    "endpoint_for",
    "health_of",
    "holding",
    "keys_of",
    "sample_of",
]

PATIENCE = 4.0
"""Seconds within which a provider tells its card, or is away."""
FEW = 16
"""Numbers of a sample that a command shows; more are read from a file."""


@dataclass(frozen=True)
class ModelHealth:
    """How the one who answers for a model fares: ``good``, ``bad``, or None where nobody has asked yet; and
    why, which may repeat what a target answered. ``card`` is there where it told one."""

    good: bool | None
    words: str
    reason: str | None = None
    card: ModelCard | None = None


async def health_of(route: Route, transport: Transport) -> ModelHealth:
    """The health of a provider, which is asked for its card, or of a target, which is not asked: how it fared
    last."""
    if route.target is not None:
        return _of_target(route, target_of(route.target))
    try:
        async with asyncio.timeout(PATIENCE):
            answer = await call(transport, "GET", f"{route.upstream}/v1/models/{route.model}")
        return ModelHealth(True, "answers", card=ModelCard.model_validate_json(answer.body))
    except TimeoutError:
        return ModelHealth(False, "away", f"no answer within {PATIENCE:g} s")
    except LeakrangeError as error:
        return ModelHealth(False, "not served" if isinstance(error, NotFound) else "away", error.detail)
    except ValidationError:
        return ModelHealth(False, "no provider", "its answer is not of the native API")


def _of_target(route: Route, target: RemoteTarget) -> ModelHealth:
    card, fared = target.model_card(route.model), route.health
    answered = (fared.answered if fared else None) or 0.0
    failed = (fared.failed if fared else None) or 0.0
    if failed > answered and fared is not None:
        return ModelHealth(False, f"failed {_ago(failed)}", fared.failure, card)
    if answered:
        return ModelHealth(True, f"answered {_ago(answered)}", card=card)
    return ModelHealth(None, "not asked yet", card=card)


def _ago(since: float) -> str:
    seconds = max(0.0, time.time() - since)
    for unit, length in (("day", 86_400), ("hour", 3600), ("minute", 60)):
        if seconds >= length:
            number = int(seconds // length)
            return f"{number} {unit}{'' if number == 1 else 's'} ago"
    return "just now"


def holding(
    bindings: Sequence[BindingBody], model: str, *, key: str | None = None, endpoint: str | None = None
) -> str | None:
    """The name of the policy that holds: the most specific binding wins, as in the proxy."""
    by_place = {(each.key, each.model, each.endpoint): each.policy for each in bindings}
    places = (
        (key, model, endpoint),
        (key, model, None),
        (key, None, None),
        (None, model, endpoint),
        (None, model, None),
        (None, None, None),
    )
    return next((by_place[place] for place in places if place in by_place), None)


def keys_of(accounts: Sequence[Account], model: str) -> list[Account]:
    """The keys that may ask for the model, those first that have spent most."""
    those = [each for each in accounts if not each.revoked and (each.models is None or model in each.models)]
    return sorted(those, key=lambda each: (-each.spent, each.name))


def endpoint_for(card: ModelCard) -> str:
    """The endpoint of its release of default."""
    return endpoint_of(card.service, card.default_release)


def curl_for(card: ModelCard | None, model: str, proxy: str) -> str:
    """The command that asks for one sample through the proxy; without a card, for what the model takes."""
    head = 'curl -H "Authorization: Bearer $API_KEY"'
    if card is None:
        return f"{head} {proxy}/v1/models/{model}"
    url = f"{proxy}/v1/models/{model}/{endpoint_for(card)}"
    pair = card.default_release == "score"
    if card.input.encoding == "picture" and not pair:
        return f"{head} \\\n  -F images=@sample.png \\\n  {url}"
    if int(np.prod(card.input.shape)) > FEW or pair:
        media = "application/x-npy"
        return f"{head} \\\n  -H 'Content-Type: {media}' --data-binary @samples.npy \\\n  {url}"
    body = orjson.dumps({"inputs": np.zeros((1, *card.input.shape), int).tolist()}).decode()
    return f"{head} \\\n  -H 'Content-Type: application/json' -d '{body}' \\\n  {url}"


def sample_of(text: str, spec: SampleSpec, *, pair: bool) -> NDArray[Any]:
    """One sample (1, *shape), or pair (1, 2, *shape), from numbers that somebody typed: JSON, or a list with
    commas. Nothing typed is a sample of zeros. Raises `InvalidInput`."""
    shape = (1, 2, *spec.shape) if pair else (1, *spec.shape)
    if not text.strip():
        return np.zeros(shape, spec.dtype)
    try:
        given = orjson.loads(text if text.lstrip().startswith("[") else f"[{text}]")
        values = np.array(given, np.float64)
        fits = values.size == int(np.prod(shape)) and bool(np.isfinite(values).all())
    except (ValueError, TypeError, OverflowError) as error:
        raise InvalidInput("a sample is numbers with commas between them, or a list in JSON") from error
    if not fits or (np.abs(values) > np.finfo(np.float32).max).any():
        wanted = " x ".join(map(str, shape[1:]))
        raise InvalidInput(f"this sample has {values.size} numbers; the model takes {wanted}")
    return spec.nearest(values.reshape(shape))
