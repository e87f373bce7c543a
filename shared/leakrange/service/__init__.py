"""What every server process shares: application frame, settings, logs, serving, clients for operators."""
