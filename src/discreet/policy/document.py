"""From a path to the tables of a TOML document, or one problem that says why not."""

from __future__ import annotations

import os
import re
import stat
import tomllib
from pathlib import Path
from typing import Any, Final

from discreet.policy.problems import Finding, PolicyError, shown_file

MOST_BYTES: Final = 10**7
_LOCATED: Final = re.compile(r"(.*) \(at (line \d+, column \d+|end of document)\)", re.DOTALL)
_LONGEST_REASON: Final = 200


def label(path: Path) -> str:
    """The file's name, as problems begin with it."""
    return shown_file(path.name or str(path))


def content(path: Path, what: str = "policy") -> bytes:
    """The bytes of a regular file; devices and pipes could keep us waiting for ever."""
    named = f"name a {what} file"
    if "\0" in str(path):
        finding = Finding.error("", "cannot be read: no file name has a NUL", named)
        raise PolicyError(label(path), [finding])
    try:
        mode = path.stat().st_mode
        if not stat.S_ISREG(mode):
            sort = "a folder" if stat.S_ISDIR(mode) else "not a regular file"
            raise PolicyError(label(path), [Finding.error("", f"cannot be read: it is {sort}", named)])
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as wrong:
        reason = wrong.strerror or type(wrong).__name__
        fix = f"{named}; this was {shown_file(str(path))}"
        raise PolicyError(label(path), [Finding.error("", f"cannot be read: {reason}", fix)]) from None
    if len(data) > MOST_BYTES:
        raise PolicyError(label(path), [Finding.error("", f"is larger than {MOST_BYTES} bytes", named)])
    return data


def document(data: bytes) -> dict[str, Any] | Finding:
    """The TOML tables of the text."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as wrong:
        before = data[: wrong.start].split(b"\n")
        where = f"line {len(before)}, column {len(before[-1].decode(errors='replace')) + 1}"
        return Finding.error(where, "is not UTF-8", "save the file in the encoding UTF-8")
    try:
        return tomllib.loads(text)
    except RecursionError:
        return Finding.error("", "is nested too deeply to be a policy", "remove the brackets that are too many")
    except tomllib.TOMLDecodeError as wrong:
        return _syntax(str(wrong), text)
    except ValueError:
        # Python converts no integer of more than 4,300 digits
        return Finding.error("", "holds a number of too many digits", "write ordinary numbers")


def _syntax(message: str, text: str) -> Finding:
    located = _LOCATED.fullmatch(message)
    reason, where = located.groups() if located else (message, "")
    if where == "end of document":
        where = f"line {text.count(chr(10)) + 1}, the end of the file"
    return Finding.error(where, f"is not TOML: {reason[:_LONGEST_REASON]}", "see https://toml.io")


def absolute(path: Path) -> Path:
    """The path, whatever the working folder becomes later. Links stay: sources are found beside the link."""
    return Path(os.path.abspath(path))
