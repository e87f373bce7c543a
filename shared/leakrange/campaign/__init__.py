"""Trains and measures papers' trials without any service, on a machine that is lent for minutes.

A campaign goes the way of a range from a scenario to a figure: the same plans, recipes, identities, kinds of
attack and cells. Messages that parties send over HTTP stay inside one process here.
"""
