"""A panel of learners that infer an attribute from releases, of which held-out records choose one."""
