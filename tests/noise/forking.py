"""Draws noise in many forked children and prints it all: a process of its own, so that no thread lives at the fork."""

from __future__ import annotations

import os
import sys

from discreet import noise

DRAWS = 4
WIDTH = 8


def main(children: int) -> None:
    """Children write to one pipe; a write this short is never torn."""
    noise.laplace(noise.MOST_SCALE, size=100)
    reader, writer = os.pipe()
    for _ in range(children):
        if os.fork() == 0:
            values = [noise.laplace(noise.MOST_SCALE) for _ in range(DRAWS)]
            os.write(writer, b"".join(value.to_bytes(WIDTH, "big", signed=True) for value in values))
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        found = pipe.read()
    for start in range(0, len(found), WIDTH):
        print(int.from_bytes(found[start : start + WIDTH], "big", signed=True))
    for _ in range(children):
        os.wait()


if __name__ == "__main__":
    main(int(sys.argv[1]))
