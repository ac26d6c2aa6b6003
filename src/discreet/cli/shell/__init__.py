"""`discreet shell`: a conversation with a policy, in a terminal or from a script."""
