"""How fast models are trained: our step of each behaviour against a plain loop, in samples a second.

python -m load.bench.train [--size 64] [--batch 100] [--rounds 5] [--steps 4] [--device cpu]

The plain loop is what research code does: a DataLoader over float tensors, torch's own layers and optimiser
in the default memory layout, and, for the parameterized attack, two passes through F a step that both keep
their graph, the first of which is back-propagated through F for nothing. Both run in this process, with the
same allocator settings, and take turns; ratios are medians over the rounds, with the lowest and the
highest. On a machine that does other work, trust the ratios.
"""

from __future__ import annotations

import argparse
import platform
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import orjson
import torch
from torch import Tensor, nn
from torch.nn import functional as f
from torch.utils.data import DataLoader, TensorDataset

from leakrange.jobs.recipe import Schedule
from leakrange.nets import nets
from leakrange.nets.classifier import to_input
from leakrange.nets.decoder import AttackNet
from leakrange.nets.dropout import Dropout
from leakrange.providers.behaviours import behaviours
from leakrange.wire.samples import SampleSpec
from load.bench.harness import with_allocator

__all__ = ["main"]

Step = Callable[[], None]
BATCHES = 8
"""Batches of images that both loops go through, again and again."""


@dataclass(frozen=True)
class Case:
    """A behaviour with its parameters, and how many classes its attributes have."""

    name: str
    behaviour: str
    parameters: dict[str, object]


CASES = (
    Case("honest", "honest", {}),
    Case("regularized", "curious/regularized", {"sensitive": "s"}),
    Case("raw, two passes", "curious/parameterized", {"sensitive": "s", "passes": "two"}),
    Case("raw, one pass", "curious/parameterized", {"sensitive": "s", "passes": "one"}),
    Case(
        "soft, two passes", "curious/parameterized", {"sensitive": "s", "release": "softmax", "passes": "two"}
    ),
    Case(
        "soft, one pass", "curious/parameterized", {"sensitive": "s", "release": "softmax", "passes": "one"}
    ),
)


@dataclass(frozen=True)
class Lessons:
    """uint8 images (N, H, W, 3) and two binary attributes (N,) on the device."""

    images: Tensor
    target: Tensor
    sensitive: Tensor


def lessons(size: int, batch: int, device: str) -> Lessons:
    """Noise: the time of a step does not depend on what is in the pictures."""
    count = BATCHES * batch
    generator = torch.Generator().manual_seed(0)
    images = torch.randint(0, 256, (count, size, size, 3), dtype=torch.uint8, generator=generator)
    labels = torch.randint(0, 2, (2, count), generator=generator)
    return Lessons(images.to(device), labels[0].to(device), labels[1].to(device))


def spec_of(data: Lessons) -> SampleSpec:
    """What the images look like."""
    _, height, width, channels = data.images.shape
    return SampleSpec.picture(height, width, channels)


def ours(case: Case, data: Lessons, batch: int) -> Step:
    """One step as `leakrange.providers.training` makes it."""
    schedule = Schedule(batch=batch)
    device = data.images.device
    net = nets["hbc"].build(spec_of(data), 2).to(memory_format=torch.channels_last)
    behaviour = behaviours[case.behaviour]
    parameters = behaviour.Parameters.model_validate({"target": "y", **case.parameters})
    trainee = behaviour(parameters, net.to(device), 2, schedule)
    order = torch.randperm(len(data.images), device=device)
    turn = 0

    def step() -> None:
        nonlocal turn
        chosen = order[turn * batch : (turn + 1) * batch]
        turn = (turn + 1) % BATCHES
        trainee.step(to_input(data.images[chosen], net.spec), data.target[chosen], data.sensitive[chosen])

    return step


def plain(case: Case, data: Lessons, batch: int) -> Step:
    """One step of the plain loop, for the same loss."""
    device = data.images.device
    classifier = _plain_net(nets["hbc"].build(spec_of(data), 2)).to(device)
    attack = _plain_net(AttackNet(2, 2)).to(device)
    optimiser = torch.optim.Adam(classifier.parameters(), lr=1e-3)
    attack_optimiser = torch.optim.Adam(attack.parameters(), lr=1e-3)
    floats = to_input(data.images.cpu(), spec_of(data)).contiguous()
    loader = DataLoader(
        TensorDataset(floats, data.target.cpu(), data.sensitive.cpu()), batch_size=batch, shuffle=True
    )
    batches = _forever(loader)
    soft = case.parameters.get("release") == "softmax"

    def released(logits: Tensor) -> Tensor:
        return logits.softmax(dim=1) if soft else logits

    def honest(x: Tensor, y: Tensor) -> Tensor:
        classifier.train()
        return f.cross_entropy(classifier(x), y)

    def regularized(x: Tensor, y: Tensor, s: Tensor) -> Tensor:
        classifier.train()
        out = classifier(x).softmax(dim=1)
        entropies = -(out * (out + 1e-16).log()).sum(dim=1)
        curious = entropies[s == 0].mean() - entropies[s == 1].mean()
        return 0.7 * f.nll_loss((out + 1e-16).log(), y) + 0.3 * curious

    def parameterized(x: Tensor, y: Tensor, s: Tensor) -> Tensor:
        classifier.eval()
        attack.train()
        attack_optimiser.zero_grad()
        f.cross_entropy(attack(released(classifier(x))), s).backward()  # type: ignore[no-untyped-call]
        attack_optimiser.step()
        classifier.train()
        attack.eval()
        out = released(classifier(x))
        honest_loss = f.nll_loss((out + 1e-16).log(), y) if soft else f.cross_entropy(out, y)
        return 0.7 * honest_loss + 0.3 * f.cross_entropy(attack(out), s)

    def step() -> None:
        x, y, s = (part.to(device) for part in next(batches))
        if case.behaviour == "honest":
            loss = honest(x, y)
        elif case.behaviour == "curious/regularized":
            loss = regularized(x, y, s)
        else:
            loss = parameterized(x, y, s)
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()

    return step


def _plain_net(net: nn.Module) -> nn.Module:
    """The same net, with torch's own dropout."""
    for name, child in net.named_children():
        if isinstance(child, Dropout):
            setattr(net, name, nn.Dropout(child.p))
        else:
            _plain_net(child)
    return net


def _forever(loader: DataLoader[tuple[Tensor, ...]]) -> Iterator[list[Tensor]]:
    while True:
        yield from loader


def seconds(step: Step, steps: int, device: str) -> float:
    """Wall time of so many steps."""
    began = time.perf_counter()
    for _ in range(steps):
        step()
    if device.startswith("cuda"):
        torch.cuda.synchronize(device)
    return time.perf_counter() - began


def measure(case: Case, data: Lessons, batch: int, rounds: int, steps: int, device: str) -> dict[str, float]:
    """Samples a second of both loops (medians), and the ratios of the rounds."""
    loops = (ours(case, data, batch), plain(case, data, batch))
    for loop in loops:
        seconds(loop, 2, device)
    times = [[seconds(loop, steps, device) for loop in loops] for _ in range(rounds)]
    ratios = [theirs / own for own, theirs in times]
    own, theirs = (batch * steps / statistics.median(part) for part in zip(*times, strict=True))
    return {
        "ours": own,
        "plain": theirs,
        "ratio": statistics.median(ratios),
        "lowest": min(ratios),
        "highest": max(ratios),
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--size", type=int, default=64, help="side of the images in pixels")
    parser.add_argument("--batch", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=4, help="steps a turn")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    with_allocator("load.bench.train")
    torch.set_num_threads(args.threads)
    torch.manual_seed(0)
    data = lessons(args.size, args.batch, args.device)
    found = {
        case.name: measure(case, data, args.batch, args.rounds, args.steps, args.device) for case in CASES
    }
    if args.json:
        sys.stdout.write(orjson.dumps(found, option=orjson.OPT_INDENT_2).decode() + "\n")
        return
    print(
        f"torch {torch.__version__}, {platform.machine()}, {args.device}, {args.threads} thread(s), "
        f"{args.size}×{args.size}, batch {args.batch}, {args.rounds} rounds of {args.steps} steps"
    )
    print(f"{'behaviour':<18}{'ours/s':>10}{'plain/s':>10}{'ratio':>8}  lowest to highest")
    for name, row in found.items():
        print(
            f"{name:<18}{row['ours']:>10.0f}{row['plain']:>10.0f}{row['ratio']:>8.2f}  "
            f"{row['lowest']:.2f} to {row['highest']:.2f}"
        )


if __name__ == "__main__":
    main()
