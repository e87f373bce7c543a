"""Students of a teacher, attacked through the range's proxy."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from leakrange.reproduction.faceleaks.channel import Channel, Range
from leakrange.reproduction.faceleaks.defended import Defence
from leakrange.reproduction.faceleaks.parts import membership, models
from leakrange.reproduction.faceleaks.scene import Scene
from leakrange.reproduction.faceleaks.settings import Settings
from tests.embedded import EmbeddedRange

pytestmark = pytest.mark.timeout(900)
SETTINGS = Settings(
    data="synthpeople", size=32, width=0.25, epochs=2, images=6, tested=10, validated=5, pairs=5, classes=5
)


def test_what_was_answered_is_paid_for_once_and_not_asked_again(
    embedded_range: EmbeddedRange, tmp_path: Path
) -> None:
    record = embedded_range.record
    where = Range(record.proxy, record.url("provider-honest"), record.operator_key)
    scene = Scene(SETTINGS, 0, embedded_range.folder.models, Channel(where, tmp_path))

    students = models(scene, lambda _: None)
    assert students["verification_normalised"]["accuracy"] > 0.65  # people whom it has never seen
    assert students["students"]["5"] > 0.5  # by chance a fifth

    before = spent(record.proxy, record.operator_key)
    cell = membership(scene, lambda _: None)
    asked = 30 * 6 * 3 + 30 * 5 * 2  # features raw and normalised, recognition; pairs of both distances
    assert scene.channel.asked == asked
    assert spent(record.proxy, record.operator_key) - before == asked
    assert {row["api"] for row in cell["rows"]} == {"features", "verification", "recognition"}
    again = Scene(SETTINGS, 0, embedded_range.folder.models, Channel(where, tmp_path))
    assert membership(again, lambda _: None)["rows"] == cell["rows"]
    assert again.channel.asked == 0
    # Who has lost the answers asks under keys of its own: those of an asking that was interrupted are spent.
    lost = Scene(SETTINGS, 0, embedded_range.folder.models, Channel(where, tmp_path / "lost"))
    before = spent(record.proxy, record.operator_key)
    lost.attacked(lost.service("features"), Defence("none", ()))
    assert spent(record.proxy, record.operator_key) - before == 30 * 6

    service = scene.service("features")
    rounded = scene.attacked(service, Defence("rounded", ({"round": {"decimals": 1}},)))
    clean = scene.attacked(service, Defence("none", ()))
    assert rounded == pytest.approx(clean.round(1), abs=1e-6)


def spent(proxy: str, operator: str) -> int:
    """Samples that all keys have spent."""
    answer = httpx.get(f"{proxy}/admin/keys", headers={"Authorization": f"Bearer {operator}"}, timeout=30)
    return sum(key["spent"] for key in answer.raise_for_status().json()["keys"])
