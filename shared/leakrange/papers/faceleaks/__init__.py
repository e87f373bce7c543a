"""FACELEAKS: inference attacks on face recognition services."""
