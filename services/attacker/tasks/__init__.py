"""The tasks of the fleet, one file for each kind of job."""
