"""Synthetic data: rows of nobody, by noisy marginals and a graphical model, by MWEM, or by the small database."""
