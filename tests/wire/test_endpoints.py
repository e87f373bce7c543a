"""The table of endpoints, and that parties and scenarios read it rather than tables of their own."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from leakrange.wire.administration import BindingBody, KeyRequest
from leakrange.wire.endpoints import (
    ENDPOINTS,
    RELEASES,
    UPLOADS,
    ServiceSpec,
    endpoint_of,
    endpoints_of,
    released_by,
)
from leakrange.wire.errors import NotFound
from leakrange.wire.schemas import Service, StudentService

STUDENTS: tuple[StudentService, ...] = ("features", "verification", "recognition")
SERVICES: tuple[Service, ...] = ("classifier", *STUDENTS)


@pytest.mark.parametrize("service", SERVICES)
def test_whatever_a_service_releases_has_one_endpoint_of_its_own(service: Service) -> None:
    places = [endpoint_of(service, release) for release in released_by(service)]
    assert [RELEASES[place] for place in places] == list(released_by(service))
    assert set(places) <= set(endpoints_of(service))


def test_an_endpoint_for_what_a_service_does_not_release_is_not_found() -> None:
    with pytest.raises(NotFound, match="verification service releases features") as caught:
        endpoint_of("verification", "features")
    assert caught.value.hint == "it releases: score"


@pytest.mark.parametrize("kind", STUDENTS)
def test_a_scenario_reads_the_release_of_a_student_service_there(kind: StudentService) -> None:
    assert ServiceSpec(kind=kind).release == released_by(kind)[0]


def test_keys_may_name_all_endpoints_and_policies_hold_where_something_is_released() -> None:
    KeyRequest(name="all", budget=1, endpoints=list(ENDPOINTS))
    with pytest.raises(ValidationError, match="there is no endpoint 'oracle'"):
        KeyRequest(name="one", budget=1, endpoints=["oracle"])
    for endpoint in ENDPOINTS:
        if endpoint in (*RELEASES, UPLOADS):
            BindingBody(model="m", endpoint=endpoint, policy="p")
        else:
            with pytest.raises(ValidationError, match="is no release"):
                BindingBody(model="m", endpoint=endpoint, policy="p")
