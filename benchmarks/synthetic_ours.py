"""Our synthetic table of the codes in a NumPy file, in a process of its own, so that its memory can be told."""

from __future__ import annotations

import json
import re
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from discreet.release import Domain, MarginalSynthesizer


def main(path: Path) -> None:
    held = np.load(path)
    names = [f"c{index}" for index in range(len(held["sizes"]))]
    described: dict[str, Any] = {
        name: (0, int(size) - 1) if ordered and size > 2 else list(range(int(size)))
        for name, size, ordered in zip(names, held["sizes"], held["ordered"], strict=True)
    }
    data = dict(zip(names, held["rows"].T, strict=True))
    synthesizer = MarginalSynthesizer(domain=Domain.of(described))
    start = time.perf_counter()
    made = synthesizer.release(data, rho=float(held["rho"]))
    seconds = time.perf_counter() - start
    (peak,) = re.findall(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text(encoding="ascii"))
    np.save(path.with_suffix(".npy"), np.stack([codes.astype(np.int16) for codes in made.codes], axis=1))
    print(json.dumps({"seconds": seconds, "megabytes": int(peak) / 1024, "processor": time.process_time()}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
