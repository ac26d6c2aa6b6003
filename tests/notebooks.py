"""Running the notebooks among the examples. `python -m tests.notebooks` runs them anew and writes what they show.

Exercises are stored without what they show, for readers to run; the gallery of the documentation has all with it.
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import nbformat
from ipykernel.kernelspec import write_kernel_spec
from nbclient import NotebookClient

FOLDER: Final = Path(__file__).parents[1] / "examples"
EXERCISES: Final = sorted(FOLDER.glob("week-*.ipynb"))
"""Of the course: stored without what they show, for readers to run."""
EXAMPLES: Final = sorted(set(FOLDER.glob("*.ipynb")) - set(EXERCISES))
GALLERY: Final = FOLDER.parent / "docs" / "gallery"
SHOWN: Final = ("image/svg+xml", "text/plain")
"""What pages of the gallery show of an output."""
KERNEL: Final = "python3"
METADATA: Final = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": KERNEL},
    "language_info": {"name": "python", "file_extension": ".py", "mimetype": "text/x-python"},
}
"""What a notebook says of where it ran; the rest depends on the machine."""
RAISES: Final = "raises-exception"
"""The tag of cells that are meant to fail."""
ADDRESS: Final = re.compile(r"0x[0-9a-f]{6,}")


def read(path: Path) -> Any:
    return nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]


def write(notebook: Any, path: Path) -> None:
    nbformat.write(notebook, path)  # type: ignore[no-untyped-call]


def of_cells(*sources: str) -> Any:
    """A notebook with these cells."""
    cells = [nbformat.v4.new_code_cell(source) for source in sources]  # type: ignore[no-untyped-call]
    return nbformat.v4.new_notebook(cells=cells)  # type: ignore[no-untyped-call]


def executed(path: Path, timeout: int = 120) -> Any:
    """The notebook as a kernel of this very environment runs it, in a folder of its own."""
    notebook = read(path)
    with tempfile.TemporaryDirectory() as folder, _private_settings(Path(folder)):
        write_kernel_spec(str(Path(folder, "jupyter_data_dir", "kernels", KERNEL)))
        client = NotebookClient(
            notebook,
            kernel_name=KERNEL,
            timeout=timeout,
            record_timing=False,
            resources={"metadata": {"path": folder}},
        )
        asyncio.run(client.async_execute())
    return scrubbed(notebook)


def scrubbed(notebook: Any) -> Any:
    """The notebook without what differs from machine to machine and means nothing."""
    notebook.metadata = nbformat.from_dict(METADATA)  # type: ignore[no-untyped-call]
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            if "text/plain" in data:
                data["text/plain"] = ADDRESS.sub("0x…", data["text/plain"])
    return notebook


def exhibited(notebook: Any) -> Any:
    """The notebook with what a page shows of its outputs, and nothing else."""
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            for media in set(data) - set(SHOWN):
                del data[media]
    return notebook


@contextmanager
def _private_settings(folder: Path) -> Iterator[None]:
    """Neither settings nor history of whoever runs this are read or written."""
    names = ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR")
    before = {name: os.environ.get(name) for name in names}
    os.environ.update({name: str(folder / name.lower()) for name in names})
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name)
            else:
                os.environ[name] = value


def main() -> None:
    for path in (*EXAMPLES, *EXERCISES):
        ran = executed(path)
        if path in EXAMPLES:
            write(ran, path)
        write(exhibited(ran), GALLERY / path.name)
        sys.stdout.write(f"ran {path.name}\n")


if __name__ == "__main__":
    main()
