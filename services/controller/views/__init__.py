"""What runs found, as reports and as data."""
