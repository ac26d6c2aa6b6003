"""Models of scikit-learn, which promise nobody anything: what ours are compared with."""

import discreet.preloaded  # noqa: F401  isort: skip
from sklearn.base import clone
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import CategoricalNB

__all__ = ["CategoricalNB", "ExtraTreesClassifier", "LogisticRegression", "clone"]
