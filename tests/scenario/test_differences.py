"""Differences of scenarios are told where they are, once each."""

from __future__ import annotations

from leakrange.scenario.differences import differences
from leakrange.scenario.language import parse

SCENARIO = """\
name: one
seeds: [0, 1]
data: {name: digits, size: 16}
providers:
  honest: {behaviour: honest, target: parity, sensitive: large}
  curious:
    {behaviour: curious, method: parameterized, target: parity, sensitive: large, beta: {y: 0.5, s: 0.5}}
defences:
  none: []
  rounded: [round: {decimals: 1}]
attacks:
  outside: {kind: attribute-inference, auxiliary: 100}
budgets: [100]
"""


def told(*texts: str) -> dict[str, list[str | None]]:
    return dict(differences([parse(text).model_dump(mode="json") for text in texts]))


def test_scenarios_of_one_meaning_do_not_differ() -> None:
    turned = SCENARIO.replace("{name: digits, size: 16}", "{size: 16, name: digits, validation: 0.1}")
    assert told(SCENARIO, "# a comment\n" + turned + "description: words\n") == {}


def test_each_changed_field_is_told_with_all_values() -> None:
    second = SCENARIO.replace("[0, 1]", "[0, 1, 2]").replace("decimals: 1", "decimals: 2")
    third = SCENARIO.replace("s: 0.5", "s: 0.3")
    assert told(SCENARIO, second, third) == {
        "seeds": ["[0, 1]", "[0, 1, 2]", "[0, 1]"],
        "providers.curious.beta.s": ["0.5", "0.5", "0.3"],
        "defences.rounded": [
            "[{round: {decimals: 1}}]",
            "[{round: {decimals: 2}}]",
            "[{round: {decimals: 1}}]",
        ],
    }


def test_a_party_that_is_missing_is_told_as_a_whole() -> None:
    found = told(
        SCENARIO, SCENARIO.replace("  rounded: [round: {decimals: 1}]\n", "  label-only: [argmax]\n")
    )
    assert found == {
        "defences.rounded": ["[{round: {decimals: 1}}]", None],
        "defences.label-only": [None, "[{argmax: {}}]"],
    }
    before, _, after = SCENARIO.partition("  curious:\n")
    gone = told(SCENARIO, before + after.partition("\n")[2])
    assert gone["providers.curious"][1] is None
    assert (gone["providers.curious"][0] or "").startswith("{behaviour: curious")
    assert not [path for path in gone if path.startswith("providers.curious.")]
