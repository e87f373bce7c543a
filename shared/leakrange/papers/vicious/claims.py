"""The paper's order of the reconstructions of vicious providers."""

from __future__ import annotations

from leakrange.papers.orderings import Claim

__all__ = ["CLAIMS"]

CLAIMS = (
    Claim(
        "five times the weight on reconstruction redraws samples better",
        {"beta_r": "5", "beta_c": "1"},
        {"beta_r": "1", "beta_c": "1"},
        "psnr",
    ),
    Claim(
        "it costs no more than 5 points of accuracy",
        {"beta_r": "5", "beta_c": "1"},
        {"beta_r": "1", "beta_c": "1"},
        "honesty",
        room=5.0,
    ),
    Claim(
        "a provider that asks for no accuracy redraws best",
        {"beta_r": "1", "beta_c": "0"},
        {"beta_r": "5", "beta_c": "1"},
        "psnr",
    ),
    Claim("logits are redrawn better than soft outputs", {"output": "logits"}, {"output": "softmax"}, "psnr"),
)
