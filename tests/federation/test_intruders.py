"""Who reaches the SuperLink: strangers get nothing, and an enrolled device sends its own updates and nothing
else."""

from __future__ import annotations

import json
import os
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from leakrange.data import load
from leakrange.defences.federated import FederatedDevices
from leakrange.federation.updates import Update, fedavg
from tests.federation.flower import (
    ROOT,
    SuperLink,
    enrolled,
    needs_flower,
    python,
    ran,
    recipe,
    started,
    superlink,
    until,
)

pytestmark = needs_flower
INTRUDER = "tests.federation.intruder"
FOR_DEVICES = {
    "activate-node",
    "deactivate-node",
    "send-node-heartbeat",
    "pull-messages",
    "push-messages",
    "get-run",
    "get-fab",
    "push-object",
    "pull-object",
    "confirm-message-received",
}
FOR_ANYBODY = {"/v1/control/get-login-details", "/docs", "/openapi.json", "/health"}
"""What Flower tells whoever reaches its orders: that there is no account to log into, and its own manual."""


@pytest.fixture(scope="module")
def link(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SuperLink]:
    with superlink(tmp_path_factory.mktemp("federation")) as running:
        yield running


def new_devices(*folders: Path) -> list[Path]:
    """The private keys of new devices, each with the public one beside it."""
    keys = "leakrange.services.federation.keys"
    make = f"import sys; from pathlib import Path; from {keys} import device_key as make"
    ran(["-c", f"{make}; [make(Path(each)) for each in sys.argv[1:]]", *map(str, folders)], ROOT)
    return [folder / "device.key" for folder in folders]


def intrude(link: SuperLink, deed: str, address: str, *arguments: str) -> list[dict[str, Any]]:
    written, _ = ran(["-m", INTRUDER, deed, address, str(link.certificate), *arguments], link.folder.parent)
    return [json.loads(line) for line in written.splitlines()]


@pytest.mark.parametrize(
    ("door", "refusal"), [("address", "404 Not Found"), ("orders", "Authentication failed")]
)
def test_a_strangers_program_is_run_on_neither_address(
    link: SuperLink, tmp_path: Path, door: str, refusal: str
) -> None:
    app, home, written = tmp_path / "evil", tmp_path / "home", tmp_path / "written"
    (app / "evil").mkdir(parents=True)
    (app / "evil" / "__init__.py").touch()
    (app / "pyproject.toml").write_text(
        '[project]\nname = "evil"\nversion = "1.0.0"\ndescription = ""\nlicense = "Apache-2.0"\n'
        '[tool.flwr.app]\npublisher = "evil"\n'
        '[tool.flwr.app.components]\nserverapp = "evil.apps:server"\nclientapp = "evil.apps:client"\n'
    )
    (app / "evil" / "apps.py").write_text(
        "from pathlib import Path\n"
        "from flwr.clientapp import ClientApp\n"
        "from flwr.serverapp import ServerApp\n"
        "client = ClientApp()\nserver = ServerApp()\n"
        "@server.main()\n"
        f"def main(grid, context): Path({str(written)!r}).touch()\n"
    )
    home.mkdir()
    (home / "config.toml").write_text(
        f'[superlink]\ndefault = "it"\n[superlink.it]\naddress = "{getattr(link, door)}"\n'
        f'root-certificates = "{link.certificate}"\n'
    )
    flwr = subprocess.run(
        [str(python().with_name("flwr")), "run", str(app), "it", "--stream"],
        env=os.environ | {"FLWR_HOME": str(home)},
        capture_output=True,
        text=True,
    )
    assert not written.exists()
    assert refusal in flwr.stdout + flwr.stderr
    assert flwr.returncode != 0


def test_a_stranger_finds_closed_whatever_flower_has(link: SuperLink) -> None:
    at_devices = {each["path"]: each["status"] for each in intrude(link, "knock", link.address)}
    assert len(at_devices) > 70
    assert {path for path, status in at_devices.items() if status != 404} == {
        f"/v1/fleet/{name}" for name in FOR_DEVICES
    }
    assert set(at_devices.values()) == {401, 404, 413}
    at_orders = {each["path"]: each["status"] for each in intrude(link, "knock", link.orders)}
    assert {path for path, status in at_orders.items() if status == 200} == FOR_ANYBODY
    assert {status for path, status in at_orders.items() if path not in FOR_ANYBODY} <= {401, 501}


def test_orders_are_taken_on_this_machines_own_address_alone(link: SuperLink) -> None:
    """Whatever the address for devices is: here, all of them."""
    for address, refused in ((link.address, False), (link.orders, True)):
        port = int(address.rpartition(":")[2])
        with socket.socket() as probe:
            assert (probe.connect_ex(("127.0.0.2", port)) != 0) is refused


def test_what_is_secret_is_readable_by_its_owner_alone(link: SuperLink) -> None:
    secrets = [*(link.folder / "keys").iterdir()]
    assert {file.name for file in secrets} >= {"certificate.key", "orders.json", "tasks.key"}
    for file in (link.folder / "keys", *secrets):
        assert file.stat().st_mode & 0o077 == 0, file
    assert [file.name for file in link.certificate.parent.iterdir()] == ["certificate.pem"]


def test_a_device_is_let_in_when_it_is_enrolled_and_until_another_has_its_place(
    link: SuperLink, tmp_path: Path
) -> None:
    one, other, third = new_devices(*(tmp_path / name for name in ("one", "other", "third")))

    def joins(device: Path) -> int:
        [answer] = intrude(link, "join", link.address, str(device))
        return int(answer["status"])

    assert joins(one) == 503  # at which a SuperNode tries again
    numbers = enrolled(link.folder, one.with_suffix(".pub"), other.with_suffix(".pub"))
    assert sorted(numbers.values()) == [0, 1]
    assert enrolled(link.folder, one.with_suffix(".pub")) == numbers
    assert joins(one) == 200
    assert joins(one) == 200  # it comes back
    enrol = ["-m", "leakrange.services.federation", "enrol", str(third.with_suffix(".pub")), "--device", "0"]
    ran([*enrol, "--link", str(link.folder)], tmp_path)
    assert joins(one) == 503
    assert joins(third) == 200


def test_what_is_no_public_key_is_not_enrolled(link: SuperLink, tmp_path: Path) -> None:
    """A private key is not written to the screen either."""
    [private] = new_devices(tmp_path / "device")
    done = subprocess.run(
        [
            str(python()),
            "-m",
            "leakrange.services.federation",
            "enrol",
            str(private),
            "--link",
            str(link.folder),
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert "device.key: no public key" in done.stderr
    assert "hint: give the `device.pub`" in done.stderr
    assert private.read_text().splitlines()[1] not in done.stdout + done.stderr


def test_a_federation_in_which_nobody_learned_stores_nothing(link: SuperLink, tmp_path: Path) -> None:
    (tmp_path / "recipe.json").write_text(recipe(devices=3, rounds=1, pretraining=0).model_dump_json())
    run = ["run", str(tmp_path / "recipe.json"), "--models", str(tmp_path / "models")]
    done = subprocess.run(
        [
            str(python()),
            "-m",
            "leakrange.services.federation",
            *run,
            "--link",
            str(link.folder),
            "--gather",
            "0",
            "--answer",
            "2",
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert "no update counted in any round" in done.stdout
    assert "the run ended as finished:failed" in done.stderr
    assert not (tmp_path / "models").exists()
    assert not [*(link.folder / "outputs").iterdir()]


@pytest.mark.slow
def test_what_hostile_devices_send_changes_neither_the_result_nor_other_devices(tmp_path: Path) -> None:
    """Devices 0 and 1 behave; what the others do is in `tests.federation.intruder`."""
    wanted = recipe(devices=13, share=1.0, rounds=2, pretraining=0)
    (tmp_path / "recipe.json").write_text(wanted.model_dump_json())
    folders = [tmp_path / f"device-{device}" for device in range(13)]
    new_devices(*folders)
    with superlink(tmp_path) as link:
        enrolled(link.folder, *(folder / "device.pub" for folder in folders))
        where = [link.address, str(link.certificate), *map(str, folders)]
        with started(tmp_path, "train", *where, module=INTRUDER) as intruders:
            until(lambda: '"ready": 13' in intruders.log())
            run = ["-m", "leakrange.services.federation", "run", str(tmp_path / "recipe.json")]
            models = ["--models", str(tmp_path / "models"), "--link", str(link.folder)]
            ran([*run, *models, "--gather", "240", "--answer", "30"], tmp_path)
            said = [json.loads(line) for line in intruders.log().splitlines()]
    record = json.loads((tmp_path / "models" / wanted.digest() / "training.json").read_text())
    for entry in record["history"]:
        assert (entry["accepted"], entry["refused"], entry["lost"]) == (2, 4, 7)
        assert entry["seconds"] < 90  # 30 s of patience; one device could make it hours
    left_out = {(each["round"], each["device"]): each for each in record["federation"]["left_out"]}
    assert len(left_out) == 22
    for device, (kind, reason) in {
        2: ("lost", "cannot be read"),
        3: ("lost", ""),
        4: ("lost", "allow_pickle=False"),
        5: ("lost", "Unable to allocate"),
        6: ("refused", "<U1"),
        7: ("lost", ""),
        8: ("refused", f"learned from {2**62} samples"),
        9: ("refused", "it tells of 'accepted'"),
        10: ("refused", "its parameters are named"),
        11: ("lost", ""),
        12: ("lost", ""),
    }.items():
        for number in (1, 2):
            each = left_out[number, device]
            assert each["kind"] == kind, each
            assert reason in each["reason"]
            assert len(each["reason"]) <= 300
    assert {each["status"] for each in said if each.get("device") == 7} == {413}  # more than it was sent
    forged = [each for each in said if "deed" in each]
    assert len(forged) == 6
    assert {each["status"] for each in forged} == {400}
    assert same_as_averaged(tmp_path / "models" / wanted.digest(), wanted)


def same_as_averaged(folder: Path, wanted: Any) -> bool:
    """Whether a stored extractor is what two rounds make of what the devices 0 and 1 send."""
    from safetensors.numpy import load_file

    torch.set_num_threads(1)
    shared = FederatedDevices(wanted, load(wanted.data)).initial()
    for _ in range(2):
        moved = ({name: value + np.float32(by) for name, value in shared.items()} for by in (0.1, 0.3))
        shared = fedavg([Update(device, 5, values) for device, values in enumerate(moved)])
    stored = load_file(folder / "defence.safetensors")
    return all(np.allclose(stored[f"{name}"], value, atol=1e-6) for name, value in shared.items())
