"""Load users: what they are offered, what they hand in, and what they saw."""
