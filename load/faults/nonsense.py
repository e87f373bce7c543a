"""A server that takes requests and answers nonsense: some bytes, or a drop now and then."""

from __future__ import annotations

import random
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

__all__ = ["Nonsense", "nonsense"]


class Nonsense:
    """A server of nonsense at ``url``; ``asked`` counts the connections."""

    def __init__(self, listener: socket.socket) -> None:
        self.url, self.asked = f"http://127.0.0.1:{listener.getsockname()[1]}", 0
        self._listener, self._over = listener, threading.Event()

    def serve(self) -> None:
        """Accept connections until `close`."""
        with suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                self.asked += 1
                threading.Thread(target=self._answer, args=(connection, self.asked), daemon=True).start()

    def close(self) -> None:
        """Stop accepting, and end the slow answers."""
        self._over.set()
        self._listener.shutdown(socket.SHUT_RDWR)

    def _answer(self, connection: socket.socket, number: int) -> None:
        with connection, suppress(OSError):
            connection.recv(65_536)
            if number % 4:
                connection.sendall(random.Random(number).randbytes(1000))
                return
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
            while not self._over.wait(0.2):
                connection.sendall(b"x")


@contextmanager
def nonsense() -> Iterator[Nonsense]:
    """Run that server, until the block ends."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = Nonsense(listener)
        threading.Thread(target=server.serve, daemon=True).start()
        yield server
        server.close()
