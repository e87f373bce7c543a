"""``/v1/acts``: what the operator did, here and at the proxy."""
