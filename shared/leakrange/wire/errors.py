"""Every error that may cross HTTP, each with its status, problem type and what to do about it (RFC 9457).

Raised anywhere, mapped to a response in one place (`leakrange.service.app`)::

    LeakrangeError                      500  a bug: reported as such, details only in the log
    ├── MalformedBody                   400  the bytes are not what their content type says
    ├── Unauthenticated                 401  no key, or an unknown one
    ├── Forbidden                       403  a known key that may not do this
    │   ├── ForeignOrigin               403  a page of another host asks
    │   └── SuspiciousModel             403  a device does not use a model that has not passed its audit
    ├── NotFound                        404
    │   ├── UnknownModel                404
    │   └── DataUnavailable             404  a data set that is not on this machine, or whose file is broken
    ├── NotAcceptable                   406  no representation that ``Accept`` allows
    ├── RequestTimeout                  408  header or body did not come to its end in time
    ├── Conflict                        409
    │   └── InFlight                    409  the same request is being answered right now
    ├── BodyTooLarge                    413
    ├── UnsupportedMedia                415
    ├── WrongHost                       421  another server is meant: see ``LEAKRANGE_ALLOWED_HOSTS``
    ├── InvalidInput                    422  well-formed, but wrong shape, not finite, too many samples, ...
    │   ├── InvalidScenario             422  all mistakes of a scenario at once, each with its line
    │   ├── InvalidArtifact             422  a model file that is not safetensors, or does not fit its config
    │   └── DamagedFile                 422  a stored file that cannot be read any more
    ├── BudgetExhausted                 429
    ├── HeaderTooLarge                  431
    ├── UpstreamFailed                  502  the server behind answered nonsense
    ├── Unavailable                     503  a server we need is down or full; see ``retry_after``
    └── StorageFull                     507  no room on the disk; which only the operator can mend
"""

from __future__ import annotations

from typing import Any, ClassVar

__all__ = [
    "PROBLEM_BASE",
    "BodyTooLarge",
    "BudgetExhausted",
    "Conflict",
    "DamagedFile",
    "DataUnavailable",
    "Forbidden",
    "ForeignOrigin",
    "HeaderTooLarge",
    "InFlight",
    "InvalidArtifact",
    "InvalidInput",
    "InvalidScenario",
    "LeakrangeError",
    "MalformedBody",
    "NotAcceptable",
    "NotFound",
    "RequestTimeout",
    "StorageFull",
    "SuspiciousModel",
    "Unauthenticated",
    "Unavailable",
    "UnknownModel",
    "UnsupportedMedia",
    "UpstreamFailed",
    "WrongHost",
]

PROBLEM_BASE = "https://leakrange.dev/problems/"
LONGEST_HELD = 600.0
"""Seconds; no server may have a client wait longer for what is in flight."""


class LeakrangeError(Exception):
    """Base of the tree. ``detail`` says what happened, ``hint`` what to do; ``extra`` are further problem
    members."""

    status: ClassVar[int] = 500
    slug: ClassVar[str] = "internal-error"
    title: ClassVar[str] = "Internal error"
    default_hint: ClassVar[str | None] = None

    def __init__(
        self,
        detail: str,
        *,
        hint: str | None = None,
        headers: dict[str, str] | None = None,
        retry_after: float | None = None,
        **extra: Any,
    ) -> None:
        super().__init__(detail)
        self.detail = detail
        self.hint = hint or self.default_hint
        self.headers = dict(headers or {})
        self.retry_after = retry_after
        self.extra = extra
        if retry_after is not None:
            self.headers.setdefault("Retry-After", str(max(1, round(retry_after))))
        if self.hint:
            self.add_note(f"hint: {self.hint}")  # tracebacks show it

    def problem(self, instance: str | None = None) -> dict[str, Any]:
        """The RFC 9457 problem object; ``instance`` is the path that was asked."""
        body: dict[str, Any] = {
            "type": PROBLEM_BASE + self.slug,
            "title": self.title,
            "status": self.status,
            "detail": self.detail,
        }
        if self.hint:
            body["hint"] = self.hint
        if instance:
            body["instance"] = instance
        return body | self.extra


class MalformedBody(LeakrangeError):
    """400: the bytes are not what their content type says."""

    status, slug, title = 400, "malformed-body", "Malformed body"


class Unauthenticated(LeakrangeError):
    """401: no key, or an unknown one."""

    status, slug, title = 401, "unauthenticated", "Unauthenticated"
    default_hint = "send an API key as 'Authorization: Bearer <key>'"

    def __init__(self, detail: str, **kw: Any) -> None:
        super().__init__(detail, **kw)
        self.headers.setdefault("WWW-Authenticate", "Bearer")


class Forbidden(LeakrangeError):
    """403: a known key that may not do this."""

    status, slug, title = 403, "forbidden", "Forbidden"


class ForeignOrigin(Forbidden):
    """403: a browser asks for a page of another host."""

    slug, title = "foreign-origin", "Foreign origin"


class SuspiciousModel(Forbidden):
    """403: a device does not use this model, which has not passed its audit."""

    slug, title = "suspicious-model", "Suspicious model"
    default_hint = "use another provider, or lift the device's demand for an audit"


class NotFound(LeakrangeError):
    """404: no such thing."""

    status, slug, title = 404, "not-found", "Not found"


class UnknownModel(NotFound):
    """404: no model of that name is loaded."""

    slug, title = "unknown-model", "Unknown model"
    default_hint = "'leakrange routes list' lists the models that a range serves"


class DataUnavailable(NotFound):
    """404: a known data set that cannot be loaded here: its file is missing or broken, or the network is."""

    slug, title = "data-unavailable", "Data set unavailable"


class NotAcceptable(LeakrangeError):
    """406: no representation that ``Accept`` allows."""

    status, slug, title = 406, "not-acceptable", "Not acceptable"
    default_hint = "accept application/json or application/x-npy"


class RequestTimeout(LeakrangeError):
    """408: header or body of the request did not come to their end in time."""

    status, slug, title = 408, "request-timeout", "Request timeout"


class Conflict(LeakrangeError):
    """409: the request contradicts the current state."""

    status, slug, title = 409, "conflict", "Conflict"


class InFlight(Conflict):
    """409: a request with the same idempotency key is being answered right now, or was when its server died.

    Within ``held`` seconds a repeat gets the answer, or is itself carried out.
    """

    slug, title = "in-flight", "In flight"
    default_hint = "repeat the same request until it is answered; it is paid once"

    def __init__(self, detail: str, *, held: float, **kw: Any) -> None:
        super().__init__(detail, retry_after=1.0, held=held, **kw)

    @property
    def held(self) -> float:
        """Seconds; 0 if the server does not say."""
        held = self.extra.get("held")
        return min(LONGEST_HELD, max(0.0, held)) if isinstance(held, int | float) else 0.0


class BodyTooLarge(LeakrangeError):
    """413: more bytes, pixels or samples than the limit."""

    status, slug, title = 413, "body-too-large", "Body too large"
    default_hint = "send fewer samples a request"


class UnsupportedMedia(LeakrangeError):
    """415: a content type that this endpoint does not read."""

    status, slug, title = 415, "unsupported-media-type", "Unsupported media type"
    default_hint = "send application/json or application/x-npy"


class WrongHost(LeakrangeError):
    """421: the request is for a host that this server is not."""

    status, slug, title = 421, "wrong-host", "Wrong host"
    default_hint = "call it by its address, or have its operator name the host in LEAKRANGE_ALLOWED_HOSTS"


class InvalidInput(LeakrangeError):
    """422: well-formed, but not something this endpoint can take."""

    status, slug, title = 422, "invalid-input", "Invalid input"


class InvalidScenario(InvalidInput):
    """422: a scenario with mistakes; ``mistakes`` holds them all, each ``{line, column, path, message,
    allowed}``."""

    slug, title = "invalid-scenario", "Invalid scenario"

    def __init__(self, mistakes: list[dict[str, Any]], **kw: Any) -> None:
        count = len(mistakes)
        super().__init__(
            f"{count} mistake{'s' if count != 1 else ''} in the scenario", mistakes=mistakes, **kw
        )
        self.mistakes = mistakes


class InvalidArtifact(InvalidInput):
    """422: a model file that is not safetensors, or does not fit its config. Nothing of it was run."""

    slug, title = "invalid-artifact", "Invalid artifact"


class DamagedFile(InvalidInput):
    """422: a stored file that cannot be read any more; ``detail`` names it."""

    slug, title = "damaged-file", "Damaged file"
    default_hint = "run the scenario again: what is missing is made again"


class BudgetExhausted(LeakrangeError):
    """429: the key has no samples left for this request."""

    status, slug, title = 429, "budget-exhausted", "Budget exhausted"
    default_hint = "ask for fewer samples, or have the operator raise the key's budget"


class HeaderTooLarge(LeakrangeError):
    """431: more bytes of header, or of trailers, than the limit."""

    status, slug, title = 431, "header-too-large", "Header too large"


class UpstreamFailed(LeakrangeError):
    """502: the server behind answered something that cannot be passed on."""

    status, slug, title = 502, "upstream-failed", "Upstream failed"


class Unavailable(LeakrangeError):
    """503: a server that this one needs is down or full."""

    status, slug, title = 503, "unavailable", "Unavailable"

    def __init__(self, detail: str, *, retry_after: float = 1.0, **kw: Any) -> None:
        super().__init__(detail, retry_after=retry_after, **kw)


class StorageFull(LeakrangeError):
    """507: the disk has no room for what is to be stored; ``detail`` names the folder.

    It is not 503, since clients repeat such requests and no repeat empties a disk; nor 500: it is no bug.
    """

    status, slug, title = 507, "storage-full", "Storage full"
    default_hint = "free space there, then run the scenario again: what is stored already is kept"
