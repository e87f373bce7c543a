"""The web page of the range."""
