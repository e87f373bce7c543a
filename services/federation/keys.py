"""Identities of SuperLink and devices: a certificate, and an enrolled public key for each device.

Each party makes its own secrets, in a folder of its own. Only public things go from one to another: the
SuperLink's certificate to the devices, and a device's public key to the SuperLink, where the operator enrols
it.
"""

from __future__ import annotations

import hashlib
import ipaddress
import os
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import orjson
from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_public_key,
)

from leakrange.wire.errors import Conflict, InvalidInput

__all__ = ["Devices", "LinkFolder", "device_key", "fingerprint", "public_key"]

VALID = timedelta(days=3650)
HINT = "give the `device.pub` from the folder of a device"


@dataclass(frozen=True)
class LinkFolder:
    """The folder of a SuperLink: its secrets, its public certificate, and its outputs."""

    root: Path

    @property
    def certificate(self) -> Path:
        """The certificate by which devices recognise the SuperLink; not secret."""
        return self.root / "public" / "certificate.pem"

    @property
    def certificate_key(self) -> Path:
        """The certificate's private key."""
        return self.root / "keys" / "certificate.key"

    @property
    def orders(self) -> Path:
        """The address for ordering federations, with its key: JSON with ``address`` and ``key``."""
        return self.root / "keys" / "orders.json"

    @property
    def tasks_key(self) -> Path:
        """The secret that the SuperLink shares with the process that starts its server apps."""
        return self.root / "keys" / "tasks.key"

    @property
    def devices(self) -> Devices:
        """The enrolled devices."""
        return Devices(self.root / "keys" / "devices.json")

    @property
    def outputs(self) -> Path:
        """The folder in which the server app stores extractors."""
        return self.root / "outputs"

    def prepare(self, address: str, names: Sequence[str]) -> str:
        """Make missing files, and fresh keys for orders at ``address`` and for tasks, and return the key of
        orders. A new certificate is for these ``names`` and addresses, and for those of this machine."""
        self.certificate.parent.mkdir(parents=True, exist_ok=True)
        self.outputs.mkdir(parents=True, exist_ok=True)
        if not self.certificate_key.exists():
            private = ec.generate_private_key(ec.SECP256R1())
            self.certificate.write_bytes(_certificate(private, ("localhost", "127.0.0.1", *names)))
            _write_secret(
                self.certificate_key,
                private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()),
            )
        key = secrets.token_hex(32)
        _write_secret(self.orders, orjson.dumps({"address": address, "key": key}))
        _write_secret(self.tasks_key, secrets.token_bytes(32))
        return key

    def where_to_order(self) -> tuple[str, str]:
        """The address at which the SuperLink takes orders, and its key. Raises `InvalidInput` where no
        SuperLink has this folder."""
        try:
            orders = orjson.loads(self.orders.read_bytes())
        except OSError as error:
            raise InvalidInput(
                f"{self.orders}: {error.strerror}",
                hint="name the folder that `superlink` was started with, as the user who started it",
            ) from error
        return str(orders["address"]), str(orders["key"])


@dataclass(frozen=True)
class Devices:
    """The enrolled devices: a ``file`` with the number of each, by the fingerprint of its public key. It is
    read anew each time, so that a running SuperLink notices each enrolment, and each end of one, at once."""

    file: Path

    def numbers(self) -> dict[str, int]:
        """The devices' numbers by the fingerprints of their keys."""
        try:
            numbers: dict[str, int] = orjson.loads(self.file.read_bytes())
        except FileNotFoundError:
            return {}
        return numbers

    def number(self, public_key: bytes) -> int | None:
        """The device with this key (PEM), None where there is none."""
        return self.numbers().get(fingerprint(public_key))

    def enrol(self, keys: Iterable[bytes], device: int | None = None) -> dict[str, int]:
        """Enrol public ``keys`` (PEM), and return their devices' numbers by fingerprint: the lowest free
        ones, or the number ``device`` for a single key, which it takes from the key that had it. A key that
        is enrolled keeps its number. Raises `Conflict` where several keys are to have one number."""
        numbers, fingerprints = self.numbers(), [fingerprint(key) for key in keys]
        if device is not None:
            if len(fingerprints) != 1:
                raise Conflict(f"{len(fingerprints)} keys cannot all be device {device}")
            numbers = {name: number for name, number in numbers.items() if number != device}
            numbers[fingerprints[0]] = device
        for name in fingerprints:
            taken = set(numbers.values())
            numbers.setdefault(name, next(each for each in range(len(taken) + 1) if each not in taken))
        _write_secret(self.file, orjson.dumps(numbers, option=orjson.OPT_INDENT_2))
        return {name: numbers[name] for name in fingerprints}


def fingerprint(public_key: bytes) -> str:
    """The SHA-256 of a public key (PEM), by which lists name it."""
    return hashlib.sha256(public_key).hexdigest()


def public_key(file: Path) -> bytes:
    """The public key in a file (PEM), as Flower writes it. Raises `InvalidInput` where there is none, or one
    that is not for an elliptic curve."""
    try:
        key = load_pem_public_key(file.read_bytes())
    except (ValueError, UnsupportedAlgorithm) as error:
        raise InvalidInput(f"{file}: no public key", hint=HINT) from error
    if not isinstance(key, ec.EllipticCurvePublicKey):
        raise InvalidInput(f"{file}: a device's key is for an elliptic curve", hint=HINT)
    return _pem(key)


def device_key(folder: Path) -> Path:
    """The private key of the device with this folder. Where it is missing, it is made, with ``device.pub``
    beside it."""
    file, public = folder / "device.key", folder / "device.pub"
    if not file.exists():
        private = ec.generate_private_key(ec.SECP384R1())
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        public.write_bytes(_pem(private.public_key()))
        # The only format that Flower reads.
        _write_secret(file, private.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()))
    return file


def _pem(key: ec.EllipticCurvePublicKey) -> bytes:
    content: bytes = key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    return content


def _certificate(private: ec.EllipticCurvePrivateKey, names: Iterable[str]) -> bytes:
    """A self-signed certificate (PEM): its holder trusts this server and no other."""
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "Leakrange SuperLink")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(private.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + VALID)
        .add_extension(
            x509.SubjectAlternativeName(list(map(_general_name, dict.fromkeys(names)))), critical=False
        )
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(private, hashes.SHA256())
    )
    content: bytes = certificate.public_bytes(Encoding.PEM)
    return content


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _write_secret(file: Path, content: bytes) -> None:
    """Write a file whole or not at all, readable by this user alone."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    new = file.with_name(f".{file.name}.new")
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as opened:
        opened.write(content)
    new.replace(file)
