"""The journal's records: how they are written, read and chained.

Constitution
1. A record is a line of canonical JSON (keys sorted, no spaces, UTF-8) with its version `v` and its `kind`.
2. What a key of a version and kind means never changes. New meanings get new keys, kinds or a new version.
3. A reader that meets a version or kind that it does not know refuses the whole journal: it could not add up right.
4. Amounts are integers in units of 10⁻²⁴, written as decimal text: one for a pure budget (ε), two for a concentrated
   one (ρ, δ). They are only ever added, by Python, inside the transaction that appends the record.
5. hash(n) = SHA-256 of hash(n − 1), a newline, and the line; hash(0) is the SHA-256 of "discreet". Records are numbered
   1, 2, 3, … without gaps, are never removed, and never changed but to erase what is too old (`retention`): such a
   record has the key erased, keeps its number and its hash, and a later record of the kind erased has its digest.
6. A charge is on disk before data is touched. Nothing gives it back.

Kinds of version 1
budget   epsilon, delta (fractions; delta null for a pure budget), limits (amounts), spent (amounts, in the currency of
         this budget), shares (amounts of every analyst), reason. The first record is one; it may also say id and host,
         as accepted does.
epoch    protected (fingerprint of unit and protected tables), name. Spending goes on.
data     version (a counter that the owner advances), reason.
charge   at, analyst, question, plan (fingerprint or null), data (version), loss (amounts), spent (amounts of everybody
         after this charge), salt (random: no two charges ever have the same hash, also after a rollback). Of a
         question about one part of a partition also: portion (partition, part, most: in how many parts a unit can be;
         the same in all charges of a partition) and `price` (amounts that are added to that part's line). Its loss is
         by how much the sum of the `most` largest lines of the partition rises, in each currency. Lines end when a
         budget changes the currency.
         How it was asked beside its text may stand in call (cost, parameters, dialect), and the name that the caller
         gave to the request in key, with the digest of what it asks in request: no two charges have the same key.
         Whom the loss is about stands in unit (the name that the policy gave it; left out where nobody did): always for
         adding or removing one.
answer   charge (number), digest (SHA-256 of the cached answer).
totals   the whole state, repeated every so often so that opening need not read everything: epsilon, delta, limits,
         spent, shares, protected, data, portions (for each partition the amounts of each part; left out if none),
         units (for each `protected` the amounts of each unit; left out if no charge since the last totals without it
         named one: what is spent and not among them was charged before units were recorded).
accepted id (of the ledger, random, the same in all of them), host (the random name of the folder with high-water
         marks that knows the ledger from now on), at, reason, known (how many records it was known to have: if there
         are fewer, the others are forgotten, and the owner said so). It may also say home (the database that the
         journal lies in from now on; null in a file) and arrived (as in the moved before it).
moved    arrived (the name of where the journal goes on), to (the same for people), at. It is the last record here: only
         accepted with the same arrived follows, where it goes on.
stream   name, capacity (amounts: no line of a block is above it), most (in how many blocks a unit can have rows), at,
         loss (most times the capacity, or what was added to it since: a capacity is never lowered), spent (amounts of
         everybody after it), unit as in charges. The budget is charged here, and not by charges about blocks.
block    stream, number (0, 1, 2 …), file (the random name of what its rows are in), label (the day, or another public
         name: no two blocks of a stream have the same), at. A block is opened, and its line is 0.
retire   stream, upto (all blocks below this number are retired), reason, at. No charge is about a retired block, ever.

erased   at, reason, questions and answers (the moments before which they went; null if none did), texts and gone (how
         many questions and how many answers), records (for each record that was written anew the SHA-256 of its line).
token    act (made or revoked), id (its public name, never its secret), role, analyst (or null), at. Spends nothing.
window   number (2, 3, …), most (how many the policy allows), at, reason, granted (the limits of all windows before it,
         added up), spent and shares (as in budget: what those spent together, of everybody and of each analyst), used
         (what the last of them spent). From here on limits, also those of shares, hold for what is spent in this
         window; all of it goes on being added up.

Since these came, budget, epoch and data say at, and budget says before (epsilon, delta and limits of the budget until
then; left out in the first). An epoch may also be written where `protected` stays as it is: it says policy (the
document that the owner wrote) and changes (for each of its keys that is another one, the value before and after; null
where there is none), and digest (SHA-256 of that document as canonical JSON).

Version 2 of
answer   withdrawn (the reason), analyst (who asked), at: the owner withdrew the answer to this charge, and nobody reads
         it. Its digest is that of nothing, and no answer to the same charge follows.
charge   as before, about blocks of a stream: blocks (stream, ranges such as "0-363,365") and `price` (amounts that are
         added to the line of each of these blocks). Its loss is nothing. Blocks whose line reaches the first amount of
         the capacity are retired by it. Charges about no blocks are of version 1.
data     as before, and all lines end: the private copies that they were about are gone. What they cost stays spent.
totals   as before, with portions that say for each partition most and lines (the amounts of each part), and, once the
         ledger was accepted somewhere, its id and hosts.

Version 3 of
totals   as before, with streams: for each name capacity, most, unit, files and labels of all blocks, lines and shares
         (of everybody, and of each analyst: for each currency a list of [amount, how often]), retired (ranges), and
         largest (for each currency the `most` largest lines of retired blocks). Totals without any are of version 2.

Version 3 of
charge   as before, without what was erased: erased says what that is (question: with it call, key, request and salt;
         plan, which is null then; part: its name is a number, the same in all records of its partition).
answer   erased, of (the number of its charge): neither the answer nor its digest is here any more.

Since then answers have a salt, as charges have.

Version 5 of
totals   as before, where names of parts were erased: erased.

Version 4 of
totals   as before, where there is any of: policy (number of the newest epoch with one, and its digest), window (number,
         spent and shares of the newest one), withdrawn (charges whose answers are), home. Streams may be left out.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any, Final

from discreet.ledger.problems import LedgerDamaged

VERSIONS: Final = {
    "budget": 1, "epoch": 1, "data": 2, "charge": 3, "answer": 3, "accepted": 1, "totals": 5,
    "stream": 1, "block": 1, "retire": 1, "token": 1, "window": 1, "moved": 1, "erased": 1,
}  # fmt: skip
"""The newest version of each kind; all before it are read."""
NEWER: Final[dict[str, dict[str, int]]] = {
    "charge": {"": 1, "blocks": 2, "erased": 3},
    "answer": {"": 1, "withdrawn": 2, "erased": 3},
    "totals": {"": 2, "streams": 3, "policy": 4, "window": 4, "withdrawn": 4, "home": 4, "erased": 5},
}
"""Only records with one of these keys are of a newer version of their kind: ledgers without such stay as they were."""
GENESIS: Final = hashlib.sha256(b"discreet").hexdigest()

Amounts = tuple[int, ...]
Record = dict[str, Any]


def encode(kind: str, fields: Record) -> str:
    """A record as a line. What UTF-8 cannot write (lone surrogates) stays escaped, as JSON does it."""
    newer = NEWER.get(kind, {"": VERSIONS[kind]})
    record = {**fields, "v": max(newer[key] for key in newer if not key or key in fields), "kind": kind}
    line = json.dumps(record, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return line.encode("utf-8", "backslashreplace").decode("utf-8")


def decode(number: int, line: object) -> Record:
    """A line as a record; `LedgerDamaged` if this version of discreet cannot know what it means."""
    try:
        record = dict(json.loads(line))  # type: ignore[arg-type]
        version, kind = record["v"], record["kind"]
        known = type(version) is int and 1 <= version <= VERSIONS.get(kind, 0)
    except (TypeError, ValueError, KeyError, RecursionError):
        raise LedgerDamaged(f"record {number} cannot be read", "restore a backup") from None
    if not known:
        raise LedgerDamaged(
            f"record {number} is of version {version!r} and kind {kind!r}, which this discreet does not know",
            "open the ledger with the version of discreet that wrote it",
        )
    return record


def is_event(record: Record) -> bool:
    """Whether it says what happened beside charges and answers; that an answer was withdrawn did."""
    return record["kind"] not in ("charge", "answer", "totals") or "withdrawn" in record


def link(previous: str, line: str) -> str:
    """The hash of a record, given that of the one before."""
    return hashlib.sha256(f"{previous}\n{line}".encode("utf-8", "surrogatepass")).hexdigest()


def digest_of_line(line: str) -> str:
    """Of a line by itself, wherever it stands."""
    return hashlib.sha256(line.encode("utf-8", "surrogatepass")).hexdigest()


def plus(a: Amounts, b: Amounts) -> Amounts:
    return tuple(x + y for x, y in zip(a, b, strict=True))


def less(a: Amounts, b: Amounts) -> Amounts:
    """What is left of the one without the other, in each currency: never below nothing."""
    return tuple(max(x - y, 0) for x, y in zip(a, b, strict=True))


def written(amounts: Amounts) -> list[str]:
    return [str(amount) for amount in amounts]


def parsed(texts: object) -> Amounts:
    """Amounts as integers; ValueError for anything but plain decimal digits."""
    if not isinstance(texts, list) or not all(isinstance(text, str) and text.isdecimal() for text in texts):
        raise ValueError("amounts must be lists of decimal digits")
    return tuple(int(text) for text in texts)
