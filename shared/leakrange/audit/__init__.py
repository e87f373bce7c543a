"""Examining models without trusting who made them: from what they release alone."""

from __future__ import annotations

from leakrange.audit.entropy import Detection, EntropyStatistics, detection, entropy_statistics

__all__ = ["Detection", "EntropyStatistics", "detection", "entropy_statistics"]
