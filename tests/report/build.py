"""A run made by hand, with figures such as a real one has: four providers on each of two data sets.

No two providers, defences or seeds have a figure in common, and none lies halfway between two others: a
report that takes one for another, the least for the greatest or this seed for that, says something else.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from random import Random
from statistics import NormalDist

from leakrange.metrics import Estimate, auc_interval
from leakrange.scenario.results import ModelResult, RunResults, TrialResult

DEFENCES = ("none", "rounded", "noise", "top-1", "argmax")
BUDGETS = (100, 1000)
SEEDS = (0, 1)
KNOWLEDGES = ("unaware", "aware", "averaging")

TASKS = {"digits": ("parity", "loop", 0.52), "synthfaces": ("smile", "glasses", 0.55)}
PROVIDERS = {  # behaviour, release, honesty, curiosity undefended
    "honest": ("honest", "logits", 0.975, 0.545),
    "regularized": ("curious/regularized", "softmax", 0.968, 0.93),
    "parameterized-raw": ("curious/parameterized", "logits", 0.971, 0.978),
    "parameterized-soft": ("curious/parameterized", "softmax", 0.969, 0.962),
}
KEPT = {  # of the gain, by the providers in their order; on synthfaces a little less
    "none": (1.0, 1.0, 1.0, 1.0),
    "rounded": (0.81, 0.997, 0.972, 0.931),
    "noise": (0.64, 0.052, 0.71, 0.43),
    "top-1": (0.37, 0.22, 0.55, 0.963),
    "argmax": (0.09, 0.031, 0.012, 0.047),
}
COST = {  # in honesty
    "none": (0.0, 0.0, 0.0, 0.0),
    "rounded": (0.0, 0.0, 0.0, 0.0),
    "noise": (-0.004, -0.031, -0.018, -0.009),
    "top-1": (0.0, 0.006, 0.013, 0.002),
    "argmax": (0.0, 0.0, 0.0, 0.0),
}
GAIN = {"unaware": 0.6, "aware": 1.0, "averaging": 0.95}

SCENARIO = """\
name: what-a-curious-classifier-learns
seeds: [0, 1]
data: {name: digits}
providers:
  honest:            {behaviour: honest, target: parity}
  parameterized-raw: {behaviour: curious/parameterized, target: parity, sensitive: loop}
defences:
  none: []
  rounded: [round: {decimals: 1}]
  argmax: [argmax]
attacks:
  inside:  {kind: curious-decoder}
  outside: {kind: attribute-inference, sensitive: loop, auxiliary: 500, knowledge: [unaware, aware]}
budgets: [100, 1000]
"""


def unmarked(page: str) -> str:
    """The page without the marks on words that explain themselves."""
    return re.sub(r"</?abbr[^>]*>", "", page)


def roc(auc: float) -> dict[str, list[float]]:
    """The ROC curve of two normal distributions of equal variance with that area."""
    normal = NormalDist()
    apart = normal.inv_cdf(min(max(auc, 0.5001), 0.9999)) * 2**0.5
    fpr = [0.0] + [i / 100 for i in range(1, 100)] + [1.0]
    tpr = [0.0] + [normal.cdf(normal.inv_cdf(i / 100) + apart) for i in range(1, 100)] + [1.0]
    return {"fpr": fpr, "tpr": tpr}


def trial(data: str, name: str, defence: str, knowledge: str, budget: int, seed: int) -> TrialResult:
    """One finished trial with plausible figures, the same every time."""
    target, sensitive, majority = TASKS[data]
    behaviour, release, honesty, open_curiosity = PROVIDERS[name]
    identity = f"{data}/{name}/{defence}/{knowledge}/{budget}/{seed}"
    noise = Random(identity)
    place = list(PROVIDERS).index(name)
    kept = KEPT[defence][place] * (1.0 if data == "digits" or defence == "none" else 0.99)
    gain = (open_curiosity - majority) * kept * (1.0 if behaviour != "honest" else GAIN[knowledge])
    if behaviour == "honest" and budget == BUDGETS[0]:
        gain *= 0.5
    curiosity = min(1.0, max(0.0, majority + gain + noise.gauss(0, 0.006)))
    auc = min(1.0, 0.5 + 0.49 * gain / (1 - majority) + abs(noise.gauss(0, 0.004)))
    figures = {
        "honesty": honesty + COST[defence][place] + Random(f"{data}{name}{seed}").gauss(0, 0.003),
        "curiosity": curiosity,
        "majority": majority,
        "auc": auc,
        "nag": max(0.0, (curiosity - majority) / (1 - majority)),
    }
    return TrialResult(
        id=identity,
        kind="attribute" if behaviour == "honest" else "decoder",
        provider=f"{data}-{name}",
        data=data,
        behaviour=behaviour,
        release=release,
        target=target,
        sensitive=sensitive,
        defence=defence,
        attack="outside" if behaviour == "honest" else "inside",
        knowledge=knowledge,
        budget=budget,
        seed=seed,
        state="done",
        victims=budget,
        spent=budget,
        metrics=estimates(figures) | {"auc": area(auc)},
        views={"roc": roc(auc), "confusion": [[48, 4], [3, 45]], "distribution": DISTRIBUTION},
    )


DISTRIBUTION = {"statistic": "mean", "members": [0.1, 0.2, 0.2, 0.4], "others": [0.3, 0.5, 0.6, 0.9]}


def estimates(figures: Mapping[str, float | Estimate]) -> dict[str, Estimate]:
    """Figures without an interval as estimates; estimates as they are."""
    return {
        name: value if isinstance(value, Estimate) else Estimate(value=value)
        for name, value in figures.items()
    }


def area(value: float, positives: int = 1900, negatives: int = 2300) -> Estimate:
    """An AUC of so many samples, with its interval."""
    return Estimate.within(value, auc_interval(value, positives, negatives))


def measured(trial: TrialResult, **figures: float | Estimate) -> TrialResult:
    """The trial with other figures."""
    return trial.model_copy(update={"metrics": trial.metrics | estimates(figures)})


def unmeasured(trial: TrialResult, **fields: object) -> TrialResult:
    """The trial without any figures, and with other fields."""
    return trial.model_copy(update={"metrics": {}, "views": {}} | fields)


def model(data: str, name: str, seed: int) -> ModelResult:
    """A trained model whose outputs have more entropy the more it hides."""
    target, sensitive, _ = TASKS[data]
    behaviour, release, honesty, curiosity = PROVIDERS[name]
    noise = Random(f"{data}{name}{seed}")
    rate = 7.0 if behaviour == "honest" else 2.5
    draws = [min(0.999, noise.expovariate(rate)) for _ in range(600)]
    histogram = [0] * 20
    for draw in draws:
        histogram[int(draw * 20)] += 1
    history = []
    for epoch in range(1, 16):
        near = 1 - 0.8**epoch
        entry = {
            "epoch": float(epoch),
            "loss": 1.4 * (1 - near) + 0.08,
            "honesty": 0.5 + (honesty - 0.5) * near,
            "seconds": 0.7,
        }
        if behaviour != "honest":
            entry["curiosity"] = 0.5 + (curiosity - 0.5) * near + noise.gauss(0, 0.01)
        history.append(entry)
    return ModelResult(
        provider=f"{data}-{name}",
        seed=seed,
        data=data,
        behaviour=behaviour,
        release=release,
        target=target,
        sensitive=None if behaviour == "honest" else sensitive,
        artifact=Random(f"{data}{name}{seed}a").randbytes(32).hex(),
        parameters=412_377,
        train_seconds=13.37,
        entropy_mean=sum(draws) / len(draws),
        entropy_max=1.0,
        entropy_histogram=histogram,
        history=history,
    )


def trials() -> list[TrialResult]:
    """Every cell of the matrix: the honest providers are attacked from outside with three knowledges."""
    return list(_trials())


@cache
def _trials() -> tuple[TrialResult, ...]:
    return tuple(
        trial(data, name, defence, knowledge, budget, seed)
        for data in TASKS
        for name, (behaviour, *_) in PROVIDERS.items()
        for defence in DEFENCES
        for knowledge in (KNOWLEDGES if behaviour == "honest" else KNOWLEDGES[:1])
        for budget in BUDGETS
        for seed in SEEDS
    )


def run(**changes: object) -> RunResults:
    """A finished run; ``changes`` replace fields of it."""
    found = trials()
    ledger = [
        {
            "name": f"{data}-{name}-{defence}",
            "policy": defence,
            "budget": 1000,
            "spent": 1000,
            "distinct": 1000,
        }
        for data in TASKS
        for name in PROVIDERS
        for defence in DEFENCES
    ]
    fields: dict[str, object] = {
        "run": "r-20260101-demo",
        "name": "what-a-curious-classifier-learns",
        "state": "done",
        "created": "2026-01-01T12:00:00Z",
        "finished": "2026-01-01T12:03:12Z",
        "scenario_yaml": SCENARIO,
        "scenario": {
            "defences": {"none": [], "rounded": [{"round": {"decimals": 1}}], "argmax": [{"argmax": {}}]}
        },
        "environment": {
            "leakrange": "0.1.0",
            "python": "3.11.9",
            "numpy": "2.1.0",
            "processors": "2",
            "training loop": "version 1",
        },
        "data_notes": {
            "digits": ["1,797 scanned digits of scikit-learn, 8×8 pixels."],
            "synthfaces": ["Drawn, not photographed."],
        },
        "trials": found,
        "models": [model(data, name, seed) for data in TASKS for name in PROVIDERS for seed in SEEDS],
        "ledger": ledger,
        "seconds": 192.4,
    }
    return RunResults.model_validate(fields | changes)
