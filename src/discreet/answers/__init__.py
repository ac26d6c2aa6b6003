"""What comes back: answers and previews, on terminals, in notebooks, as frames and pictures."""

from discreet.answers.answer import Answer, Preview, loss_dict

__all__ = ["Answer", "Preview", "loss_dict"]
