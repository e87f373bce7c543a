"""Uploads through the real proxy to the real provider: who pays, and under which name they are taken in."""

from __future__ import annotations

import httpx
from pydantic import SecretStr

from leakrange.services.proxy.main import proxy as create_proxy
from leakrange.services.proxy.settings import ProxySettings
from leakrange.wire.names import upload_name
from tests.edge.conftest import KEY, OPERATOR, edge_app
from tests.edge.test_edge import order, play, problem
from tests.serving import serving


def test_the_proxys_refusals_are_passed_on(
    edge: httpx.Client, provider: httpx.Client, empty_redis_url: str
) -> None:
    """The real proxy before the real provider: a budget of 15 samples pays for one session of ten."""
    settings = ProxySettings(redis_url=empty_redis_url, operator_key=SecretStr(KEY))
    with serving(create_proxy(settings)) as url, httpx.Client(base_url=url, headers=OPERATOR) as admin:
        upstream = str(provider.base_url).rstrip("/")
        admin.put("/admin/routes/model", json={"upstream": upstream}).raise_for_status()
        made = admin.post("/admin/keys", json={"name": "phone", "budget": 15})
        key = made.raise_for_status().json()["key"]
        assert play(edge, order(url, "paid", api_key=key)).status_code == 200
        assert play(edge, order(url, "paid", api_key=key)).status_code == 200
        with serving(edge_app()) as other, httpx.Client(base_url=other, timeout=120) as restarted:
            assert play(restarted, order(url, "paid", api_key=key)).status_code == 200
        problem(play(edge, order(url, "unpaid", api_key=key)), 429, "budget-exhausted")
        name = made.json()["id"]
        account = admin.get(f"/admin/keys/{name}").json()
        assert account["spent"] == 10
        problem(play(edge, order(url, "nobody", api_key="lr_nobody")), 401, "unauthenticated")
    intake = "/v1/operator/models/model/intake/"
    assert provider.get(intake + upload_name(name, "paid"), headers=OPERATOR).status_code == 200
    assert provider.get(intake + upload_name(name, "unpaid"), headers=OPERATOR).status_code == 404


def test_two_users_may_give_their_uploads_one_name(provider: httpx.Client, empty_redis_url: str) -> None:
    settings = ProxySettings(redis_url=empty_redis_url, operator_key=SecretStr(KEY))
    values = {"first": [[5.0, 0.0, 0.0]], "second": [[0.0, 5.0, 0.0], [0.0, 0.0, 5.0]]}
    with serving(create_proxy(settings)) as url, httpx.Client(base_url=url) as client:
        upstream = str(provider.base_url).rstrip("/")
        client.put("/admin/routes/model", json={"upstream": upstream}, headers=OPERATOR).raise_for_status()
        for user, sent in values.items():
            made = client.post("/admin/keys", json={"name": user, "id": user, "budget": 5}, headers=OPERATOR)
            headers = {
                "Authorization": f"Bearer {made.raise_for_status().json()['key']}",
                "Idempotency-Key": "session 1",
            }
            body = {"release": "logits", "values": sent}
            answer = client.post("/v1/models/model/outputs", json=body, headers=headers)
            assert answer.raise_for_status().json()["decisions"] == [row.index(5.0) for row in sent]
    for user, sent in values.items():
        place = f"/v1/operator/models/model/intake/{upload_name(user, 'session 1')}"
        assert provider.get(place, headers=OPERATOR).json()["values"] == sent
