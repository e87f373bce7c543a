"""The commands, a module for each thing that they are about."""
