"""The whole range on one machine without root: one process per party, a Redis-protocol server of its own,
supervised.
"""
