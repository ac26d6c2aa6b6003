"""Half-written tails: a prefix of what happened, or an error; never something else, and never in silence."""

from __future__ import annotations

import random
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path

import pytest

from discreet.ledger import Ledger, LedgerDamaged, LedgerError, verify
from discreet.ledger.sqlite.files import beside
from tests.ledger.helpers import CENT, child, filled, moved, opened, spend

PAGE = 4096
FRAME = PAGE + 24


@pytest.fixture(scope="module", params=["charge", "keep"])
def unclosed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """A ledger whose last changes are in the WAL only, and the receipts of its charges."""
    path = tmp_path_factory.mktemp("unclosed") / "ledger.sqlite"
    receipts = child("unfinished", path, 12, request.param)
    assert beside(path, "-wal").stat().st_size > 3 * FRAME
    return path, receipts


def check_tail(copied: Path, receipts: list[str], *, whole: bool) -> None:
    """What is left is sound and a prefix, its receipts tell what is missing, and one can go on."""
    alone = verify(copied)
    assert alone.problems == ()
    held = alone.charges
    assert (held == len(receipts)) or not whole
    if held < len(receipts):
        assert any("rolled back" in problem for problem in verify(copied, receipts).problems)
    with opened(copied) as ledger:
        numbers = [entry.number for entry in ledger.entries()]
        assert numbers == [int(receipt.partition(":")[0]) for receipt in receipts][:held]
        assert Fraction(str(ledger.balance().spent.epsilon)) == held * CENT.epsilon
        last = spend(ledger)
    assert verify(copied, [*receipts[:held], last]).problems == ()


def cut_wal(unclosed: tuple[Path, list[str]], folder: Path, cuts: Iterable[int]) -> None:
    path, receipts = unclosed
    wal = beside(path, "-wal").read_bytes()
    for cut in cuts:
        copied = moved(path, folder / "cut", only=[""])
        beside(copied, "-wal").write_bytes(wal[: len(wal) - cut])
        check_tail(copied, receipts, whole=cut == 0)


@pytest.mark.parametrize("cut", [0, 1, 2, 23, 24, 25, 100, 2048, FRAME - 1, FRAME, FRAME + 1, 2 * FRAME, 3 * FRAME - 7])
def test_a_wal_that_ends_early(unclosed: tuple[Path, list[str]], tmp_path: Path, cut: int) -> None:
    cut_wal(unclosed, tmp_path, [cut])


@pytest.mark.slow
def test_a_wal_that_ends_at_any_byte_of_its_last_two_frames(unclosed: tuple[Path, list[str]], quick: Path) -> None:
    """Every ninth byte, another ninth each time."""
    cut_wal(unclosed, quick, range(random.randrange(9), 2 * FRAME + 1, 9))


@pytest.mark.parametrize("filler", [b"\x00", b"\xff", b"\x5a"])
@pytest.mark.parametrize("cut", [1, 500, FRAME, 2 * FRAME])
def test_a_wal_whose_end_is_rubbish(unclosed: tuple[Path, list[str]], tmp_path: Path, cut: int, filler: bytes) -> None:
    """Blocks that the disk never wrote hold anything."""
    path, receipts = unclosed
    wal = beside(path, "-wal").read_bytes()
    copied = moved(path, tmp_path / "cut", only=[""])
    beside(copied, "-wal").write_bytes(wal[: len(wal) - cut] + cut * filler)
    check_tail(copied, receipts, whole=False)


def test_a_ledger_emptied_or_removed_under_its_wal(unclosed: tuple[Path, list[str]], tmp_path: Path) -> None:
    """SQLite would begin anew and throw the WAL away."""
    for removed in (False, True):
        copied = moved(unclosed[0], tmp_path / "cut")
        copied.unlink() if removed else copied.write_bytes(b"")
        with pytest.raises(LedgerDamaged, match="emptied or removed"):
            opened(copied)
        assert beside(copied, "-wal").read_bytes() == beside(unclosed[0], "-wal").read_bytes()


# the file itself


@pytest.fixture(scope="module")
def closed(shared: Path) -> tuple[Path, list[str]]:
    path = shared / "ledger.sqlite"
    receipts = filled(path, 20)
    assert not beside(path, "-wal").exists()
    return path, receipts


def everything(path: Path) -> tuple[int, float] | None:
    """What an opening finds; None if it is refused."""
    ledger: Ledger | None = None
    try:
        ledger = opened(path)
        return len(ledger.entries()), ledger.balance().spent.epsilon
    except LedgerError:
        return None
    finally:
        if ledger:
            ledger.close()


def cut_file(closed: tuple[Path, list[str]], folder: Path, sizes: Iterable[int]) -> None:
    path, receipts = closed
    content = path.read_bytes()
    for size in sizes:
        copied = moved(path, folder / "cut", only=[".seal"])
        copied.write_bytes(content[:size])
        assert problems(copied), size  # the seal tells
        copied = moved(path, folder / "cut", only=[])
        copied.write_bytes(content[:size])
        found = everything(copied)
        # without a seal: refused, or nothing is missing, or the receipts tell; an emptied file alone looks new
        assert found is None or found == (20, 0.2) or problems(copied, receipts), size


def problems(path: Path, receipts: Iterable[str] = ()) -> bool:
    try:
        return bool(verify(path, receipts).problems)
    except LedgerError:
        return True


@pytest.mark.parametrize("cut", [1, 2, 100, 1000, 2000, 3000, 4000, PAGE - 1, PAGE, PAGE + 1, 2 * PAGE, 3 * PAGE])
def test_a_file_that_ends_early(closed: tuple[Path, list[str]], tmp_path: Path, cut: int) -> None:
    cut_file(closed, tmp_path, [closed[0].stat().st_size - cut])


@pytest.mark.parametrize("size", [0, 1, 15, 16, 99, 100, 101, 512, PAGE - 1, PAGE])
def test_a_file_of_which_only_the_beginning_is_left(closed: tuple[Path, list[str]], tmp_path: Path, size: int) -> None:
    cut_file(closed, tmp_path, [size])


@pytest.mark.slow
def test_a_file_that_ends_at_any_byte(closed: tuple[Path, list[str]], quick: Path) -> None:
    """Every seventh byte of all pages, another seventh each time."""
    cut_file(closed, quick, range(random.randrange(7), closed[0].stat().st_size, 7))


@pytest.mark.parametrize("size", [0, None])
def test_a_sealed_ledger_that_is_lost_does_not_begin_anew(
    closed: tuple[Path, list[str]], tmp_path: Path, size: int | None
) -> None:
    copied = moved(closed[0], tmp_path / "lost", only=[".seal"])
    if size is not None:
        copied.write_bytes(b"")
    with pytest.raises(LedgerDamaged, match="records when it was closed and has 0 → restore a backup"):
        opened(copied)
