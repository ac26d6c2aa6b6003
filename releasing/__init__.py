"""Making a release: wheel and sdist, the same bytes each time; what they need, as SPDX; and whether they install."""
