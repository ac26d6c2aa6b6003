"""smartnoise-synth's own MST, as its users call it, on codes: ε and δ are those of the benchmark."""

from __future__ import annotations

import resource
import time
from pathlib import Path

import numpy as np
import pandas as pd
from snsynth.mst import MSTSynthesizer  # type: ignore[import-not-found, unused-ignore]
from snsynth.transform import LabelTransformer, TableTransformer  # type: ignore[import-not-found, unused-ignore]

from benchmarks.peers.task import perform


def mst(path: Path) -> dict[str, float]:
    held = np.load(path)
    sizes = [int(size) for size in held["sizes"]]
    names = [str(index) for index in range(len(sizes))]
    frame = pd.DataFrame(held["rows"], columns=names)
    every = [[code % size for size in sizes] for code in range(max(sizes))]  # so that labels are the codes
    transformer = TableTransformer([LabelTransformer(nullable=False) for _ in names])
    transformer.fit(pd.DataFrame(every, columns=names))
    synthesizer = MSTSynthesizer(epsilon=float(held["epsilon"]), delta=float(held["delta"]))
    start = time.perf_counter()
    synthesizer.fit(frame, transformer=transformer)
    made = np.array([list(row) for row in synthesizer.sample(len(frame)).itertuples(index=False)])
    seconds = time.perf_counter() - start
    np.save(path.with_suffix(".npy"), made.astype(np.int16))
    return {"seconds": seconds, "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


if __name__ == "__main__":
    perform({"mst": mst})
