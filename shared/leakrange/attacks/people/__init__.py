"""Attacks on face recognition services: whom a teacher was trained on, and attributes of people (FACELEAKS).

The attacks are pure functions of arrays of releases, with NumPy and scikit-learn; none of them queries a
service. A *class* is a person; class-level arrays are in ascending order of the person labels. Whether a
higher score means member is learnt on validation classes (`class_scores.direction`).
"""
