"""Peers, each run in an environment of its own, since they pin versions that exclude each other and ours."""
