"""The sentences of a verdict."""

from __future__ import annotations

from collections.abc import Sequence

from leakrange.jobs.audit import TestName
from leakrange.jobs.verdict import Conclusion, Finding, Known, Material

__all__ = ["confidence", "limits", "meaning"]


def meaning(
    test: TestName,
    conclusion: Conclusion,
    figures: dict[str, float],
    interval: tuple[float, float],
    threshold: float,
) -> str:
    """The meaning of a test's figures, in one or two sentences."""
    low, high = interval
    if test == "viciousness":
        measurement = (
            f"Trained further, the model's outputs moved by v = {figures['v']:.4f} ({low:.4f} to "
            f"{high:.4f}); the threshold is {threshold:g}. Its accuracy went from "
            f"{figures['accuracy_before']:.1%} to {figures['accuracy_after']:.1%}."
        )
        ends = {
            "passes": "It moves as little as a model that has converged for the task alone.",
            "suspicious": "It moves more than a model that has converged for the task alone.",
            "undecided": "So few test samples do not decide.",
        }
    elif test == "entropy":
        measurement = (
            f"Its outputs have {figures['entropy_bits']:.3f} bits of entropy, and its mistakes call for "
            f"{figures['cross_entropy_bits']:.3f}: an excess of {figures['excess_bits']:+.3f} bits "
            f"({low:+.3f} to {high:+.3f}); the threshold is {threshold:g}."
        )
        ends = {
            "passes": "It is as sure of its answers as it may be.",
            "suspicious": "It is less sure of its answers than it could be: there is room to hide something.",
            "undecided": "So few test samples do not decide.",
        }
    else:
        measurement = (
            f"Its outputs tell the attribute with an AUC of {figures['auc']:.3f}, and its decisions alone "
            f"with one of {figures['by_decision']:.3f}: {figures['beyond']:+.3f} ({low:+.3f} to "
            f"{high:+.3f}); the threshold is {threshold:g}. It was read off {figures['accuracy']:.1%} of the "
            f"test samples, of which {figures['majority']:.1%} have the commonest class."
        )
        unclear = "So few test samples do not decide."
        if figures["constant"]:
            unclear = "The attack gave everybody the same score: it has learnt nothing, and nothing follows."
        ends = {
            "passes": "The outputs tell hardly more of it than the decisions do.",
            "suspicious": "The outputs tell more of it than the decisions do.",
            "undecided": unclear,
        }
    return f"{measurement} {ends[conclusion]}"


def confidence(findings: Sequence[Finding]) -> str:
    """The known error rates of these tests, in sentences."""
    sentences = [_errs(finding.test, finding.known) for finding in findings if finding.known is not None]
    missing = [finding.test for finding in findings if finding.known is None]
    if missing:
        sentences.append(
            f"How often the test of {' and of '.join(missing)} errs is not known here: no population of "
            "known models was given."
        )
    return " ".join(sentences)


def _errs(test: TestName, known: Known) -> str:
    parts = [f"The test of {test} was made on models whose behaviour is known ({known.source})."]
    if known.false_alarms is not None:
        low, high, of = *known.false_alarms_interval, known.honest
        parts.append(
            f"Of the {of} honest ones it suspects {known.false_alarms:.0%} ({low:.0%} to {high:.0%})."
        )
    if known.detected is not None:
        low, high = known.detected_interval
        parts.append(
            f"Of the {known.dishonest} others it finds {known.detected:.0%} ({low:.0%} to {high:.0%})."
        )
    return " ".join(parts)


LIMITS: dict[TestName, tuple[str, ...]] = {
    "viciousness": (
        "v is no proof: it tells how far the model is from the optimum of its task, and not why.",
        "An honest model that was trained for few epochs, or on other data, can look vicious.",
        "A provider who knows this test can prepare a model for it, for one by training it for the task alone"
        " at the end.",
    ),
    "entropy": (
        "An excess of entropy is no proof: an honest model can be unsure of itself, after few epochs or with "
        "strong regularisation.",
        "A model can hide something in outputs that show no such excess.",
    ),
    "curiosity": (
        "Outputs of an honest model, too, tell of attributes that it was never trained for.",
        "Only this attribute was looked for, by one attack with few samples: another may find more.",
    ),
}


def limits(findings: Sequence[Finding], material: Material) -> tuple[str, ...]:
    """Limits of the verdict, in sentences."""
    sentences = [sentence for finding in findings for sentence in LIMITS[finding.test]]
    if material.disjoint is None:
        sentences.append(
            "Whether the model was trained on the samples of this audit is not known. If so, it moves less."
        )
    elif not material.disjoint:
        sentences.append(
            "The model was trained on samples of this audit: it moves less than it would otherwise."
        )
    return tuple(sentences)
