"""The attacker fleet: Celery workers that probe over HTTP, fit attacks on the answers, and train models."""
