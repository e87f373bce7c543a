"""Names of models and persons: what is one, and what a query string says."""

from __future__ import annotations

import pytest

from leakrange.wire.errors import InvalidInput
from leakrange.wire.names import asked_person, check_person, is_name


@pytest.mark.parametrize("name", ["a", "7", "ann", "Ann.B_c-2", "x" * 128])
def test_names(name: str) -> None:
    assert is_name(name)
    assert check_person(name) == name


@pytest.mark.parametrize(
    "name", ["", ".", "..", "-a", "_a", "a/b", "a b", "a\n", "ä", "٣", "x" * 129, "a%2F"]
)
def test_what_is_no_name_leads_nowhere(name: str) -> None:
    assert not is_name(name)
    with pytest.raises(InvalidInput, match="is no person's name"):
        check_person(name)


@pytest.mark.parametrize(
    ("query", "person"),
    [("", None), ("person=ann", "ann"), ("person=", ""), ("person", ""), ("person=a%2Fb", "a/b")],
)
def test_a_query_names_one_person_or_none(query: str, person: str | None) -> None:
    assert asked_person(query) == person


@pytest.mark.parametrize("query", ["x=1", "Person=ann", "person=a&person=b", "person=a&x=1", "a&b&c&d"])
def test_a_query_says_nothing_else(query: str) -> None:
    with pytest.raises(InvalidInput, match="query"):
        asked_person(query)
