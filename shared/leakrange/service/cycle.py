"""The head of an answer, written in a fraction of the time that uvicorn takes.

uvicorn searches every name and every value for what must not be in them. Here the head is put together
first, and searched once: a value that smuggles a line in is refused all the same.
"""

from __future__ import annotations

from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, RequestResponseCycle

__all__ = ["Cycle"]

CONTROL = bytes({*range(0x20), 0x7F} - set(b"\t\r\n"))
"""Characters that must not be in a header; the ends of its lines are counted."""


class Cycle(RequestResponseCycle):
    """uvicorn's, but for the head of the answer. Names of headers are the application's own."""

    async def send(self, message: Any) -> None:
        """Write a part of the answer."""
        unusual = self.disconnected or self.access_log or self.flow.write_paused
        if self.response_started or unusual or message["type"] != "http.response.start":
            return await super().send(message)
        self.response_started = True
        self.waiting_for_100_continue = False
        status, closes = message["status"], False
        headers = [*self.default_headers, *message.get("headers", ())]
        parts, lines = [STATUS_LINE[status]], 1 + len(headers)
        for name, value in headers:
            name = name.lower()
            if name == b"content-length" and self.chunked_encoding is None:
                self.expected_content_length, self.chunked_encoding = int(value), False
            elif name == b"transfer-encoding" and value.lower() == b"chunked":
                self.expected_content_length, self.chunked_encoding = 0, True
            elif name == b"connection" and b"close" in map(bytes.strip, value.lower().split(b",")):
                self.keep_alive, closes = False, True
            parts += (name, b": ", value, b"\r\n")
        if not self.keep_alive and not closes:
            lines += 1
            parts.append(b"connection: close\r\n")
        if self.chunked_encoding is None and self.scope["method"] != "HEAD" and status not in (204, 304):
            self.chunked_encoding = True
            lines += 1
            parts.append(b"transfer-encoding: chunked\r\n")
        head = b"".join(parts)
        ends = head.count(b"\r") == head.count(b"\n") == lines
        if not ends or len(head.translate(None, CONTROL)) < len(head):
            raise RuntimeError("Invalid HTTP header value.")
        self.transport.write(head + b"\r\n")
