"""Inferring, from what a face recognition service releases, who its teacher learnt from and what people are
like (FACELEAKS).

Pure functions of arrays of releases, with NumPy and scikit-learn: nothing here queries a service. A *class*
is a person; class-level arrays are in ascending order of the distinct person labels. Scores are higher for
members only after their sign has been learnt on validation classes (`unsupervised.signed`).
"""
