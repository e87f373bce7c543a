"""The registered data sets, one file each."""
