"""Scenarios as they are written: checked, completed, forecast."""
