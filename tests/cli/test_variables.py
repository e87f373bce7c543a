"""What is set for `leakrange up` holds for the range that it starts."""

from __future__ import annotations

from pathlib import Path

import httpx

from leakrange.service.parties import SERVERS
from tests.embedded import EmbeddedRange, leakrange

VIEWER = "0123456789abcdef-viewer"
METRICS = "0123456789abcdef-metrics"


def test_who_has_no_key_reads_neither_pages_nor_metrics(tmp_path: Path) -> None:
    standing = EmbeddedRange(tmp_path)
    standing.up(LEAKRANGE_VIEWER_KEY=VIEWER, LEAKRANGE_METRICS_KEY=METRICS)
    try:
        record = standing.record
        servers = [party.name for party in record.parties if party.port and party.name not in SERVERS]
        assert len(servers) == 6
        reading = [(f"{record.controller}{path}", VIEWER) for path in ("/", "/v1/runs", "/v1/models")]
        for url, key in [*reading, *((f"{record.url(name)}/metrics", METRICS) for name in servers)]:
            assert httpx.get(url).status_code == 401, url
            assert httpx.get(url, headers={"Authorization": f"Bearer {key}"}).status_code == 200, url
        assert standing("runs").returncode == 0
    finally:
        standing.down()


def test_what_the_range_decides_for_itself_is_named(tmp_path: Path) -> None:
    """With a damaged file of secrets, so that nothing is started."""
    (tmp_path / "secrets.json").write_bytes(b"{")
    chosen = {"LEAKRANGE_DATABASE_URL": "postgresql+asyncpg://nowhere/x", "LEAKRANGE_WORKERS": "2"}
    done = leakrange("up", "--ports", "0", "--state", str(tmp_path), **chosen)
    assert done.returncode == 5
    assert "ignored, because the range sets it by itself: LEAKRANGE_DATABASE_URL" in done.stderr
    assert "LEAKRANGE_WORKERS" not in done.stderr
