"""Membership inference for records, from a model's releases.

One module per attack. `confidence` turns releases into confidences, which all attacks use. `membership`
defines their input and output.
"""
