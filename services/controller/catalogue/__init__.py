"""What there is to choose from: data sets, behaviours, attacks, defences, trained models, the scenario
language.
"""
