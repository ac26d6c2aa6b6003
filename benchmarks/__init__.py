"""Figures to hold, each a ratio against a peer or a limit in the same run: `make bench`."""
