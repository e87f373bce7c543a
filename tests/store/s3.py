"""S3 servers for tests, each a process of its own that can be killed and stopped.

nanio checks signatures and forces what it stores to the disk, but ignores conditions on a write. localbucket
keeps conditions, and checks no credentials. What neither proves: that a server of several machines does so
too, what policies on buckets forbid, TLS, and the speed of any other server.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Literal

KEY, SECRET = "an-access-key", "the-secret-of-it"
Kind = Literal["nanio", "localbucket"]


class S3Server:
    """A server with a bucket ``leak``; its objects outlive it."""

    def __init__(self, kind: Kind, folder: Path) -> None:
        self.kind, self.folder = kind, folder
        (folder / "leak").mkdir(parents=True, exist_ok=True)
        with closing(socket.socket()) as free:
            free.bind(("127.0.0.1", 0))
            self.port = int(free.getsockname()[1])
        self.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        scripts = Path(sys.executable).parent
        command = {
            "nanio": [
                "nanio",
                "serve",
                "--data-dir",
                str(self.folder),
                "--host",
                "127.0.0.1",
                "--no-access-log",
            ],
            "localbucket": ["localbucket", str(self.folder), "--host", "127.0.0.1"],
        }[self.kind]
        self.process = subprocess.Popen(
            [str(scripts / command[0]), *command[1:], "--port", str(self.port)],
            env=os.environ | {"NANIO_ACCESS_KEY": KEY, "NANIO_SECRET_KEY": SECRET},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for _ in range(2000):
            with closing(socket.socket()) as trial:
                trial.settimeout(0.1)
                if trial.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            threading.Event().wait(0.01)
        raise AssertionError(f"{self.kind} does not start")

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """It takes connections and says nothing."""
        self.process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self.process.send_signal(signal.SIGCONT)

    def environment(self, **changes: str) -> dict[str, str]:
        """What AWS' clients are told by."""
        return {
            "AWS_ENDPOINT_URL": self.url,
            "AWS_ALLOW_HTTP": "true",
            "AWS_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET,
        } | changes


@contextmanager
def cutting(port: int, most: int) -> Iterator[int]:
    """A port that passes on what the server at ``port`` is asked, and ends answers after ``most`` bytes."""
    listening = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                client, _ = listening.accept()
            except OSError:
                return
            with client, socket.create_connection(("127.0.0.1", port)) as server:
                server.sendall(client.recv(2**16))
                left = most
                while left > 0 and (piece := server.recv(min(left, 2**16))):
                    client.sendall(piece)
                    left -= len(piece)

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield int(listening.getsockname()[1])
    finally:
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()
