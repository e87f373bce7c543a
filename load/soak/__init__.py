"""A constant share of the limit for long, to see whether memory, files and errors stay constant."""
