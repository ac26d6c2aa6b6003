"""What an attacker would do, end to end, and that it fails: one file for each attack."""
