from __future__ import annotations

import gc
import weakref

from leakrange.service.garbage import sparing_what_lives


class Node:
    def __init__(self) -> None:
        self.itself = self


def test_what_lived_before_is_not_looked_at_and_what_comes_is() -> None:
    before = Node()
    with sparing_what_lives():
        assert not any(each is before for each in gc.get_objects())
        dead = weakref.ref(Node())  # a cycle, which nothing but the collector finds
        gc.collect()
        assert dead() is None
    assert any(each is before for each in gc.get_objects())
