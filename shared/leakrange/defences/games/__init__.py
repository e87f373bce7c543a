"""The games that devices play when they learn an extractor together: who helps it, and who is against it."""
