"""The SuperLink: Flower's server, with a separate address for devices.

Flower serves everything on one address, and whoever reaches that may run programs on the server and on every
device. Here two servers stand before Flower's application, in one process. The devices' server admits only
requests that a device needs for its part in a run, from enrolled devices alone. The other one listens on this
machine's own address: holders of its key order runs there, and Flower's own processes fetch their tasks
there.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import structlog
import uvicorn
from flwr.common.constant import (
    ACCESS_TOKEN_KEY,
    HEARTBEAT_DEFAULT_INTERVAL,
    ISOLATION_MODE_PROCESS,
    NOOP_ACCOUNT_NAME,
    NOOP_FLWR_AID,
    SUPERLINK_NODE_ID,
    TRANSPORT_TYPE_GRPC_RERE,
)
from flwr.proto.fleet_pb2 import PullMessagesResponse, PushMessagesRequest
from flwr.server.superlink.linkstate import InMemoryLinkState
from flwr.supercore.auth.typing import AccountInfo
from flwr.supercore.constant import FLWR_IN_MEMORY_DB_NAME
from flwr.supercore.protobuf.translation import PROTOBUF_REQUEST_TYPES
from flwr.superlink.auth_plugin import NoOpControlAuthnPlugin
from flwr.superlink.cli.flower_superlink import SuperLinkLifespan
from flwr.superlink.config_loader import SuperLinkLifespanConfig
from flwr.superlink.main import create_app
from google.protobuf.message import DecodeError
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from leakrange.services.federation.deployment import environment, program
from leakrange.services.federation.keys import Devices, LinkFolder, fingerprint

__all__ = ["DevicesDoor", "serve"]

LOOPBACK = "127.0.0.1"
log = structlog.get_logger("leakrange.federation")


def serve(folder: LinkFolder, host: str, port: int, orders_port: int, names: Sequence[str]) -> None:
    """Serve devices on ``host`` and ``port``, and orders on ``orders_port`` of this machine, until a signal
    comes. Devices recognise the server by one of ``names`` or as this machine."""
    orders = f"{LOOPBACK}:{orders_port}"
    key = folder.prepare(orders, names)
    os.environ.update(environment())
    app = _flower(folder, orders_port, key)
    tls = {"ssl_certfile": folder.certificate, "ssl_keyfile": folder.certificate_key}
    quiet: dict[str, Any] = {"log_level": "warning", "ws": "none", **tls}
    servers = [
        uvicorn.Server(uvicorn.Config(app, LOOPBACK, orders_port, **quiet)),
        uvicorn.Server(uvicorn.Config(DevicesDoor(app), host, port, lifespan="off", **quiet)),
    ]
    # In Flower's own mode of processes their starter is not asked who it is.
    command = [program("flower-superexec"), "--runtime-api-address", orders, "--parent-pid", str(os.getpid())]
    command += ["--root-certificates", str(folder.certificate)]
    command += ["--superexec-auth-secret-file", str(folder.tasks_key)]
    subprocess.Popen(command)  # it ends when this process has
    asyncio.run(_together(servers))


async def _together(servers: Sequence[uvicorn.Server]) -> None:
    await asyncio.gather(*(server.serve() for server in servers))


def _flower(folder: LinkFolder, port: int, key: str) -> ASGIApp:
    """Flower's whole application."""
    certificate, private = str(folder.certificate), str(folder.certificate_key)
    content = folder.certificate.read_bytes()
    app = create_app(
        SuperLinkLifespanConfig(
            control_address="",
            health_server_address=None,
            host=LOOPBACK,
            port=port,
            insecure=False,
            certificates=(content, content, folder.certificate_key.read_bytes()),
            superexec_auth_secret=folder.tasks_key.read_bytes(),
            authn_plugin=OperatorKey(key),
            event_log_plugin=None,
            fleet_event_log_plugin=None,
            enable_event_log=False,
            artifact_provider=None,
            enable_supernode_auth=True,
            fleet_api_type=TRANSPORT_TYPE_GRPC_RERE,
            fleet_api_address=None,
            simulation=False,
            ssl_ca_certfile=certificate,
            ssl_certfile=certificate,
            ssl_keyfile=private,
            database=FLWR_IN_MEMORY_DB_NAME,
            isolation=ISOLATION_MODE_PROCESS,
            runtime_dependency_install=False,
        ),
        SuperLinkLifespan,
    )
    states = app.state.linkstate_factory
    states.state_instance = EnrolledDevices(
        states.federation_manager, states.objectstore_factory.store(), folder.devices
    )
    served: ASGIApp = app
    return served


class OperatorKey(NoOpControlAuthnPlugin):  # type: ignore[misc]  # types are checked without Flower
    """Accepts orders from holders of the key."""

    def __init__(self, key: str) -> None:
        self.key = key

    def validate_tokens_in_metadata(
        self, metadata: Sequence[tuple[str, str]]
    ) -> tuple[bool, AccountInfo | None]:
        """See `flwr.superlink.auth_plugin.ControlAuthnPlugin`."""
        sent = dict(metadata).get(ACCESS_TOKEN_KEY, "")
        if not secrets.compare_digest(sent.encode(), self.key.encode()):
            return False, None
        return True, AccountInfo(flwr_aid=NOOP_FLWR_AID, account_name=NOOP_ACCOUNT_NAME)

    def refresh_tokens(self, metadata: Sequence[tuple[str, str]]) -> tuple[None, None]:  # noqa: ARG002
        """Return no new key: there is only one."""
        return None, None


class EnrolledDevices(InMemoryLinkState):  # type: ignore[misc]
    """Flower's state of nodes and messages, where a node is an enrolled device. The device's number is its
    node's name."""

    def __init__(self, manager: Any, store: Any, devices: Devices) -> None:
        super().__init__(manager, store)
        self.devices = devices

    def get_node_id_by_public_key(self, public_key: bytes) -> int | None:
        """The node of an enrolled device, None for a key that is not enrolled. Flower asks this for each
        request."""
        device = self.devices.number(public_key)
        if device is None:
            return None
        with self.lock:
            node: int | None = super().get_node_id_by_public_key(public_key)
            if node is None:
                node = self.create_node(
                    NOOP_FLWR_AID, NOOP_ACCOUNT_NAME, public_key, HEARTBEAT_DEFAULT_INTERVAL
                )
            self.nodes[node].name = str(device)
        return node

    def activate_node(self, node_id: int, heartbeat_interval: float) -> bool:
        """Mark a node as present, and return whether that worked. A node that comes back need not wait until
        it has been missed."""
        with self.lock:
            self.deactivate_node(node_id)
            return bool(super().activate_node(node_id, heartbeat_interval))

    def get_nodes(self, run_id: int) -> set[int]:
        """The nodes that are present and still enrolled."""
        enrolled = self.devices.numbers()
        return {
            node for node in super().get_nodes(run_id) if fingerprint(self.nodes[node].public_key) in enrolled
        }

    def get_message_res(self, message_ids: set[str], run_id: int) -> list[Any]:
        """The answers that have come completely. Flower would give out one whose content is still on its way,
        and its reader then waits for that content, hours if it never comes."""
        with self.lock:
            complete = {each for each in message_ids if not self._is_coming(each)}
            answers: list[Any] = super().get_message_res(complete, run_id)
        return answers

    def _is_coming(self, message_id: str) -> bool:
        """Whether an answer to this message has been announced, but not completely received."""
        answer = self.message_ins_id_to_message_res_id.get(message_id)
        session = self._object_push_sessions.get(self._object_push_session_by_root.get(answer))
        return bool(session and session.pending_object_ids)


ACTIVATE, PULL_MESSAGES, PUSH_MESSAGES, PULL_OBJECT, PUSH_OBJECT = (
    f"/v1/fleet/{name}"
    for name in ("activate-node", "pull-messages", "push-messages", "pull-object", "push-object")
)
OTHERS = ("deactivate-node", "send-node-heartbeat", "get-run", "get-fab", "confirm-message-received")
OPEN = {
    ACTIVATE,
    PULL_MESSAGES,
    PUSH_MESSAGES,
    PULL_OBJECT,
    PUSH_OBJECT,
    *(f"/v1/fleet/{name}" for name in OTHERS),
}
"""Paths that a device needs. Flower's other paths start programs, enrol nodes, or are for its server apps."""

LARGE, SMALL = 6 * 2**20, 2**18
"""Bytes of a request with content, which Flower sends in pieces of 5 MiB, and of any other request."""
SLACK = 2**20
SENDINGS = 8
"""Number of times that a device may announce an answer to one task: once, and again where a reply was
lost."""


@dataclass
class _Allowance:
    """Amounts that a device may still send for its task."""

    left: int = SLACK
    sendings: int = SENDINGS
    pulled: set[str] = field(default_factory=set)


class DevicesDoor:
    """Lets devices send updates to Flower's ``app``, and nothing else.

    A device answers for itself alone, and only to its tasks. For each task it may send twice the bytes that
    came with the task, and `SLACK`. A device that is not enrolled is told to try again, and is admitted once
    it is.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self._allowances: dict[int, _Allowance] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one ASGI request."""
        path = scope["path"]
        if scope["type"] != "http" or scope["method"] != "POST" or path not in OPEN:
            return await Response(status_code=404)(scope, receive, send)
        body = await _body(receive, LARGE if path == PUSH_OBJECT else SMALL)
        if body is None:
            return await Response(status_code=413, headers={"Connection": "close"})(scope, receive, send)
        try:
            request = PROTOBUF_REQUEST_TYPES["POST", path].FromString(body)
        except DecodeError:
            return await Response(status_code=400)(scope, receive, send)
        node = 0 if path == ACTIVATE or not hasattr(request, "node") else request.node.node_id
        allowance = self._allowances.get(node, _Allowance(0, 0))
        too_long = path == PUSH_OBJECT and allowance.left < len(body)
        if too_long or (path == PUSH_MESSAGES and not allowance.sendings):
            log.warning("a device sends more than it may", node=node)
            return await Response(status_code=413)(scope, receive, send)
        if path == PUSH_MESSAGES and not _is_own_answer(request):
            log.warning("a device sends what is no answer of its own", node=node)
            return await Response(status_code=400)(scope, receive, send)
        answer = await _answered(self.app, scope, receive, body)
        # Flower has accepted the request, so only now is the node's identity proven.
        if answer.status_code == 200 and path == PULL_MESSAGES:
            if PullMessagesResponse.FromString(answer.body).messages_list:
                self._allowances[node] = _Allowance()
        elif answer.status_code == 200 and path == PULL_OBJECT and request.object_id not in allowance.pulled:
            allowance.pulled.add(request.object_id)
            allowance.left += 2 * len(answer.body)
        elif answer.status_code == 200 and path == PUSH_OBJECT:
            allowance.left -= len(body)
        elif answer.status_code == 200 and path == PUSH_MESSAGES:
            allowance.sendings -= 1
        elif answer.status_code == 412 and path == ACTIVATE:
            answer = Response(status_code=503)  # a SuperNode gives up at a 412, and tries again at a 503
        await answer(scope, receive, send)


def _is_own_answer(request: PushMessagesRequest) -> bool:
    """Whether this is one answer to the server, from the node that sends it. Flower trusts the sender for
    both, and takes a message that answers nothing for a task of the server."""
    if len(request.messages_list) != 1 or len(request.message_object_trees) != 1:
        return False
    metadata = request.messages_list[0].metadata
    return bool(
        metadata.src_node_id == request.node.node_id
        and metadata.dst_node_id == SUPERLINK_NODE_ID
        and metadata.reply_to_message_id
        and metadata.message_id == request.message_object_trees[0].object_id
    )


async def _body(receive: Receive, most: int) -> bytes | None:
    """The body of a request, None where it is longer than ``most`` or breaks off."""
    body = bytearray()
    while True:
        message = await receive()
        body += message.get("body", b"")
        if len(body) > most or message["type"] == "http.disconnect":
            return None
        if not message.get("more_body", False):
            return bytes(body)


async def _answered(app: ASGIApp, scope: Scope, receive: Receive, body: bytes) -> Response:
    """The complete answer of ``app`` to a request with that body; no answer to a device is long."""
    requests: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]
    answers: list[Message] = []

    async def receive_again() -> Message:
        return requests.pop() if requests else await receive()

    async def collect(message: Message) -> None:
        answers.append(message)

    await app(scope, receive_again, collect)
    response = Response(b"".join(each.get("body", b"") for each in answers), answers[0]["status"])
    response.raw_headers = answers[0]["headers"]
    return response
