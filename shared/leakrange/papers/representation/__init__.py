"""TAPPFL (AAAI 2024): its tables as trials of a range."""
