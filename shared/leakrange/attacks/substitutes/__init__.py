"""Attacks on the records that a defence puts in place of users' samples: one file per attack."""
