"""Private estimators with scikit-learn's interface: `fit` is charged first, and what it learned may be published.

>>> from discreet.learn import KMeans
>>> KMeans(3, bounds=([0, 0], [110, 5000]), epsilon=0.5).loss_for(2)
Pure(epsilon=0.5)
"""

import discreet.preloaded  # noqa: F401

try:
    from discreet.learn.additive import AdditiveClassifier, AdditiveRegressor
    from discreet.learn.bayes import CategoricalNB, GaussianNB
    from discreet.learn.core import Estimator
    from discreet.learn.curves import LearningCurve, learning_curve
    from discreet.learn.encoding import OneHot
    from discreet.learn.fit import Fit
    from discreet.learn.kmeans import KMeans
    from discreet.learn.leaks import PrivacyLeakWarning
    from discreet.learn.linear import LinearRegression
    from discreet.learn.logistic import LogisticRegression
    from discreet.learn.pca import PCA
    from discreet.learn.pipelines import Pipeline, make_pipeline
    from discreet.learn.rates import PoissonCount
    from discreet.learn.scalers import MinMaxScaler, StandardScaler
    from discreet.learn.scoring import Score, private_score
    from discreet.learn.search import PrivateSearchCV
    from discreet.learn.trees import (
        DecisionTreeClassifier,
        DecisionTreeRegressor,
        RandomForestClassifier,
        RandomForestRegressor,
    )
except ModuleNotFoundError as missing:
    if (missing.name or "").split(".")[0] not in ("sklearn", "scipy"):
        raise
    raise ModuleNotFoundError("discreet.learn needs scikit-learn: install discreet[learn]") from None

__all__ = [
    "PCA",
    "AdditiveClassifier",
    "AdditiveRegressor",
    "CategoricalNB",
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
    "Estimator",
    "Fit",
    "GaussianNB",
    "KMeans",
    "LearningCurve",
    "LinearRegression",
    "LogisticRegression",
    "MinMaxScaler",
    "OneHot",
    "Pipeline",
    "PoissonCount",
    "PrivacyLeakWarning",
    "PrivateSearchCV",
    "RandomForestClassifier",
    "RandomForestRegressor",
    "Score",
    "StandardScaler",
    "learning_curve",
    "make_pipeline",
    "private_score",
]
