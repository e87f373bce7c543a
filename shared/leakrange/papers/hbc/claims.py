"""In which order the paper finds its models, and in which we expect those of other recipes."""

from __future__ import annotations

from leakrange.papers.orderings import Claim

__all__ = ["CLAIMS"]

RAW = {"classifier": "raw", "attack": "parameterized", "beta_y": "0.7", "beta_x": "0"}
SOFT = {"classifier": "soft", "attack": "parameterized", "recipe": "published", "beta_x": "0"}
HONEST = {"classifier": "honest", "output": "logits", "beta_x": "0"}
WEIGHTS = ("beta_y", "beta_s", "attack", "output", "classifier")
STUCK = "G of the published recipe stays at the majority for as long as we train"

CLAIMS = (
    Claim(
        "raw outputs tell more than nets find in those of an honest model",
        {**RAW, "role": ""},
        HONEST,
        "curiosity",
        apart=WEIGHTS,
    ),
    Claim(
        "their honesty is no more than 2 points below",
        {**RAW, "role": ""},
        HONEST,
        "honesty",
        room=2.0,
        apart=WEIGHTS,
        why="fewer images than the paper's",
    ),
    Claim(
        "raw outputs tell more than soft ones, both at (.7, .3)",
        {**RAW, "role": ""},
        {**SOFT, "beta_y": "0.7"},
        "curiosity",
        apart=WEIGHTS,
    ),
    Claim(
        "soft outputs at (.7, .3) tell more than nets find in those of an honest model",
        {**SOFT, "beta_y": "0.7", "role": ""},
        HONEST,
        "curiosity",
        apart=WEIGHTS,
        why=STUCK,
    ),
    Claim(
        "soft outputs tell more at (.5, .5) than at (.7, .3)",
        {**SOFT, "beta_y": "0.5", "role": ""},
        {**SOFT, "beta_y": "0.7"},
        "curiosity",
        apart=WEIGHTS,
        why=STUCK,
    ),
    Claim(
        "of two classes, the regularized attack tells more than the parameterized one at (.5, .5)",
        {"attack": "regularized", "beta_y": "0.5", "Y": "2", "role": ""},
        {**SOFT, "beta_y": "0.5"},
        "curiosity",
        apart=WEIGHTS,
    ),
    Claim(
        "entropy minimisation lowers the entropy of raw outputs",
        {**RAW, "role": ""},
        {**RAW, "beta_x": "0.4"},
        "entropy",
    ),
    Claim(
        "it costs them no more than 3 points of curiosity",
        {**RAW, "beta_x": "0.4", "role": ""},
        RAW,
        "curiosity",
        room=3.0,
    ),
    Claim(
        "a warm start tells more than the published recipe (ours)",
        {**SOFT, "recipe": "warm", "role": ""},
        SOFT,
        "curiosity",
    ),
    Claim(
        "a warm start tells no more than 3 points less than a G that reads logarithms (ours)",
        {**SOFT, "recipe": "warm", "role": ""},
        {**SOFT, "recipe": "logarithm"},
        "curiosity",
        room=3.0,
    ),
)
