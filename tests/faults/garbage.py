"""A server that speaks anything but the answer it was asked for."""

from __future__ import annotations

import gzip
import random
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache

__all__ = ["ANSWERS", "Garbage", "Say", "garbage"]

Say = Callable[[socket.socket], None]
OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/x-npy\r\n"
PAUSE = 0.05
"""Seconds between the bytes of a server that drips."""


class Garbage:
    """Answers every connection with ``say``, and closes it."""

    def __init__(self, listener: socket.socket) -> None:
        self._listener, self.say = listener, _close
        self.over = threading.Event()

    def serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def drip(self, connection: socket.socket, answer: bytes) -> None:
        """Send it byte by byte; the last of them again and again, until the other side has enough."""
        for place in range(10**9):
            connection.sendall(answer[place : place + 1] or answer[-1:])
            if self.over.wait(PAUSE):
                return

    def _answer(self, connection: socket.socket) -> None:
        with connection, suppress(OSError):
            connection.settimeout(30)
            head = b""
            while b"\r\n\r\n" not in head:
                head += connection.recv(65_536)
            self.say(connection)
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(65_536):
                pass


@contextmanager
def garbage() -> Iterator[tuple[Garbage, str]]:
    """The server and its URL."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        made = Garbage(listener)
        threading.Thread(target=made.serve, daemon=True).start()
        yield made, f"http://127.0.0.1:{listener.getsockname()[1]}"
        made.over.set()
        listener.shutdown(socket.SHUT_RDWR)


def _close(_connection: socket.socket) -> None:
    pass


def _once(answer: bytes) -> Say:
    return lambda connection: connection.sendall(answer)


def _endless(head: bytes, again: bytes) -> Say:
    def say(connection: socket.socket) -> None:
        connection.sendall(head)
        while True:
            connection.sendall(again)

    return say


@cache
def _packed() -> bytes:
    """A quarter of a gigabyte, in as many kilobytes."""
    return gzip.compress(bytes(2**28), 9)


def _bomb(connection: socket.socket) -> None:
    packed = _packed()
    head = b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(packed)
    connection.sendall(OK + head + packed)


ANSWERS: dict[str, Say] = {
    "closes at once": _close,
    "random bytes": _once(random.Random(0).randbytes(5000)),
    "HTTP/0.9": _once(b"[[0.1, 0.2, 0.3, 0.2, 0.2]]\n"),
    "another protocol": _once(b"-ERR unknown command 'POST'\r\n"),
    "status of letters": _once(b"HTTP/1.1 abc OK\r\n\r\n"),
    "status of five digits": _once(b"HTTP/1.1 20000 OK\r\n\r\n"),
    "negative length": _once(OK + b"Content-Length: -5\r\n\r\nabcde"),
    "length of letters": _once(OK + b"Content-Length: 5e1\r\n\r\nabcde"),
    "length beyond all": _once(OK + b"Content-Length: 99999999999999999999999\r\n\r\nabcde"),
    "two lengths": _once(OK + b"Content-Length: 5\r\nContent-Length: 7\r\n\r\nabcdefg"),
    "length too long": _once(OK + b"Content-Length: 500\r\n\r\nabcde"),
    "length too short": _once(OK + b"Content-Length: 2\r\n\r\nabcde"),
    "chunks of no size": _once(OK + b"Transfer-Encoding: chunked\r\n\r\nzz\r\nabc\r\n0\r\n\r\n"),
    "a chunk beyond all": _once(OK + b"Transfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFFF\r\nabc"),
    "chunks without an end": _once(OK + b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"),
    "endless chunks": _endless(
        OK + b"Transfer-Encoding: chunked\r\n\r\n", b"1000\r\n" + 4096 * b"a" + b"\r\n"
    ),
    "endless tiny chunks": _endless(OK + b"Transfer-Encoding: chunked\r\n\r\n", 4096 * b"1\r\na\r\n"),
    "endless chunk extension": _endless(OK + b"Transfer-Encoding: chunked\r\n\r\n3;", 4096 * b"x"),
    "endless body": _endless(OK + b"\r\n", 65_536 * b"a"),
    "endless status line": _endless(b"HTTP/1.1 200 ", 65_536 * b"O"),
    "endless header": _endless(OK + b"X-Long: ", 65_536 * b"h"),
    "endless headers": _endless(OK, 4096 * b"X-Many: of them\r\n"),
    "endless interim answers": _endless(b"", b"HTTP/1.1 102 Processing\r\n\r\n"),
    "switches the protocol": _once(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\nabc"),
    "bytes in the headers": _once(OK + b"X-\x00\xff: \xfe\x00\r\n\r\nabc"),
    "header without a name": _once(OK + b": nobody\r\n\r\nabc"),
    "not compressed as told": _once(OK + b"Content-Encoding: gzip\r\nContent-Length: 5\r\n\r\nabcde"),
    "a bomb": _bomb,
    "no content": _once(b"HTTP/1.1 204 No Content\r\n\r\n"),
}
