"""Models and statistics on data that grows: validated, privacy-adaptive training."""
