"""What PASS is made of: its losses, its bounds, the choice of its substitutes, and its net."""
