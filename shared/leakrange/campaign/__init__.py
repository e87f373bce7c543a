"""Papers' trials trained and measured without any service, on a machine that is lent for minutes.

A campaign goes the way of a range from a scenario to a figure: the same plans, recipes, identities, kinds of
attack and cells. What parties say to each other over HTTP is said here inside one process.
"""
