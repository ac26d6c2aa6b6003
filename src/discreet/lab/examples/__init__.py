"""The worked examples of the lectures: what lessons, notebooks and whoever tries them in Python compute alike."""
