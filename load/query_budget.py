"""Locust: many attackers on one API key, who spend its budget as fast as the proxy lets them.

    LEAKRANGE_KEY=lr_... LEAKRANGE_MODEL=honest-s0-... \
        locust -f load/query_budget.py --host http://127.0.0.1:8701 --headless -u 64 -t 60s

Every attacker asks for batches of ``LEAKRANGE_BATCH`` random samples, or pairs of them with
``LEAKRANGE_RELEASE=verification``. Answers under the budget are successes,
the 429 problem details after it are counted apart, anything else is a failure. The test stops by itself when
the budget is spent; exit status 1 where the proxy ever answered anything but 200 and 429.
"""

from __future__ import annotations

import os
import threading
from typing import Any

import numpy as np
from locust import FastHttpUser, constant, events, task
from locust.env import Environment

from leakrange.wire.samples import SampleSpec
from leakrange.wire.tensors import NPY, encode_npy

__all__ = ["BudgetAttacker"]

MODEL = os.environ.get("LEAKRANGE_MODEL", "")
KEY = os.environ.get("LEAKRANGE_KEY", "")
BATCH = int(os.environ.get("LEAKRANGE_BATCH", "8"))
RELEASE = os.environ.get("LEAKRANGE_RELEASE", "logits")


class _Tally:
    """Count of all attackers' answers together."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.answered = self.refused = self.other = 0
        self.limit: int | None = None
        self.remaining: int | None = None

    def take(self, status: int, headers: Any, samples: int) -> None:
        with self.lock:
            if status == 200:
                self.answered += samples
                left = int(headers["RateLimit-Remaining"])
                self.limit = int(headers["RateLimit-Limit"])
                self.remaining = left if self.remaining is None else min(self.remaining, left)
            elif status == 429:
                self.refused += samples
            else:
                self.other += samples


tally = _Tally()


class BudgetAttacker(FastHttpUser):
    """Asks as fast as it is answered, in batches that shrink once a whole one no longer fits."""

    wait_time = constant(0)

    def on_start(self) -> None:
        """Read the form of a sample from the model's card, and draw a batch of noise."""
        if not MODEL or not KEY:
            raise SystemExit(
                "set LEAKRANGE_MODEL and LEAKRANGE_KEY: 'leakrange models list', 'leakrange keys create'"
            )
        self.headers = {"Authorization": f"Bearer {KEY}", "Accept": NPY, "Content-Type": NPY}
        with self.client.get(f"/v1/models/{MODEL}", headers=self.headers, name="card") as answer:
            spec = SampleSpec.model_validate(answer.json()["input"])
        generator = np.random.default_rng()
        sample = (2, *spec.shape) if RELEASE == "verification" else spec.shape
        self.samples = generator.integers(0, 256, (BATCH, *sample)).astype(spec.dtype)
        self.batch = BATCH

    @task
    def query(self) -> None:
        """Send one request; a refusal halves the batch, and the last refusal of a single sample ends the
        test."""
        path = f"/v1/models/{MODEL}/{RELEASE}"
        body: Any = encode_npy(self.samples[: self.batch])  # Locust's types know no bytes
        with self.client.post(
            path,
            data=body,
            headers=self.headers,
            name=RELEASE,
            catch_response=True,
        ) as answer:
            tally.take(answer.status_code, answer.headers, self.batch)
            if answer.status_code == 200:
                answer.success()
            elif answer.status_code == 429:
                answer.success()
                if self.batch == 1:
                    self.environment.runner.quit()
                self.batch = max(1, self.batch // 2)
            else:
                answer.failure(f"HTTP {answer.status_code}: {answer.text[:200] if answer.text else ''}")


@events.quitting.add_listener  # type: ignore[untyped-decorator]
def report(environment: Environment, **_: Any) -> None:
    """Print the tally; fail where it does not add up."""
    print(
        f"answered {tally.answered} samples, refused {tally.refused}, other {tally.other}; "
        f"the key's budget is {tally.limit}, remaining {tally.remaining}"
    )
    if tally.other or (tally.remaining is not None and tally.remaining < 0):
        environment.process_exit_code = 1
