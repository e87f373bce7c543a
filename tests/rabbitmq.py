"""A real RabbitMQ for tests, from the machine's own package, as processes of the test."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest
from kombu import Connection

from leakrange.service.parent import die_with
from tests.patience import patience

SERVER = Path("/usr/lib/rabbitmq/bin/rabbitmq-server")
"""What the packages of Debian and Ubuntu install. The one on the path wants to be another user."""


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class RabbitMQ:
    """A server in ``folder`` that can be killed and started again with what it had on its disk.

    Skips the test where the machine has none. Erlang's port mapper is started with it, on a port of its own,
    so that no daemon is left behind.
    """

    def __init__(self, folder: Path) -> None:
        if not SERVER.exists() or shutil.which("epmd") is None or sys.platform != "linux":
            pytest.skip("there is no RabbitMQ: apt-get install --no-install-recommends rabbitmq-server")
        self._folder = folder
        self._processes: list[subprocess.Popen[bytes]] = []
        self._port, self._mapper = _free_port(), _free_port()
        (folder / "rabbitmq.conf").write_text(
            "log.console = true\nvm_memory_high_watermark.absolute = 256MB\n"
        )
        (folder / "plugins").write_text("[].\n")
        self._environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),  # Erlang's cookie
            "ERL_EPMD_PORT": str(self._mapper),
            "ERL_EPMD_ADDRESS": "127.0.0.1",
            "RABBITMQ_ALLOW_INPUT": "yes",  # with this the script becomes the server, and starts none
            "RABBITMQ_NODENAME": f"leakrange{self._port}@localhost",
            "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODE_PORT": str(self._port),
            "RABBITMQ_DIST_PORT": str(_free_port()),
            "RABBITMQ_CONFIG_FILE": str(folder / "rabbitmq"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(folder / "plugins"),
            "RABBITMQ_MNESIA_BASE": str(folder / "mnesia"),
            "RABBITMQ_LOG_BASE": str(folder / "log"),
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "-noinput +S 1:1",
        }
        self.url = f"amqp://guest:guest@127.0.0.1:{self._port}//"

    def _run(self, *command: str) -> subprocess.Popen[bytes]:
        with (self._folder / "output.log").open("ab") as output:
            process = subprocess.Popen(
                command,
                env=self._environment,
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
                preexec_fn=partial(die_with, os.getpid()),  # its environment is not ours
            )
        self._processes.append(process)
        return process

    def start(self) -> None:
        """Start it, and wait until it takes connections."""
        self._run("epmd", "-port", str(self._mapper), "-address", "127.0.0.1")
        server = self._run(str(SERVER))
        deadline = time.monotonic() + patience(120)
        while server.poll() is None and time.monotonic() < deadline:
            try:
                with Connection(self.url, connect_timeout=5) as connection:
                    connection.connect()
                    return
            except OSError:
                time.sleep(0.1)  # not listening yet
        raise RuntimeError(f"RabbitMQ did not start:\n{(self._folder / 'output.log').read_text()[-3000:]}")

    def kill(self) -> None:
        """SIGKILL to the server and its helpers."""
        while self._processes:
            process = self._processes.pop()
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def purge(self, queue: str) -> int:
        """Lose all messages that wait in a queue; how many they were."""
        with Connection(self.url) as connection, connection.channel() as channel:
            return int(channel.queue_purge(queue))

    def delete(self, queue: str) -> None:
        """Lose the queue itself."""
        with Connection(self.url) as connection, connection.channel() as channel:
            channel.queue_delete(queue)

    def waiting(self, queue: str) -> int:
        """How many messages no worker has."""
        with Connection(self.url) as connection, connection.channel() as channel:
            return int(channel.queue_declare(queue, passive=True).message_count)
