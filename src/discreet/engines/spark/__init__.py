"""Spark: tables that it reads, and queries that it runs. It is imported when a policy names it, and not before."""
