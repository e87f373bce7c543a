"""Adversaries written independently of the range's attacks, on the features of TAPPFL's extractors.

    python -m leakrange.load.independent_adversary --models DIR [--records 3000]

For each extractor in the folder of models, it fits two guessers to the features of labelled records that no
device had: gradient boosting of scikit-learn, and a net of one hidden layer. The mean of both guesses is
judged on test samples. The trees are small and grow slowly, and the net has a large decay, since 3,000
records are few for 128 features. It stands beside the fresh attacker of docs/results/tappfl.md. Nothing of
`leakrange.attacks` is used. Wants the data sets in LEAKRANGE_DATA.
"""

from __future__ import annotations

import argparse
import warnings
from collections import defaultdict
from pathlib import Path
from statistics import fmean

import numpy as np
import torch
from sklearn.ensemble import HistGradientBoostingClassifier, VotingClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import roc_auc_score
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from leakrange.data import load
from leakrange.defences import artifact
from leakrange.defences.registered import federated_defence
from leakrange.defences.representation import representation_defences
from leakrange.jobs.recipe import TrainingRecipe
from leakrange.nets.classifier import to_input

__all__ = ["adversary", "main"]


def adversary(folder: Path, records: int) -> tuple[TrainingRecipe, float, float, float]:
    """The recipe of the extractor in ``folder``, the accuracy of boosting and a net that learn the private
    attribute from its features of so many auxiliary ``records``, their AUC (for several classes the mean of
    each against the others), and the share of the commonest class, all on test samples."""
    defence = artifact.load(folder)
    recipe = TrainingRecipe.model_validate(defence.record["recipe"])
    samples = load(recipe.data)
    features, truth = {}, {}
    for split in ("auxiliary", "test"):
        where = samples.where(split)
        if split == "auxiliary":
            where = np.random.default_rng(recipe.seed).permutation(where)[:records]
        with torch.inference_mode():
            shown = defence.module.eval()(to_input(torch.from_numpy(samples.values[where]), samples.spec))
        features[split], truth[split] = shown.numpy(), samples.labels[recipe.parameters["private"]][where]
    boosting = HistGradientBoostingClassifier(
        learning_rate=0.03,
        max_iter=200,
        max_leaf_nodes=6,
        min_samples_leaf=40,
        max_features=0.2,
        random_state=recipe.seed,
    )
    net = MLPClassifier((64,), alpha=3.0, max_iter=60, random_state=recipe.seed)
    learnt = VotingClassifier(
        [("boosting", boosting), ("net", make_pipeline(StandardScaler(), net))], voting="soft"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # 60 passes are meant
        learnt.fit(features["auxiliary"], truth["auxiliary"])
    scores = learnt.predict_proba(features["test"])
    right = float((learnt.classes_[scores.argmax(axis=1)] == truth["test"]).mean())
    areas = [
        roc_auc_score(truth["test"] == each, scores[:, place])
        for place, each in enumerate(learnt.classes_)
        if (truth["test"] == each).any()
    ]
    return recipe, right, fmean(areas), float(np.bincount(truth["test"]).max() / len(truth["test"]))


def main() -> None:
    """Measure and print: a line for each kind of extractor, over its seeds."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--models", type=Path, required=True)
    parser.add_argument("--records", type=int, default=3000)
    options = parser.parse_args()
    torch.set_num_threads(1)
    by_kind = defaultdict(list)
    for folder in sorted(path.parent for path in options.models.glob("*/defence.safetensors")):
        trained = TrainingRecipe.model_validate(artifact.load(folder).record["recipe"])
        if trained.behaviour.removeprefix("defence/") not in representation_defences:
            continue
        recipe, *figures = adversary(folder, options.records)
        link = federated_defence(recipe)
        parameters = link.parameters.model_dump()
        level = next(
            f"{parameters[name]:g}" for name in ("strength", "noise", "amount") if name in parameters
        )
        participation = parameters["federation"]["participation"]
        by_kind[link.name, parameters["private"], level, participation].append(figures)
    print(
        "| defence | private | level | devices that train | accuracy, % | AUC | commonest class, % | seeds |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for name, rows in sorted(by_kind.items()):
        right, area, most = (fmean(each) for each in zip(*rows, strict=True))
        print(
            f"| {' | '.join(name)} | {100 * right:.1f} | {area:.3f} | {100 * most:.1f} | {len(rows)} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
