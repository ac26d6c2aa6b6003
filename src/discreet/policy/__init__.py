"""The policy file: tables, unit, columns, budget, analysts."""
