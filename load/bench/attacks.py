"""What each attack costs at its defaults: ``python -m leakrange.load.bench.attacks [ATTACK ...]``.

Each attack is run by itself in an embedded range, with every parameter at its default, on a small model that
it applies to: on the demo's digits where it can be. Models are trained beforehand, shadow models among them,
since the attacks and seeds of a range share these; they have a row of their own. What is counted is the
processor time of the attacker's processes and of the trainings that it orders. Samples are those that the
attack had answered, or saw uploaded.
"""

from __future__ import annotations

import argparse
from typing import Any

import yaml

from leakrange.attacks import attacks
from leakrange.load.bench.fleet import carried_out
from leakrange.load.bench.harness import cpu_seconds, machine
from leakrange.load.embedded import EmbeddedRange, embedded_range

__all__ = ["SETTINGS", "scenario"]

BUDGET = 500_000
"""More than any attack asks by default."""
CONTROLS = ("blind", "imputation")
"""They run beside every attack of their kind."""

SETTINGS: dict[str, dict[str, Any]] = yaml.safe_load("""
digits: &digits
  kinds: [attribute, decoder, reconstruction, extraction, audit]
  data: &data {name: digits, size: 16, auxiliary: 0.3}
  net: {name: hbc, width: 0.5}
  schedule: {epochs: 20, batch: 32, lr: 0.003}
  providers:
    curious: {behaviour: curious, method: parameterized, target: parity, sensitive: slant, release: logits}
  clients: &phones {phones: {kind: edge, count: 4, samples: 320}}
  trains: {kind: audit, labelled: 20, test: 20, viciousness: {rounds: 1}}
soft:
  <<: *digits
  kinds: [student]
  providers:
    soft: {behaviour: curious, method: regularized, target: parity, sensitive: slant, release: softmax}
vicious:
  <<: *digits
  kinds: [reconstruction-decoder]
  net: {name: strided-conv}
  providers: {vicious: {behaviour: vicious, target: digit, release: logits}}
pool:
  <<: *digits
  kinds: [membership]
  data: {<<: *data, subset: {pool: 600, share: 0.5}}
  providers: {honest: {behaviour: honest, target: digit, release: logits}}
  trains: {kind: base, mode: online}
share:
  kinds: [distribution]
  data:
    name: synthtable
    auxiliary: 0.5
    composition: {attribute: group, having: south, samples: 500, share: 0.7}
  net: {name: mlp, width: 0.5}
  schedule: {epochs: 20, batch: 50, lr: 0.002, select: last}
  providers: {honest: {behaviour: honest, target: passes, release: softmax}}
  clients: *phones
  trains: {kind: share-classifier, auxiliary: 50}
people:
  kinds: [people, people-attribute, template]
  data:
    name: synthpeople
    size: 32
    auxiliary: 0
    crowd: {people: 50, images: 6, public: 50, students: 10, enrolled: 6, held: 4}
  net: {name: residual, width: 0.25}
  schedule: {epochs: 8, batch: 64, select: last}
  providers:
    verification: {target: identity, service: verification, sensitive: facial-hair}
  trains: {kind: class-based, known: 20}
drawings:
  kinds: [inversion]
  data: {name: synthfaces, size: 32, count: 4000, auxiliary: 0.4}
  net: {name: strided-conv}
  schedule: {epochs: 10, batch: 50, lr: 0.002}
  providers: {recogniser: {behaviour: honest, target: identity, release: softmax}}
  clients: *phones
  trains: {kind: inversion, people: 2, public: {name: synthfaces, seed: 1000, count: 4000}}
  gives: {public: {name: synthfaces, seed: 1000, count: 4000}}
samples:
  <<: *digits
  kinds: [probing, substitutes]
  providers: {honest: {behaviour: honest, target: parity, sensitive: slant, release: sample}}
  defences:
    pass: [pass: {private: slant, useful: parity, net: conv-2d, epochs: 5, substitutes: 256}]
  trains: {kind: attribute-nets, auxiliary: 20, epochs: 1}
""")
"""Parts of scenarios for attacks of these ``kinds``. The model is trained for ``trains``, an attack that
costs little; ``gives`` are parameters that have no default."""


def scenario(setting: str, attack: str | None = None) -> str:
    """A scenario of that attack alone, at its defaults, or of the one for which the setting's models are
    trained."""
    parts = dict(SETTINGS[setting])
    del parts["kinds"]
    first, given = parts.pop("trains"), parts.pop("gives", {})
    chosen = {"kind": attack} | given if attack else first
    if "defences" in parts:
        chosen = chosen | {"knowledge": ["unaware"]}
    return yaml.safe_dump(
        {"name": setting, "seeds": [0], "chunk": 250, "budgets": [BUDGET], "attacks": {"only": chosen}}
        | parts
    )


def row(embedded: EmbeddedRange, title: str, document: str) -> str:
    """The samples, processor seconds and seconds of a run, as a row; or why it failed."""
    fleet = [embedded.first.party(name).pid or 0 for name in ("attacker-1", "trainer")]
    before = sum(map(cpu_seconds, fleet))
    try:
        trials, seconds = carried_out(embedded, document)
    except SystemExit as failed:
        return f"| {title} | – | – | {failed} |"
    samples = sum(each["spent"] or 0 for each in trials)
    return f"| {title} | {samples:,} | {sum(map(cpu_seconds, fleet)) - before:.1f} | {seconds:.0f} |"


def main() -> None:
    """Print a table in Markdown: for each setting a row for its models, and one for each attack."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    every = [name for name in attacks if name not in CONTROLS]
    parser.add_argument("attacks", nargs="*", metavar="ATTACK", help="by default every one")
    chosen = parser.parse_args().attacks or every
    if unknown := set(chosen) - set(every):
        parser.error(f"no such attack: {', '.join(sorted(unknown))}; there are {', '.join(every)}")
    with machine("torch"), embedded_range(workers=1) as embedded:
        print("| attack | samples | CPU seconds | seconds |\n|---|---|---|---|")
        for setting, parts in SETTINGS.items():
            here = [name for name in chosen if attacks[name].kind in parts["kinds"]]
            if here:
                print(row(embedded, f"*{setting}: models*", scenario(setting)), flush=True)
            for name in here:
                print(row(embedded, f"`{name}`", scenario(setting, name)), flush=True)


if __name__ == "__main__":
    main()
