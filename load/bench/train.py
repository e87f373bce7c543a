"""How fast models are trained: our step of each behaviour against a plain loop, in samples a second.

python -m leakrange.load.bench.train [--size 64] [--width 1] [--batch 100] [--rounds 5] [--steps 4]
[--device cpu] [--bf16]

The plain loop is what research code does: a DataLoader over float tensors, torch's own layers and optimiser
in the default memory layout, and, for the parameterized attack, two passes through F a step that both keep
their graph, the first of which is back-propagated through F for nothing. Both run in this process, with the
same allocator settings, and take turns; with --bf16 ours computes in bfloat16, the plain loop as ever.
Ratios are medians over the rounds, with the lowest and the highest. On a machine that does other work, trust
the ratios.
"""

from __future__ import annotations

import argparse
import platform
import statistics
import time
from collections.abc import Callable
from itertools import chain, cycle, repeat

import torch
from torch import Tensor, nn
from torch.nn import functional as f
from torch.utils.data import DataLoader, TensorDataset

from leakrange.jobs.recipe import Schedule
from leakrange.load.bench.harness import with_allocator
from leakrange.nets import nets
from leakrange.nets.classifier import to_input
from leakrange.nets.decoder import AttackNet
from leakrange.nets.dropout import Dropout
from leakrange.providers.behaviours import behaviours
from leakrange.providers.loop import Lessons, Trainer, scaled
from leakrange.wire.samples import SampleSpec

__all__ = ["main"]

Step = Callable[[], None]
BATCHES = 8
"""Number of batches of images that both loops go through, again and again."""


RAW: dict[str, object] = {"sensitive": "s"}
SOFT = RAW | {"release": "softmax"}
CASES: dict[str, tuple[str, dict[str, object]]] = {
    "honest": ("honest", {}),
    "regularized": ("curious/regularized", dict(RAW)),
    "raw, two passes": ("curious/parameterized", RAW | {"passes": "two"}),
    "raw, one pass": ("curious/parameterized", RAW | {"passes": "one"}),
    "soft, two passes": ("curious/parameterized", SOFT | {"passes": "two"}),
    "soft, one pass": ("curious/parameterized", SOFT | {"passes": "one"}),
}
"""Behaviours with their parameters."""


def noise(size: int, batch: int, device: str) -> tuple[Lessons, SampleSpec]:
    """Pictures of noise with two binary attributes: the time of a step does not depend on their content."""
    count = BATCHES * batch
    generator = torch.Generator().manual_seed(0)
    images = torch.randint(0, 256, (count, size, size, 3), dtype=torch.uint8, generator=generator)
    labels = torch.randint(0, 2, (2, count), generator=generator).to(device)
    return Lessons(images.to(device), labels[0], labels[1]), SampleSpec.picture(size, size, 3)


def ours(
    behaviour: str,
    parameters: dict[str, object],
    data: Lessons,
    spec: SampleSpec,
    options: argparse.Namespace,
) -> Step:
    """One step as `leakrange.providers.training` makes it."""
    schedule = Schedule(batch=options.batch, bf16=options.bf16)
    net = nets["hbc"].build(spec, 2, options.width).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    entry = behaviours[behaviour]
    validated = entry.Parameters.model_validate({"target": "y", **parameters})
    trainee = entry(validated, net.to(data.inputs.device), 2, schedule)
    trainer = Trainer(trainee, data, batch=options.batch, prepare=scaled(spec, schedule))
    batches = cycle(trainer.batches())

    def step() -> None:
        trainer.step(next(batches))

    return step


def plain(
    behaviour: str,
    parameters: dict[str, object],
    data: Lessons,
    spec: SampleSpec,
    options: argparse.Namespace,
) -> Step:
    """One step of the plain loop, for the same loss."""
    assert data.sensitive is not None
    device = data.inputs.device
    classifier = _plain_net(nets["hbc"].build(spec, 2, options.width)).to(device)
    attack = _plain_net(AttackNet(2, 2)).to(device)
    optimiser = torch.optim.Adam(classifier.parameters(), lr=1e-3)
    attack_optimiser = torch.optim.Adam(attack.parameters(), lr=1e-3)
    floats = to_input(data.inputs.cpu(), spec).contiguous()
    loader = DataLoader(
        TensorDataset(floats, data.target.cpu(), data.sensitive.cpu()), batch_size=options.batch, shuffle=True
    )
    batches = chain.from_iterable(repeat(loader))
    soft = parameters.get("release") == "softmax"

    def released(logits: Tensor) -> Tensor:
        return logits.softmax(dim=1) if soft else logits

    def honest(x: Tensor, y: Tensor, _: Tensor) -> Tensor:
        classifier.train()
        return f.cross_entropy(classifier(x), y)

    def regularized(x: Tensor, y: Tensor, s: Tensor) -> Tensor:
        classifier.train()
        out = classifier(x).softmax(dim=1)
        entropies = -(out * (out + 1e-16).log()).sum(dim=1)
        curious = entropies[s == 0].mean() - entropies[s == 1].mean()
        loss: Tensor = 0.7 * f.nll_loss((out + 1e-16).log(), y) + 0.3 * curious
        return loss

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

    losses = {"honest": honest, "curious/regularized": regularized, "curious/parameterized": parameterized}

    def step() -> None:
        x, y, s = (part.to(device) for part in next(batches))
        loss = losses[behaviour](x, y, s)
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


def seconds(step: Step, steps: int, device: str) -> float:
    """Wall time of so many steps."""
    began = time.perf_counter()
    for _ in range(steps):
        step()
    if device.startswith("cuda"):
        torch.cuda.synchronize(device)
    return time.perf_counter() - began


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--size", type=int, default=64, help="side of the images in pixels")
    parser.add_argument("--width", type=float, default=1.0, help="of the net's layers")
    parser.add_argument("--bf16", action="store_true", help="ours in bfloat16")
    parser.add_argument("--batch", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=4, help="steps a turn")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--device", default="cpu")
    args = parser.parse_args()
    with_allocator("leakrange.load.bench.train")
    torch.set_num_threads(args.threads)
    torch.manual_seed(0)
    data, spec = noise(args.size, args.batch, args.device)
    print(
        f"torch {torch.__version__}, {platform.machine()}, {args.device}, {args.threads} thread(s), "
        f"{args.size}×{args.size}, width {args.width:g}, batch {args.batch}, "
        f"ours in {'bfloat16' if args.bf16 else 'float32'}, {args.rounds} rounds of {args.steps} steps"
    )
    print(f"{'behaviour':<18}{'ours/s':>10}{'plain/s':>10}{'ratio':>8}  lowest to highest")
    for name, case in CASES.items():
        loops = [make(*case, data, spec, args) for make in (ours, plain)]
        for loop in loops:
            seconds(loop, 2, args.device)
        times = [[seconds(loop, args.steps, args.device) for loop in loops] for _ in range(args.rounds)]
        ratios = [plain_time / our_time for our_time, plain_time in times]
        rates = [args.batch * args.steps / statistics.median(part) for part in zip(*times, strict=True)]
        print(
            f"{name:<18}{rates[0]:>10.0f}{rates[1]:>10.0f}{statistics.median(ratios):>8.2f}  "
            f"{min(ratios):.2f} to {max(ratios):.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
