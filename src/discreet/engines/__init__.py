"""What runs queries, and what reads the owner's sources into the private copy."""
