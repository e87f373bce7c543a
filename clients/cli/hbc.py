"""Reproducing Honest-but-Curious Nets on real images: paper, ours and the difference, cell by cell.

``python -m clients.cli.hbc --pairs gender:race-2,age-3:race-3 --epochs 50 --seeds 5 --store models``
trains what is not in the store yet, so that an interrupted run goes on where it was.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from leakrange.data import ImageSet, load
from leakrange.wire.errors import LeakrangeError
from leakrange.wire.recipe import DataSpec, NetSpec, Schedule, TrainingRecipe

__all__ = ["main"]

BETAS = ((0.7, 0.3), (0.5, 0.5))

# HBC Tables 3, 5 and 9: mean test honesty and curiosity in percent, 50 epochs, all of UTKFace.
PAPER: dict[tuple[str, str], dict[str, tuple[float, float]]] = {
    ("gender", "race-2"): {
        "honest": (90.23, 58.62),
        "regularized (.7, .3)": (90.18, 73.20),
        "regularized (.5, .5)": (89.71, 82.28),
        "raw (.7, .3)": (90.18, 86.91),
        "soft (.7, .3)": (90.59, 56.21),
        "soft (.5, .5)": (89.74, 61.60),
    },
    ("age-3", "race-3"): {
        "honest": (81.09, 56.37),
        "raw (.7, .3)": (81.35, 83.42),
        "raw (.5, .5)": (80.23, 84.82),
        "soft (.7, .3)": (80.76, 72.90),
        "soft (.5, .5)": (69.56, 80.14),
    },
}
PAPER_IMAGES = 23_705
PAPER_EPOCHS = 50


@dataclass(frozen=True)
class Row:
    """One line of a table: its name as in `PAPER`, and the recipe that makes its model."""

    name: str
    recipe: TrainingRecipe


@dataclass(frozen=True)
class Cell:
    """What one model reached on the test images, as shares in [0, 1]."""

    honesty: float
    curiosity: float
    majority: float
    seconds: float


def rows(
    target: str, sensitive: str, classes: int, data: DataSpec, schedule: Schedule, seed: int
) -> Iterator[Row]:
    """The rows of one pair's table, for one seed. The regularized attack needs a binary sensitive
    attribute."""

    def row(name: str, behaviour: str, **parameters: object) -> Row:
        recipe = TrainingRecipe(
            data=data,
            behaviour=behaviour,
            parameters={"target": target, **parameters},
            net=NetSpec(),
            schedule=schedule,
            seed=seed,
        )
        return Row(name, recipe)

    yield row("honest", "honest")
    both = {"sensitive": sensitive}
    for name, release in (("raw", "logits"), ("soft", "softmax")):
        for y, s in BETAS:
            title = f"{name} ({_short(y)}, {_short(s)})"
            beta = {"y": y, "s": s}
            yield row(title, "curious/parameterized", **both, release=release, beta=beta, passes="two")
    if classes == 2:
        for y, s in BETAS:
            title = f"regularized ({_short(y)}, {_short(s)})"
            yield row(title, "curious/regularized", **both, beta={"y": y, "s": s})


def _short(weight: float) -> str:
    """0.7 as the paper prints it: .7."""
    return f"{weight:g}".removeprefix("0")


def measure(row: Row, images: ImageSet, sensitive: str, store: Path, device: str) -> Cell:
    """Train the row's model unless the store has it, and measure it on the test split.

    Of the honest one, curiosity is what a net G learns from its raw outputs for the training images
    (overlearning).
    """
    from leakrange.metrics import majority_share
    from leakrange.providers import artifact
    from leakrange.providers.training import train

    folder = artifact.find(store, row.recipe.digest())
    if folder is None:
        trained = train(row.recipe, images, device=device, progress=_Progress(row))
        folder = artifact.save(store, trained)
    model = artifact.load(folder)
    figures = model.record["figures"]["test"]
    test = _known(images, "test", sensitive)
    majority = majority_share(images.labels[sensitive][test], len(images.attributes[sensitive].classes))
    curiosity = (
        figures["curiosity"]
        if model.decoder is not None
        else _overlearned(model.classifier, images, sensitive, row.recipe.seed)
    )
    return Cell(figures["honesty"], curiosity, majority, model.record["seconds"])


def _overlearned(classifier: object, images: ImageSet, sensitive: str, seed: int) -> float:
    from leakrange.attacks.attack import Evidence
    from leakrange.attacks.attribute_inference import AttributeInference, AttributeInferenceParameters
    from leakrange.metrics import accuracy
    from leakrange.providers.inference import outputs

    labels = images.labels[sensitive]
    known, test = _known(images, "train", sensitive), _known(images, "test", sensitive)
    evidence = Evidence(
        auxiliary=outputs(classifier, images.images[known], "logits"),  # type: ignore[arg-type]
        auxiliary_labels=labels[known],
        observed=outputs(classifier, images.images[test], "logits"),  # type: ignore[arg-type]
        classes=len(images.attributes[sensitive].classes),
        release="logits",
        seed=seed,
    )
    attack = AttributeInference(AttributeInferenceParameters(sensitive=sensitive))
    return accuracy(attack.infer(evidence).predicted, labels[test])


def _known(images: ImageSet, split: str, attribute: str) -> np.ndarray:
    chosen = images.where(split)
    return chosen[images.labels[attribute][chosen] >= 0]


class _Progress:
    """One line a completed epoch, on the error stream."""

    def __init__(self, row: Row) -> None:
        self.row = row

    def __call__(self, event: dict[str, float]) -> None:
        if "loss" in event:
            told = " ".join(f"{k} {v:.4f}" for k, v in event.items() if k not in ("epoch", "progress"))
            sys.stderr.write(
                f"{self.row.name} seed {self.row.recipe.seed} epoch {event['epoch']:.0f} {told}\n"
            )
            sys.stderr.flush()


def table(target: str, sensitive: str, cells: dict[str, list[Cell]]) -> str:
    """One pair as Markdown: paper, ours (mean, with the deviation over seeds where there are several) and
    difference."""
    lines = [
        f"### y = {target}, s = {sensitive}",
        "",
        "| model (β^y, β^s) | honesty paper | ours | difference | curiosity paper | ours | difference "
        "| majority | seeds | minutes |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for name, found in cells.items():
        paper = PAPER.get((target, sensitive), {}).get(name)
        columns = [name]
        for i, values in enumerate(([c.honesty for c in found], [c.curiosity for c in found])):
            ours = 100 * float(np.mean(values))
            spread = f" ± {100 * float(np.std(values, ddof=1)):.2f}" if len(values) > 1 else ""
            columns += [
                f"{paper[i]:.2f}" if paper else "–",
                f"{ours:.2f}{spread}",
                f"{ours - paper[i]:+.2f}" if paper else "–",
            ]
        columns += [
            f"{100 * found[0].majority:.2f}",
            str(len(found)),
            f"{sum(c.seconds for c in found) / len(found) / 60:.1f}",
        ]
        lines.append(f"| {' | '.join(columns)} |")
    return "\n".join(lines) + "\n"


def settings(images: ImageSet, schedule: Schedule, seeds: int) -> str:
    """What a reader must know before comparing."""
    count = {split: len(images.where(split)) for split in ("train", "validation", "test")}
    notes = [
        f"Data: {images.name}, {len(images):,} images of {images.images.shape[2]}×{images.images.shape[1]} "
        f"(train {count['train']:,}, validation {count['validation']:,}, test {count['test']:,})",
        f"fingerprint {images.fingerprint[:16]}",
        f"schedule: {schedule.epochs} epochs (paper {PAPER_EPOCHS}), batch {schedule.batch}, "
        f"Adam {schedule.lr}, bf16 {'on' if schedule.bf16 else 'off'}; "
        f"{seeds} seed{'s' if seeds != 1 else ''} (paper 5)",
        *images.notes,
    ]
    if images.name == "utkface":
        notes.insert(1, f"that is {len(images) / PAPER_IMAGES:.0%} of the paper's {PAPER_IMAGES:,} images")
    return "".join(f"- {note}\n" for note in notes)


def main(argv: Sequence[str] | None = None) -> int:
    """Run from a command line; writes the tables to ``--out`` and to standard output."""
    parser = argparse.ArgumentParser(prog="python -m clients.cli.hbc", description=__doc__)
    parser.add_argument("--data", default="utkface", help="registered data set")
    parser.add_argument("--size", type=int, default=None, help="side in pixels (default: the set's own)")
    parser.add_argument(
        "--limit", type=int, default=None, help="so many images of each split, for a quick look"
    )
    parser.add_argument("--pairs", default="gender:race-2,age-3:race-3", help="target:sensitive, by commas")
    parser.add_argument("--epochs", type=int, default=PAPER_EPOCHS)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--bf16", action="store_true")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--store", type=Path, required=True, help="folder of trained models")
    parser.add_argument("--out", type=Path, default=None, help="file for the tables (Markdown)")
    args = parser.parse_args(argv)

    data = DataSpec(name=args.data, size=args.size, limit=args.limit, auxiliary=0.0)
    schedule = Schedule(epochs=args.epochs, bf16=args.bf16)
    try:
        images = load(data)
    except LeakrangeError as e:
        parser.error(e.detail)
    pairs = [tuple(pair.split(":")) for pair in args.pairs.split(",")]
    started = time.monotonic()
    for pair in pairs:
        if len(pair) != 2 or not set(pair) <= set(images.attributes):
            parser.error(
                f"no pair {':'.join(pair)!r}; attributes are: {', '.join(sorted(images.attributes))}"
            )

    text = ""
    cells: dict[tuple[str, ...], dict[str, list[Cell]]] = {pair: {} for pair in pairs}
    for seed in range(args.seeds):
        for target, sensitive in pairs:
            classes = len(images.attributes[sensitive].classes)
            for row in rows(target, sensitive, classes, data, schedule, seed):
                cell = measure(row, images, sensitive, args.store, args.device)
                cells[target, sensitive].setdefault(row.name, []).append(cell)
                text = settings(images, schedule, seed + 1) + "".join(
                    "\n" + table(pair[0], pair[1], found) for pair, found in cells.items() if found
                )
                if args.out:
                    args.out.write_text(text, encoding="utf-8")
    sys.stdout.write(text)
    sys.stderr.write(f"{(time.monotonic() - started) / 60:.1f} minutes\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
