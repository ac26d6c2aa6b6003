"""Many analysts in one process, for tests: each asks new questions until it is refused."""

from __future__ import annotations

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx

import discreet
from discreet.client import Unreachable, http

TRIES = 20


def ask_until_refused(urls: list[str], token: str, epsilon: float) -> dict[str, Any]:
    """The receipts of one analyst, why there are no more, and how many questions were lost with a server."""
    receipts: list[str] = []
    lost = 0
    while lost < TRIES:
        try:
            with discreet.connect(urls[lost % len(urls)], token=token) as remote:
                while True:
                    answer = remote.query("SELECT COUNT(*) FROM patients", epsilon=epsilon, fresh=True)
                    receipts.append(answer.receipt)
        except (Unreachable, discreet.QueryFailed):
            lost += 1  # the next one is asked of another server
        except discreet.Refused as refused:
            return {"receipts": receipts, "code": refused.code, "fix": refused.fix, "lost": lost}
    return {"receipts": receipts, "code": "lost", "fix": "", "lost": lost}


def main() -> None:
    http.TIMEOUT = httpx.Timeout(600)  # type: ignore[misc]  # a busy machine loses no question
    told = json.loads(sys.stdin.readline())
    with ThreadPoolExecutor(len(told["tokens"])) as pool:
        print("ready", flush=True)
        sys.stdin.readline()
        found = [
            pool.submit(ask_until_refused, told["urls"][place % 2 :] + told["urls"], token, told["epsilon"])
            for place, token in enumerate(told["tokens"])
        ]
        print(json.dumps([each.result() for each in found]))


if __name__ == "__main__":
    main()
