"""Private k-means."""

from discreet.learn.kmeans.estimator import KMeans

__all__ = ["KMeans"]
