"""Messages to clients when a provider does not answer: fixed sentences of the proxy.

A provider that colludes with a client could pass values around policy and budget through texts, headers or
statuses. So it can cause only a few different outcomes; the details are in the proxy's log.
"""

from __future__ import annotations

from leakrange.wire.errors import InvalidInput, LeakrangeError, NotFound, Unavailable, UpstreamFailed

BUSY = frozenset({408, 425, 429})


def unusable() -> UpstreamFailed:
    """Error for an answer that cannot be passed on."""
    return UpstreamFailed(
        "the provider's answer cannot be used", hint="the proxy's log tells the operator why"
    )


def unavailable() -> Unavailable:
    """Error for a provider that cannot be reached, or is late, or full."""
    return Unavailable("the provider does not answer now", retry_after=1.0)


def refused(status: int) -> LeakrangeError:
    """Error for an answer with a status of 400 to 499."""
    if status in BUSY:
        return unavailable()
    if status == 404:
        return NotFound(
            "the provider has no such model, endpoint or person now",
            hint="'leakrange routes list' lists the models that the proxy serves",
        )
    return InvalidInput(
        "the provider refused this request",
        hint="compare it with the model's card: input, max_batch, classes and service",
    )
