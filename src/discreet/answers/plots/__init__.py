"""Pictures: answers with their error bars, previews, the budget, and the privacy loss of mechanisms.

altair is imported when something is drawn, not before: it comes with the extra `plot`.
"""

from __future__ import annotations

from discreet.answers.plots.answer import answer_chart, panel_chart
from discreet.answers.plots.budget import History, budget_chart
from discreet.answers.plots.losses import privacy_loss
from discreet.answers.plots.preview import preview_chart

__all__ = ["History", "answer_chart", "budget_chart", "panel_chart", "preview_chart", "privacy_loss"]
