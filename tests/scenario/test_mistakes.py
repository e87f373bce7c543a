"""Every mistake of a scenario is told at once, each in its place and with a way out."""

from pathlib import Path

import pytest
from pydantic import SecretStr

from leakrange.scenario.language import parse
from leakrange.services.provider.settings import ProviderSettings
from tests.scenario.test_language import SHORT, mistakes_of

FIVE = """\
name: five
seeds: [0, 1]
data: {name: digits, size: 16}
providers:
  honest: {behaviour: honest, target: paritty}
  curious:
    behaviour: curious
    method: regularized
    target: parity
    sensitive: digit
defences:
  none: []
  rounded: [round: {decimal: 1}]
attacks:
  inside: {kind: curious-decoder, providers: [curios]}
budgets: [100, -5]
"""


def test_five_mistakes_are_told_at_once_each_in_its_place() -> None:
    found = mistakes_of(FIVE)
    told = [(m["line"], m["column"], m["path"]) for m in found]
    assert told == [
        (5, 39, "providers.honest.target"),
        (10, 16, "providers.curious.sensitive"),
        (13, 21, "defences.rounded[0].round.decimal"),
        (15, 47, "attacks.inside.providers[0]"),
        (16, 16, "budgets[1]"),
    ]
    by_path = {m["path"]: m for m in found}
    assert by_path["providers.honest.target"]["suggestion"] == "parity"
    assert by_path["providers.honest.target"]["allowed"] == ["digit", "large", "loop", "parity", "slant"]
    assert by_path["providers.curious.sensitive"]["allowed"] == ["large", "loop", "slant"]
    assert by_path["defences.rounded[0].round.decimal"]["suggestion"] == "decimals"
    assert by_path["attacks.inside.providers[0]"]["suggestion"] == "curious"
    assert "greater than or equal to 1, not -5" in by_path["budgets[1]"]["message"]


def replaced(old: str, new: str) -> str:
    assert old in SHORT
    return SHORT.replace(old, new)


@pytest.mark.parametrize(
    ("text", "place", "path", "said", "suggestion"),
    [
        (replaced("digits", "digit"), (2, 7), "data.name", "unknown data set 'digit'", "digits"),
        (replaced("data: digits\n", ""), (1, 1), "data", "'data' is missing", None),
        (replaced("name: short\n", ""), (1, 1), "name", "'name' is missing", None),
        (SHORT + "budget: [1]\n", (7, 1), "budget", "unknown field 'budget'", "budgets"),
        (SHORT + "seeds: [1, 1]\n", (7, 8), "seeds", "every number once", None),
        (SHORT + "schedule: {epoch: 3}\n", (7, 12), "schedule.epoch", "unknown field", "epochs"),
        (SHORT + "net: {name: hbcc}\n", (7, 13), "net.name", "unknown net 'hbcc'", "hbc"),
        (SHORT + "defences: {none: [argmax]}\n", (7, 18), "defences.none", "'none' is the name of", None),
        (
            SHORT + "defences: {a: [argmax], b: [argmax: {}]}\n",
            (7, 25),
            "defences.b",
            "the same chain as 'a'",
            None,
        ),
        (
            SHORT + "defences:\n  a: [argmaxx]\n",
            (8, 7),
            "defences.a[0]",
            "unknown defence 'argmaxx'",
            "argmax",
        ),
        (
            SHORT + "defences:\n  a: [argmax, prune: {amount: 0.5}]\n",
            (8, 15),
            "defences.a[1]",
            "put it before 'argmax'",
            None,
        ),
        (
            SHORT + "defences:\n  a: [prune: {amount: 2}]\n",
            (8, 23),
            "defences.a[0].prune.amount",
            "less than 1",
            None,
        ),
        (
            SHORT + "defences:\n  a: [prune: {amount: 0.5, scop: global}]\n",
            (8, 28),
            "defences.a[0].prune.scop",
            "unknown parameter 'scop'",
            "scope",
        ),
        (SHORT + "defences:\n  a: [prun: 0.5]\n", (8, 7), "defences.a[0]", "unknown defence 'prun'", "prune"),
        (SHORT + "chunk: 257\n", (7, 8), "chunk", "a request holds 1 to 256 samples, not 257", None),
        (SHORT + "chunk: 0\n", (7, 8), "chunk", "a request holds 1 to 256 samples, not 0", None),
        (SHORT + "clients: {u: {kind: node}}\n", (7, 21), "clients.u.kind", "'node' is not one of", None),
        (
            SHORT + "clients: {u: {defence: [nois: 1]}}\n",
            (7, 25),
            "clients.u.defence[0]",
            "unknown defence 'nois'",
            "noise",
        ),
        (SHORT + "clients: {u: {}, v: {}}\n", (7, 1), "clients", "at most 1 group of users", None),
        (
            replaced("behaviour: curious", "behaviour: curius"),
            (4, 24),
            "providers.curious.behaviour",
            "unknown",
            "curious",
        ),
        (
            replaced("parameterized", "parametrised"),
            (4, 41),
            "providers.curious.method",
            "unknown method",
            "parameterized",
        ),
        (
            replaced("method: parameterized, ", ""),
            (4, 3),
            "providers.curious.method",
            "needs a 'method'",
            None,
        ),
        (
            replaced(", sensitive: large", ""),
            (4, 3),
            "providers.curious.sensitive",
            "'sensitive' is missing",
            None,
        ),
        (
            replaced("sensitive: large", "sensitive: parity"),
            (4, 83),
            "providers.curious.sensitive",
            "hides nothing",
            None,
        ),
        (
            replaced("large}", "large, bta: {y: 1}}"),
            (4, 90),
            "providers.curious.bta",
            "unknown field 'bta'",
            "beta",
        ),
        (
            replaced("large}", "large, beta: {z: 1}}"),
            (4, 97),
            "providers.curious.beta.z",
            "unknown field 'z'",
            None,
        ),
        (
            replaced("large}", "large, release: featurs}"),
            (4, 99),
            "providers.curious.release",
            "is not one of",
            "features",
        ),
        (
            replaced("large}", "large, release: features}"),
            (4, 99),
            "providers.curious.release",
            "cannot release",
            None,
        ),
        (replaced("  curious:", "  'a b':"), (4, 3), "providers.a b", "is no name", None),
        (
            replaced("curious-decoder", "curious-decodr"),
            (6, 18),
            "attacks.inside.kind",
            "unknown attack",
            "curious-decoder",
        ),
        (
            replaced("curious-decoder}", "curious-decoder, knowledge: aware}"),
            (6, 46),
            "attacks.inside.knowledge[0]",
            "cannot be aware",
            None,
        ),
        (
            replaced("curious-decoder}", "attribute-inference, auxilary: 100}"),
            (6, 39),
            "attacks.inside.auxilary",
            "unknown field 'auxilary'",
            "auxiliary",
        ),
        (
            replaced("curious-decoder}", "attribute-inference, sensitive: larg}"),
            (6, 50),
            "attacks.inside.sensitive",
            "no provider's data has an attribute 'larg'",
            "large",
        ),
        (
            replaced("curious-decoder}", "attribute-inference, sensitive: parity}"),
            (6, 3),
            "attacks.inside",
            "'parity' is what it is asked for",
            None,
        ),
        (
            SHORT.replace("curious-decoder}", "attribute-inference}") + "budgets: 10\n",
            (6, 3),
            "attacks.inside",
            "no budget of 10 samples buys this attack enough records; one of",
            None,
        ),
    ],
)
def test_each_mistake_has_its_place_and_a_way_out(
    text: str, place: tuple[int, int], path: str, said: str, suggestion: str | None
) -> None:
    [mistake] = mistakes_of(text)
    assert said in mistake["message"]
    assert (mistake["line"], mistake["column"]) == place
    assert mistake["path"].rstrip("]0123456789[") == path.rstrip("]0123456789[")
    assert mistake["suggestion"] == suggestion


def test_the_largest_chunk_is_what_a_provider_answers(tmp_path: Path) -> None:
    key = SecretStr("0123456789abcdef" * 2)
    settings = ProviderSettings(operator_key=key, models_dir=tmp_path, state_dir=tmp_path)
    assert parse(SHORT + f"chunk: {settings.max_batch}\n").chunk == settings.max_batch
    [mistake] = mistakes_of(SHORT + f"chunk: {settings.max_batch + 1}\n")
    assert mistake["path"] == "chunk"


def test_what_users_upload_must_be_what_providers_take() -> None:
    clients = "clients: {phones: {uploads: softmax}}\n"
    assert parse(SHORT + clients).providers["curious"].release == "softmax"
    [mistake] = mistakes_of(SHORT.replace("large}", "large, release: logits}") + clients)
    assert "users upload softmax" in mistake["message"]
    [mistake] = mistakes_of(
        SHORT.replace("parameterized", "regularized") + "clients: {phones: {uploads: logits}}\n"
    )
    assert (mistake["path"], mistake["allowed"]) == ("clients.phones.uploads", ["softmax", "sample"])


def test_an_honest_provider_alone_gives_the_curious_decoder_nothing() -> None:
    text = SHORT.replace("behaviour: curious, method: parameterized, ", "")
    [mistake] = mistakes_of(text)
    assert "can be tried on no provider (curious: it decodes nothing)" in mistake["message"]


def test_two_providers_that_are_the_same_are_one_too_many() -> None:
    provider = "{target: parity, sensitive: large}"
    text = f"name: n\ndata: digits\nproviders:\n  a: {provider}\n  b: {provider}\n"
    [mistake] = mistakes_of(text + "attacks: {o: {kind: attribute-inference}}\n")
    assert (mistake["line"], mistake["path"]) == (5, "providers.b")


def test_a_broken_part_is_no_second_mistake_elsewhere() -> None:
    text = SHORT.replace("target: parity", "targt: parity") + "defences: {a: [argmax]}\n"
    assert [m["path"] for m in mistakes_of(text)] == ["providers.curious.target"]


def test_data_that_is_not_here_is_no_mistake(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LEAKRANGE_DATA", raising=False)
    text = SHORT.replace("digits", "utkface").replace("parity", "gender").replace("large", "race-2")
    assert parse(text).data["utkface"].name == "utkface"


def test_extensions_are_nobodys_and_may_hold_anchors() -> None:
    text = SHORT.replace("{behaviour", "{<<: *base, behaviour").replace("target: parity, ", "")
    assert parse("x-parts: {a: &base {target: parity}}\n" + text).providers["curious"].target == "parity"


def test_a_dict_has_no_lines_but_paths() -> None:
    [mistake] = mistakes_of(
        {"name": "n", "data": "digits", "providers": {"a": {}}, "attacks": {"b": {"kind": "curious-decoder"}}}
    )
    assert (mistake["line"], mistake["column"], mistake["path"]) == (None, None, "providers.a.target")


@pytest.mark.parametrize(
    "text", ["[]", "3", "name", '"\\u0000"', "{}", "name: {a: 1}\nproviders: 3\ndata: []"]
)
def test_what_is_no_scenario_at_all_is_told_so(text: str) -> None:
    assert mistakes_of(text)


def test_a_matrix_that_nobody_could_run_is_refused() -> None:
    text = SHORT + f"seeds: {list(range(100))}\nbudgets: {list(range(1, 51))}\n"
    text += "defences: {none: [], " + ", ".join(f"d{i}: [temperature: {i + 2}]" for i in range(200)) + "}\n"
    mistake, *_ = mistakes_of(text)
    assert "the matrix has 1,005,000 trials, at most 1,000,000" in mistake["message"]
