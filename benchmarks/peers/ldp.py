"""multi-freq-ldpy and pure-ldp: reports of people, one after the other as both do it, and what they add up to."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from multi_freq_ldpy.pure_frequency_oracles.LH import LH_Aggregator_MI, LH_Client
from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Aggregator_MI, UE_Client
from pure_ldp.frequency_oracles.hadamard_response import HadamardResponseClient, HadamardResponseServer
from pure_ldp.frequency_oracles.local_hashing import LHClient, LHServer
from pure_ldp.frequency_oracles.unary_encoding import UEClient, UEServer

from benchmarks.peers.task import perform

Timed = dict[str, tuple[float, float]]
"""Seconds of the processor for encoding and for estimating, by mechanism."""


def multi_freq(path: Path) -> Timed:
    values, size, epsilon = _loaded(path)
    UE_Client(0, size, epsilon)  # compiles what is compiled at first use
    LH_Aggregator_MI([LH_Client(0, size, epsilon)], size, epsilon)
    return {
        "local-hashing": _timed(
            lambda: [LH_Client(value, size, epsilon) for value in values],
            lambda reports: LH_Aggregator_MI(reports, size, epsilon),
        ),
        "optimized-unary": _timed(
            lambda: [UE_Client(value, size, epsilon) for value in values],
            lambda reports: UE_Aggregator_MI(reports, epsilon),
        ),
    }


def pure(path: Path) -> Timed:
    values, size, epsilon = _loaded(path)
    columns = HadamardResponseServer(epsilon, size)
    return {
        "local-hashing": _pure(
            LHClient(epsilon=epsilon, d=size, use_olh=True),
            LHServer(epsilon=epsilon, d=size, use_olh=True),
            values,
            size,
        ),
        "optimized-unary": _pure(
            UEClient(epsilon=epsilon, d=size, use_oue=True),
            UEServer(epsilon=epsilon, d=size, use_oue=True),
            values,
            size,
        ),
        "hadamard": _pure(HadamardResponseClient(epsilon, size, columns.get_hash_funcs()), columns, values, size),
    }


def _pure(client: Any, server: Any, values: list[int], size: int) -> tuple[float, float]:
    def estimated(reports: list[Any]) -> None:
        for report in reports:
            server.aggregate(report)
        server.estimate_all(range(1, size + 1), suppress_warnings=True)

    return _timed(lambda: [client.privatise(value + 1) for value in values], estimated)


def _timed(encode: Callable[[], Any], estimate: Callable[[Any], Any]) -> tuple[float, float]:
    start = time.process_time()
    reports = encode()
    middle = time.process_time()
    estimate(reports)
    return middle - start, time.process_time() - middle


def _loaded(path: Path) -> tuple[list[int], int, float]:
    stored = np.load(path)
    return [int(value) for value in stored["values"]], int(stored["size"]), float(stored["epsilon"])


if __name__ == "__main__":
    perform({"multi-freq": multi_freq, "pure": pure})
