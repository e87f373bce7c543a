"""Parts that all server processes share: application frame, settings, logs, serving."""
