"""The owner's desk: from files to a policy, in pages of this machine alone."""
