"""A place to try things: an invented hospital, and attacks to learn from."""
