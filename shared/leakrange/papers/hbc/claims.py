"""The paper's order of its models, and the order that we expect of other recipes."""

from __future__ import annotations

from leakrange.papers.orderings import Claim

__all__ = ["CLAIMS"]

BY_DECODER = {"role": ""}
"""The readings of the provider's own decoder, or of nets in the outputs of an honest model."""
RAW = BY_DECODER | {"classifier": "raw", "attack": "parameterized", "beta_y": "0.7", "beta_x": "0"}
SOFT = BY_DECODER | {"classifier": "soft", "attack": "parameterized", "recipe": "published", "beta_x": "0"}
HONEST = BY_DECODER | {"classifier": "honest", "output": "logits", "beta_x": "0"}
WEIGHTS = ("beta_y", "beta_s", "attack", "output", "classifier")
STUCK = "G of the published recipe stays at the majority for as long as we train"

CLAIMS = (
    Claim(
        "raw outputs tell more than nets find in those of an honest model",
        RAW,
        HONEST,
        "curiosity",
        differing=WEIGHTS,
    ),
    Claim(
        "their honesty is no more than 2 points below",
        RAW,
        HONEST,
        "honesty",
        room=2.0,
        differing=WEIGHTS,
        why="fewer images than the paper's",
    ),
    Claim(
        "raw outputs tell more than soft ones, both at (.7, .3)",
        RAW,
        {**SOFT, "beta_y": "0.7"},
        "curiosity",
        differing=WEIGHTS,
    ),
    Claim(
        "soft outputs at (.7, .3) tell more than nets find in those of an honest model",
        {**SOFT, "beta_y": "0.7"},
        HONEST,
        "curiosity",
        differing=WEIGHTS,
        why=STUCK,
    ),
    Claim(
        "soft outputs tell more at (.5, .5) than at (.7, .3)",
        {**SOFT, "beta_y": "0.5"},
        {**SOFT, "beta_y": "0.7"},
        "curiosity",
        differing=WEIGHTS,
        why=STUCK,
    ),
    Claim(
        "of two classes, the regularized attack tells more than the parameterized one at (.5, .5)",
        {**BY_DECODER, "attack": "regularized", "beta_y": "0.5", "Y": "2"},
        {**SOFT, "beta_y": "0.5"},
        "curiosity",
        differing=WEIGHTS,
    ),
    Claim(
        "entropy minimisation lowers the entropy of raw outputs",
        RAW,
        {**RAW, "beta_x": "0.4"},
        "entropy",
    ),
    Claim(
        "it costs them no more than 3 points of curiosity",
        {**RAW, "beta_x": "0.4"},
        RAW,
        "curiosity",
        room=3.0,
    ),
    Claim(
        "a warm start tells more than the published recipe (ours)",
        {**SOFT, "recipe": "warm"},
        SOFT,
        "curiosity",
        why="with most weight on s the published recipe gives up y",
    ),
    Claim(
        "a warm start tells no more than 3 points less than a G that reads logarithms (ours)",
        {**SOFT, "recipe": "warm"},
        {**SOFT, "recipe": "logarithm"},
        "curiosity",
        room=3.0,
        why="in few steps G does not resolve what lies near 0 and 1",
    ),
)
