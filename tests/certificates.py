"""One certificate instead of all that the world trusts: every HTTP client reads them, which takes 15 ms, and
none of the servers of these tests speaks TLS."""

from __future__ import annotations

import atexit
import os
import tempfile
from pathlib import Path

import certifi

__all__ = ["trust_one"]

PREFIX = "leakrange-certificate-"
END = "-----END CERTIFICATE-----\n"


def trust_one() -> None:
    """For this process and all that it starts."""
    if PREFIX in os.environ.get("SSL_CERT_FILE", ""):
        return  # whoever started this process did it
    with tempfile.NamedTemporaryFile("w", prefix=PREFIX, suffix=".pem", delete=False) as file:
        file.write(certifi.contents().partition(END)[0] + END)
    os.environ["SSL_CERT_FILE"] = file.name
    atexit.register(Path(file.name).unlink, missing_ok=True)
