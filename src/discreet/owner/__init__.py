"""For the owner alone: what is wrong with policy and sources, and drafts of policies."""
