"""The one door to private data, and what its owner does around it: check, draft, refresh."""
