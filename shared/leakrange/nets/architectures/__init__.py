"""One file per registered architecture."""
