"""Policies, routes, keys and limits by the command line, against a proxy that answers by them at once."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from leakrange.wire.tensors import encode_npy
from tests.patience import until
from tests.proxy.conftest import Range, pictures
from tests.proxy.servers import clean
from tests.proxy.test_limit_commands import command


def test_a_policy_is_put_bound_shown_and_deleted(live: Range) -> None:
    put = command(live, "policies", "put", "careful", "round: {decimals: 1}", "argmax")
    assert put.returncode == 0, put.stderr
    assert "round decimals=1, then argmax" in put.stderr
    listed = command(live, "policies", "list").stdout
    assert "careful" in listed
    assert "the same answer" in listed
    shown = json.loads(command(live, "policies", "show", "careful", "--json").stdout)
    assert [list(link) for link in shown["chain"]] == [["round"], ["argmax"]]
    assert "no policy holds for anybody" in command(live, "policies", "bindings").stderr
    key, images = live.key(100), pictures(3)
    assert (
        command(live, "policies", "bind", "careful", "--model", "digits", "--endpoint", "softmax").returncode
        == 0
    )
    assert "model digits, endpoint softmax" in command(live, "policies", "bindings").stdout
    assert live.query(key, images, "softmax").sum() == 3
    assert np.allclose(live.query(key, images), clean("logits", images))
    refused = command(live, "policies", "delete", "careful")
    assert refused.returncode == 4
    unbound = command(live, "policies", "unbind", "--model", "digits", "--endpoint", "softmax")
    assert unbound.returncode == 0, unbound.stderr
    assert np.allclose(live.query(key, images, "softmax"), clean("softmax", images))
    assert command(live, "policies", "delete", "careful").returncode == 0
    assert command(live, "policies", "show", "careful").returncode == 4
    assert "no policies yet" in command(live, "policies", "list").stderr


def test_a_policy_is_tried_beside_the_one_that_holds(live: Range) -> None:
    command(live, "policies", "put", "coarse", "argmax")
    tried = command(live, "policies", "shadow", "coarse", "--model", "digits")
    assert tried.returncode == 0, tried.stderr
    assert "'coarse' is tried for model digits" in tried.stderr
    images = pictures(3)
    assert np.allclose(live.query(live.key(100), images, "softmax"), clean("softmax", images))
    until(
        lambda: json.loads(command(live, "policies", "shadows", "--json").stdout)[0]["samples"] == 3,
        20,
        "the shadow to be computed",
    )
    [_, row] = command(live, "policies", "shadows").stdout.splitlines()
    assert re.fullmatch(r"model digits +coarse +3 +15 +0 +0\.\d+ *", row)
    assert command(live, "policies", "unshadow", "--model", "digits").returncode == 0
    assert "no policy is tried" in command(live, "policies", "shadows").stderr


def test_a_route_is_put_shown_and_deleted(live: Range) -> None:
    assert command(live, "routes", "put", "faces", live.provider_url).returncode == 0
    assert f"faces   provider     {live.provider_url}" in command(live, "routes", "list").stdout
    assert (
        json.loads(command(live, "routes", "show", "faces", "--json").stdout)["upstream"] == live.provider_url
    )
    assert len(live.admin("GET", "/routes")["routes"]) == 2
    assert command(live, "routes", "delete", "faces").returncode == 0
    gone = command(live, "routes", "show", "faces")
    assert gone.returncode == 4
    assert "there is no route for 'faces'" in gone.stderr
    assert command(live, "routes", "put", "faces", "nowhere").returncode == 2


def test_a_key_is_listed_shown_changed_and_revoked(live: Range) -> None:
    secret = live.key(10)
    live.query(secret, pictures(4))
    listed = command(live, "keys", "list").stdout
    assert [word in listed for word in ("tester", "in use", secret)] == [True, True, False]
    assert [
        row.split()[:2] for row in command(live, "keys", "show", "key").stdout.splitlines() if "left" in row
    ] == [["left", "6"]]
    changed = command(live, "keys", "put", "key", "--budget", "5", "--models", "digits,faces", "--json")
    assert changed.returncode == 0, changed.stderr
    account = json.loads(changed.stdout)
    assert (account["budget"], account["remaining"], account["models"]) == (5, 1, ["digits", "faces"])
    assert "nothing to change was given" in command(live, "keys", "put", "key").stderr
    assert command(live, "keys", "delete", "key").returncode == 0
    assert "revoked" in command(live, "keys", "show", "key").stdout
    assert live.post(secret, "softmax", encode_npy(pictures(1))).status_code == 401


def test_what_is_counted_under_a_limit_is_shown(live: Range) -> None:
    command(live, "limits", "put", "all", "global", "samples=9")
    key = live.key(50, limits=["all"])
    live.query(key, pictures(4))
    shown = command(live, "limits", "show", "all").stdout
    assert "samples=9" in shown
    assert "all: 4" in shown


@pytest.mark.parametrize(
    ("words", "said", "code"),
    [
        (("policies", "put", "x", "rond: {decimals: 1}"), "rond", 2),
        (("policies", "put", "x", "round: {decimals: 1"), "is no link of a chain", 2),
        (("policies", "put", "a/b"), "is no policy's name", 2),
        (("policies", "bind", "missing"), "there is no policy 'missing'", 2),
        (("policies", "unbind", "--model", "digits"), "there is no such binding", 4),
        (("routes", "delete", "missing"), "there is no such route", 4),
        (("keys", "show", "missing"), "missing", 4),
        (("keys", "put", "missing", "--endpoints", "softmx"), "did you mean 'softmax'?", 2),
    ],
)
def test_mistakes_are_told(live: Range, words: tuple[str, ...], said: str, code: int) -> None:
    done = command(live, *words)
    assert said in done.stderr
    assert done.returncode == code
