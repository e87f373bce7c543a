"""Honest-but-Curious Nets (Malekzadeh, Borovykh, Gündüz; CCS 2021)."""
