"""What the operator does at a proxy is noted, whatever the endpoint, and no secret with it."""

from __future__ import annotations

import hashlib
import re
from typing import Any

from leakrange.services.proxy.main import proxy
from tests.proxy.conftest import OPERATOR, Range, settings

SECRET = "lr_" + "s" * 40


def test_every_endpoint_that_changes_something_is_noted(live: Range) -> None:
    """The schema tells them; each is asked as an outsider, who leaves no trace, and as the operator."""
    changing = [
        (method.upper(), path)
        for path, operations in proxy(settings(live.redis_url)).app.openapi()["paths"].items()
        for method in operations
        if path.startswith("/admin/") and method in ("post", "put", "patch", "delete")
    ]
    assert len(changing) > 10
    before = len(live.admin("GET", "/acts")["acts"])
    for method, pattern in changing:
        path = re.sub(r"\{\w+\}", "nothing", pattern)
        asked = {"json": {}} if method != "DELETE" else {}
        assert live.client.request(method, live.url + path, **asked).status_code == 401
        headers = {"Authorization": f"Bearer {OPERATOR}"}
        status = live.client.request(method, live.url + path, headers=headers, **asked).status_code
        *_, last = acts = live.admin("GET", "/acts")["acts"]
        before += 1
        assert (len(acts), last["method"], last["path"], last["status"]) == (before, method, path, status)


def test_an_entry_says_who_did_what_from_where_and_no_secret(live: Range) -> None:
    live.key(30, id="partner", key=SECRET)
    live.admin("PATCH", "/keys/partner", {"budget": 40})
    live.admin("PUT", "/policies/coarse", {"chain": ["argmax"]})
    live.admin("PUT", "/bindings", {"policy": "coarse", "key": "partner"})
    live.admin("DELETE", "/bindings?key=partner")
    acts: list[dict[str, Any]] = live.admin("GET", "/acts")["acts"][-5:]
    assert [act["change"] for act in acts] == [
        {"budget": 30, "id": "partner", "name": "tester"},
        {"budget": 40},
        {"chain": ["argmax"]},
        {"key": "partner", "policy": "coarse"},
        None,
    ]
    assert acts[-1]["path"] == "/admin/bindings?key=partner"
    assert {act["by"] for act in acts} == {f"key {hashlib.sha256(OPERATOR.encode()).hexdigest()[:12]}"}
    assert {(act["address"], act["party"]) for act in acts} == {("127.0.0.1", "proxy")}
    assert [act["status"] for act in acts] == [201, 200, 200, 200, 204]
    live.client.put(
        f"{live.url}/admin/routes/remote",
        json={"target": {"url": "http://nowhere.example", "headers": {"Authorization": SECRET}}},
        headers={"Authorization": f"Bearer {OPERATOR}"},
    )
    whole = live.client.get(f"{live.url}/admin/acts", headers={"Authorization": f"Bearer {OPERATOR}"}).text
    assert "/admin/routes/remote" in whole
    assert SECRET not in whole
    assert OPERATOR not in whole
    assert live.admin("GET", "/acts?since=9e9") == {"acts": []}
