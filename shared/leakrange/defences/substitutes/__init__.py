"""The parts of PASS: its losses, its bounds, the choice of its substitutes, and its net."""
