"""How each kind of step is taken: by the fleet, by a user's device, or by the users of a load test.

Steps that a trial asks for by name (`Needs.steps`) are registered in `hows`, one file each.
"""
