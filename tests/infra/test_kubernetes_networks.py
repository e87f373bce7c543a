"""Network policies, as rendered: they let pods meet whom the networks of docker-compose.yml let them meet."""

from __future__ import annotations

import pytest

from leakrange.service.parties import FLEET_REDIS, REDIS
from tests.infra.manifests import (
    COMPOSE,
    OVERLAYS,
    Made,
    of_kind,
    pods,
    selects,
)


def allowed(policies: list[Made], direction: str, one: Made, other: Made) -> bool:
    """Whether ``one`` may take from (``ingress``) or send to (``egress``) ``other``."""
    kind = direction.capitalize()
    found = [each["spec"] for each in policies if selects(each["spec"]["podSelector"], one)]
    found = [spec for spec in found if kind in spec["policyTypes"]]
    peers = [
        peer
        for spec in found
        for rule in spec.get(direction, [])
        for peer in rule.get("from" if direction == "ingress" else "to", [])
        if "namespaceSelector" not in peer  # all of these name another namespace
    ]
    return not found or any(selects(peer["podSelector"], other) for peer in peers)


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_pods_reach_whom_the_networks_of_compose_let_them_reach(
    made: dict[str, list[Made]], overlay: str
) -> None:
    templates = pods(made[overlay])
    policies = list(of_kind(made[overlay], "NetworkPolicy").values())
    composed = {
        name: set(service["networks"]) for name, service in COMPOSE.items() if service.get("profiles") is None
    }
    names = {"attacker": ["fleet-probe", "fleet-fit", "fleet-audit"], "trainer": ["fleet-train"]}
    meeting = {
        (one, other)
        for first, networks in composed.items()
        for second, others in composed.items()
        if networks & others
        for one in names.get(first, [first])
        for other in names.get(second, [second])
    }
    reaching = {
        (one, other)
        for one in templates
        for other in templates
        if allowed(policies, "egress", templates[one], templates[other])
        and allowed(policies, "ingress", templates[other], templates[one])
    }
    if overlay == "rabbitmq":  # it stands where the fleet's Redis stands
        meeting |= {
            tuple("rabbitmq" if n == FLEET_REDIS else n for n in pair)
            for pair in meeting
            if FLEET_REDIS in pair
        }
        meeting |= {("rabbitmq", FLEET_REDIS), (FLEET_REDIS, "rabbitmq")}
    assert reaching == meeting
    assert {one for one, other in reaching if other == REDIS} == {"proxy", REDIS}
    assert ("fleet-probe", "proxy") in reaching
    assert ("fleet-probe", "provider-honest") not in reaching


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_nobody_comes_in_from_elsewhere_but_what_scales_the_fleet(
    made: dict[str, list[Made]], overlay: str
) -> None:
    foreign = {
        (name, direction, peer["namespaceSelector"]["matchLabels"]["kubernetes.io/metadata.name"])
        for name, policy in of_kind(made[overlay], "NetworkPolicy").items()
        for direction, side in (("ingress", "from"), ("egress", "to"))
        for rule in policy["spec"].get(direction, [])
        for peer in rule[side]
        if "namespaceSelector" in peer
    }
    assert foreign == {("names", "egress", "kube-system"), ("scaler", "ingress", "keda")}
    closed = of_kind(made[overlay], "NetworkPolicy")["nobody"]["spec"]
    assert closed == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}
    broker = "rabbitmq" if overlay == "rabbitmq" else FLEET_REDIS
    scaler = of_kind(made[overlay], "NetworkPolicy")["scaler"]["spec"]
    assert [name for name, pod in pods(made[overlay]).items() if selects(scaler["podSelector"], pod)] == [
        broker
    ]
