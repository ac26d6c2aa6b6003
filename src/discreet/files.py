"""What discreet asks of the file system."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

NETWORKS: Final = frozenset(
    (
        *("9p", "afs", "beegfs", "ceph", "cifs", "glusterfs", "lustre", "nfs", "nfs4", "smb3", "smbfs"),
        *("fuse.glusterfs", "fuse.rclone", "fuse.s3fs", "fuse.sshfs"),
    )
)
"""File systems on which locks or fsync cannot be relied on."""


def file_system(path: Path, mounts: str = "/proc/self/mounts") -> str | None:
    """The type of the file system that holds the path, if the system tells."""
    try:
        lines = Path(mounts).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return None
    here = path.resolve()
    held = [
        (len(Path(fields[1]).parts), index, fields[2])
        for index, fields in enumerate(line.split() for line in lines)
        if len(fields) > 2 and here.is_relative_to(fields[1].replace("\\040", " "))
    ]
    return max(held)[2] if held else None


def is_mounted(path: Path, mounts: str = "/proc/self/mounts") -> bool:
    """Whether the path itself is a mount point, as a file that is shared with a container is."""
    try:
        lines = Path(mounts).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return False
    points = (fields[1] for fields in (line.split() for line in lines) if len(fields) > 2)
    return any(mount.replace("\\040", " ") == str(path) for mount in points)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold an exclusive lock of the operating system on a file; it ends with the process."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def flush(path: Path) -> None:
    """Have a file, or the names in a folder, on disk."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
