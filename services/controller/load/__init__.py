"""Load users: the questions offered to them, the answers that they hand in, and their observations."""
