"""The classes of the configuration, one file for each part of it."""
