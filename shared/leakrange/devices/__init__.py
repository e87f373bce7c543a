"""Devices that download a model and run it: those of users, and of attackers who do the same."""
