"""The attacker fleet: Celery workers that probe over HTTP, fit attacks on what they were answered, and train
models."""
