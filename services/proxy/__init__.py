"""The defence proxy: authenticates API keys, counts budgets in samples, transforms releases by policy."""
