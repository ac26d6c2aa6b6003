"""What stands for the ledger of an estimator that was pickled."""

from __future__ import annotations

from typing import NoReturn

from discreet.errors import Refused


class LostLedger:
    """Stands for the ledger of an estimator that was pickled: fitting it again must not be free by accident."""

    def charge(self, *_: object, **__: object) -> NoReturn:
        raise Refused(
            "ledger-lost",
            "the estimator was pickled, and its ledger stayed behind",
            "write set_params(ledger=…), or ledger=None if you account for it yourself",
        )

    def __repr__(self) -> str:
        return "LostLedger()"
