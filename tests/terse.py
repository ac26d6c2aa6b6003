"""What a worker of pytest tells the process that prints: of a test that passes, one message instead of five.

Setting up and tearing down are told where they fail or are skipped; that a test begins and ends is told to nobody.
Of 20,000 tests, the others took two dozen seconds of the processor to send, to read and to forget.
"""

from __future__ import annotations

import pytest
from _pytest.runner import runtestprotocol


class Terse:
    def __init__(self, config: pytest.Config) -> None:
        self.all_of_them = config.option.durations is not None
        """Whoever lists what took longest is told of every phase."""

    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool:
        for report in runtestprotocol(item, log=False, nextitem=nextitem):
            if report.when == "call" or not report.passed or self.all_of_them:
                item.ihook.pytest_runtest_logreport(report=report)
        return True
