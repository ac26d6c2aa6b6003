"""From text to a plan: which numbers are asked, how far one unit can move them, and the one query that counts them."""
