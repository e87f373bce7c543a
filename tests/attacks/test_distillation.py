"""What the registry says of distillation; how a student learns is tested with the library that trains it."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from leakrange.attacks import attacks


def test_it_is_a_user_who_distils_and_a_provider_who_reads() -> None:
    entry = attacks["distillation"]
    assert (entry.kind, entry.consumes, entry.knowledge) == ("student", ("softmax",), ("aware",))
    assert "labels" not in " ".join(entry.grants)


def test_parameters_are_judged() -> None:
    parameters = attacks["distillation"].Parameters
    given = parameters.model_validate({}).model_dump()
    assert (given["width"], given["temperature"]) == (0.5, 1.0)
    assert (given["net"], given["dropout"], given["threshold"]) == (None, None, "teacher")  # as published
    for wrong in ({"auxiliary": 49}, {"width": 0}, {"temperature": 0}, {"sensitive": "s"}, {"dropout": 1}):
        with pytest.raises(ValidationError):
            parameters.model_validate(wrong)
