"""Have a provider serve a model, and the proxy send requests to it. Each controller does so anew."""

from __future__ import annotations

from leakrange.jobs.step import Step, steps

__all__ = ["SERVE"]

SERVE = Step("serve", label="serving models", rank=30)
steps.register(SERVE.name, module=__name__)(SERVE)
