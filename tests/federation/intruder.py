"""A program for the federation's environment: devices that speak Flower's protocol themselves, and so can
send what no SuperNode would.

    intruder knock ADDRESS CERTIFICATE            prints how each of Flower's paths answers to a stranger
    intruder join ADDRESS CERTIFICATE KEY         prints how a device's activation is answered
    intruder train ADDRESS CERTIFICATE FOLDER...  is a device for each folder, until it is killed: see `DEEDS`

Prints JSON, a line for each answer.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

import httpx
import numpy as np
from cryptography.hazmat.primitives.serialization import load_ssh_private_key
from flwr.app import Array, ArrayRecord, Message
from flwr.app.message import remove_content_from_message
from flwr.common.constant import HEARTBEAT_DEFAULT_INTERVAL, SUPERLINK_NODE_ID
from flwr.common.serde import message_from_proto, message_to_proto
from flwr.proto.fleet_pb2 import ActivateNodeRequest, PullMessagesRequest, PushMessagesRequest
from flwr.proto.heartbeat_pb2 import SendNodeHeartbeatRequest
from flwr.proto.message_pb2 import ConfirmMessageReceivedRequest, PullObjectRequest, PushObjectRequest
from flwr.proto.node_pb2 import Node
from flwr.supercore.inflatable.inflatable_object import (
    get_all_nested_objects,
    get_object_tree,
    iterate_object_tree,
)
from flwr.supercore.inflatable.inflatable_utils import inflate_object_from_contents
from flwr.supercore.primitives.asymmetric import public_key_to_bytes
from flwr.supercore.protobuf.translation import PROTOBUF_REQUEST_TYPES
from flwr.supernode.fleet_http_client import FleetHttpClient
from flwr.supernode.node_auth_http_interceptor import NodeAuthHttpInterceptor

from leakrange.federation.updates import Update
from leakrange.services.federation.messages import read_task, update_message

HONEST = {0: 0.1, 1: 0.3}
"""How far the honest devices move every parameter."""
SAMPLES = 5


class Device:
    """One device, known by its key."""

    def __init__(self, address: str, certificate: str, key: Path) -> None:
        private: Any = load_ssh_private_key(key.read_bytes(), None)
        signed = [NodeAuthHttpInterceptor(private, private.public_key())]
        self.client = FleetHttpClient.from_server_address(address, False, certificate, signed)
        self.public_key = public_key_to_bytes(private.public_key())
        self.node = Node()
        self.next_beat = 0.0
        self.earlier: list[Message] = []

    def activate(self) -> None:
        wanted = ActivateNodeRequest(
            public_key=self.public_key, heartbeat_interval=HEARTBEAT_DEFAULT_INTERVAL
        )
        self.node = Node(node_id=self.client.ActivateNode(wanted).node_id)

    def beat(self) -> None:
        """Say that it is there, as often as a SuperNode does."""
        if time.monotonic() > self.next_beat:
            self.next_beat = time.monotonic() + HEARTBEAT_DEFAULT_INTERVAL
            self.client.SendNodeHeartbeat(
                SendNodeHeartbeatRequest(node=self.node, heartbeat_interval=HEARTBEAT_DEFAULT_INTERVAL)
            )

    def task(self) -> Message | None:
        """The next task, with all its content."""
        pulled = self.client.PullMessages(PullMessagesRequest(node=self.node))
        if not pulled.messages_list:
            return None
        head, [tree] = message_from_proto(pulled.messages_list[0]), pulled.message_object_trees
        contents = {}
        for each in iterate_object_tree(tree):
            wanted = PullObjectRequest(node=self.node, run_id=head.metadata.run_id, object_id=each.object_id)
            contents[each.object_id] = self.client.PullObject(wanted).object_content
        self.client.ConfirmMessageReceived(
            ConfirmMessageReceivedRequest(
                node=self.node, run_id=head.metadata.run_id, message_object_id=tree.object_id
            )
        )
        message: Any = inflate_object_from_contents(tree.object_id, contents)
        message.metadata.__dict__["_message_id"] = tree.object_id
        return message  # type: ignore[no-any-return]

    def announce(self, message: Message, tree: Any = None) -> Any:
        """Say that this message comes."""
        message.metadata.__dict__["_message_id"] = tree.object_id if tree else message.object_id
        return self.client.PushMessages(
            PushMessagesRequest(
                node=self.node,
                messages_list=[message_to_proto(remove_content_from_message(message))],
                message_object_trees=[tree or get_object_tree(message)],
            )
        )

    def send(self, message: Message, root: Any = None) -> None:
        """Send a message, or another object ``root`` as the message."""
        root = root or message
        announced = self.announce(message, get_object_tree(root))
        for name, each in get_all_nested_objects(root).items():
            if name in announced.objects_to_push:
                self.client.PushObject(
                    PushObjectRequest(
                        node=self.node,
                        run_id=message.metadata.run_id,
                        session_id=announced.session_id,
                        object_id=name,
                        object_content=each.deflate(),
                    )
                )


def update(message: Message, moved: float = 0.0, samples: int = SAMPLES, **figures: float) -> Message:
    _, shared, device, _, _ = read_task(message)
    moves = {name: value + np.float32(moved) for name, value in shared.items()}
    return update_message(Update(device, samples, moves, {"loss": 1.0, **figures}), message)


def with_arrays(message: Message, change: Callable[[str, Array], Array]) -> Message:
    """An update, each of whose arrays is changed as they are sent."""
    reply = update(message)
    shared = reply.content["shared"]
    reply.content["shared"] = ArrayRecord({name: change(name, array) for name, array in shared.items()})
    return reply


def honest(device: Device, message: Message) -> None:
    device.send(update(message, HONEST[read_task(message)[2]]))


def another_root(device: Device, message: Message) -> None:
    reply = update(message)
    device.send(reply, reply.content)


def unfinished(device: Device, message: Message) -> None:
    device.announce(update(message, 0.5))


def pickled(device: Device, message: Message) -> None:
    content = BytesIO()
    np.save(content, np.array([print], dtype=object), allow_pickle=True)
    device.send(with_arrays(message, lambda _, array: replaced(array, content.getvalue())))


def bomb(device: Device, message: Message) -> None:
    content = BytesIO()
    np.lib.format.write_array_header_1_0(content, {"descr": "<f4", "fortran_order": False, "shape": (2**45,)})
    device.send(with_arrays(message, lambda _, array: replaced(array, content.getvalue())))


def strings(device: Device, message: Message) -> None:
    device.send(with_arrays(message, lambda _, array: Array(np.array(["a"] * len(array.shape)))))


def huge(device: Device, message: Message) -> None:
    device.send(with_arrays(message, lambda *_: Array(np.random.default_rng(0).random(3 * 2**20))))


def many_samples(device: Device, message: Message) -> None:
    device.send(update(message, 0.5, samples=2**62))


def own_figures(device: Device, message: Message) -> None:
    device.send(update(message, 0.5, accepted=99.0))


def long_names(device: Device, message: Message) -> None:
    reply = update(message)
    reply.content["shared"] = ArrayRecord({"x" * 10**5: Array(np.zeros(1))})
    device.send(reply)


def late(device: Device, message: Message) -> None:
    """It answers the first task in the second round, and the second never."""
    device.earlier.append(message)
    if len(device.earlier) == 2:
        device.send(update(device.earlier[0], 0.5))


def forger(device: Device, message: Message) -> None:
    """It answers for device 0, and gives tasks of its own to device 0 and to the server."""
    victim = everybody[0].node.node_id
    answer = update(message, 0.5)
    as_other = replaced_metadata(answer, src_node_id=victim)
    for name, forged in {
        "an answer for another": as_other,
        "a task for another": tasked(message, victim),
        "a task for the server": tasked(message, SUPERLINK_NODE_ID),
    }.items():
        try:
            device.send(forged)
        except httpx.HTTPStatusError as error:
            say(deed=name, status=error.response.status_code)
        else:
            say(deed=name, status=200)


def tasked(message: Message, node: int) -> Message:
    reply = update(message, 0.5)
    return replaced_metadata(reply, src_node_id=SUPERLINK_NODE_ID, dst_node_id=node, reply_to_message_id="")


def replaced(array: Array, content: bytes) -> Array:
    return Array(array.dtype, array.shape, array.stype, content)


def replaced_metadata(message: Message, **changes: Any) -> Message:
    for name, value in changes.items():
        message.metadata.__dict__[f"_{name}"] = value
    return message


DEEDS: Mapping[int, Callable[[Device, Message], None]] = dict(
    enumerate(
        (
            honest,
            honest,
            another_root,
            unfinished,
            pickled,
            bomb,
            strings,
            huge,
            many_samples,
            own_figures,
            long_names,
            late,
            forger,
        )
    )
)
everybody: list[Device] = []


def say(**fields: Any) -> None:
    sys.stdout.write(json.dumps(fields) + "\n")
    sys.stdout.flush()


def knock(address: str, certificate: str) -> None:
    with httpx.Client(base_url=f"https://{address}", verify=certificate) as client:
        for method, path in [
            *PROTOBUF_REQUEST_TYPES,
            ("GET", "/docs"),
            ("GET", "/openapi.json"),
            ("GET", "/health"),
        ]:
            answer = client.request(method, path, headers={"content-type": "application/protobuf"})
            say(path=path, status=answer.status_code)


def join(address: str, certificate: str, key: str) -> None:
    try:
        Device(address, certificate, Path(key)).activate()
    except httpx.HTTPStatusError as error:
        say(status=error.response.status_code)
    else:
        say(status=200)


def train(address: str, certificate: str, *folders: str) -> None:
    everybody.extend(Device(address, certificate, Path(folder, "device.key")) for folder in folders)
    for device in everybody:
        device.activate()
    say(ready=len(everybody))
    while True:
        for number, device in enumerate(everybody):
            device.beat()
            message = device.task()
            if message is None:
                continue
            try:
                DEEDS[number](device, message)
            except httpx.HTTPStatusError as error:
                say(device=number, status=error.response.status_code)
        time.sleep(0.1)


if __name__ == "__main__":
    {"knock": knock, "join": join, "train": train}[sys.argv[1]](*sys.argv[2:])
