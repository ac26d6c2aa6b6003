"""Heavy hitters: which strings are frequent, of more than anybody can list.

People are split over the levels of a tree of prefixes, by chance: each reports the hash of a prefix of its own string,
by optimised local hashing. The collector goes down the tree: prefixes that are frequent are extended by every symbol,
and the people of the next level say which extensions are frequent.

Theorem  ε-DP for each person (REPLACE_ONE): a person sends one report, about one prefix; its level is drawn without
         looking at the string.
Error    With n people and L levels, a string is found if its share is well above √(L·4·e^ε/n)/(e^ε − 1) times the
         normal quantile that the number of candidates asks for. What is found falsely is at most a share `1 −
         confidence` of all runs. Intervals are those of the last level's people, and hold for all candidates together.
Source   Bassily, Nissim, Stemmer & Thakurta 2017 (prefix trees); Wang, Li & Jha 2019 (PEM: hashing at every level).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from discreet import noise
from discreet.exact import Number, probability, whole
from discreet.local.chances import local_epsilon
from discreet.local.core import Mechanism
from discreet.local.hashing import Hashed
from discreet.local.intervals import clopper_pearson_all, normal_quantile
from discreet.local.reports import Booleans, Bytes, Reports, fingerprint
from discreet.noise import Bits

END: Final = "\0"
"""Fills strings up to their length."""
ALPHABET: Final = "abcdefghijklmnopqrstuvwxyz0123456789 -._"
MOST_EXTENSIONS: Final = 2**14
"""Of one prefix: more would take too long to look through."""
MOST_LEVELS: Final = 64

Watch = Callable[[Iterable[Any], int, str], Iterable[Any]]
"""Takes steps, how many they are and what they are called; gives the same steps (`answers.progress.shown`)."""


class HeavyHitter(NamedTuple):
    """A frequent string with its share; the interval holds for all candidates together."""

    value: str
    share: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Found:
    """The frequent strings, the most frequent first."""

    hitters: tuple[HeavyHitter, ...]
    count: int
    bad: dict[str, int]
    confidence: float

    def __str__(self) -> str:
        lines = [f"{each.share:9.4f}  ({each.low:.4f} to {each.high:.4f})  {each.value}" for each in self.hitters]
        refused = f", {sum(self.bad.values()):,} bad" if self.bad else ""
        return "\n".join([*lines, f"{self.count:,} reports{refused}; intervals hold together at {self.confidence:g}"])


@dataclass(frozen=True, init=False)
class HeavyHitters(Mechanism):
    """Frequent strings over an alphabet, of at most `length` characters; longer ones are cut.

    `step` characters are added at each level: more make fewer levels, so more people on each, and more work.

    >>> HeavyHitters(epsilon=4, length=6, step=2).levels
    3
    """

    name: ClassVar = "heavy-hitters"
    code: ClassVar = 10
    epsilon: Fraction
    length: int
    step: int
    alphabet: str

    def __init__(self, epsilon: Number, *, length: int, step: int = 2, alphabet: str = ALPHABET) -> None:
        if not _is_alphabet(alphabet):
            raise ValueError("alphabet must be a text of different characters")
        object.__setattr__(self, "epsilon", local_epsilon(epsilon))
        object.__setattr__(self, "length", whole(length, "length"))
        object.__setattr__(self, "step", min(whole(step, "step"), self.length))
        object.__setattr__(self, "alphabet", alphabet)
        if (len(alphabet) + 1) ** self.step > MOST_EXTENSIONS:
            raise ValueError(f"step must be smaller: a prefix would have more than {MOST_EXTENSIONS:,} extensions")
        if self.levels > MOST_LEVELS:
            raise ValueError(f"length must be at most {MOST_LEVELS} steps")

    @classmethod
    def of(cls, parameters: Mapping[str, Any]) -> Self:
        options = {name: parameters[name] for name in ("length", "step", "alphabet")}
        return cls(parameters["epsilon"], **options)

    @property
    def levels(self) -> int:
        return -(-self.length // self.step)

    @cached_property
    def hashed(self) -> Hashed:
        return Hashed(self.epsilon)

    @property
    def size(self) -> int:
        """In headers: of which strings this is, as a fingerprint."""
        return fingerprint(f"{self.length} {self.step} {self.alphabet}")

    @property
    def ratio(self) -> Fraction:
        return self.hashed.ratio

    @property
    def payload_bytes(self) -> int:
        return 1 + self.hashed.payload_bytes

    @property
    def chances(self) -> dict[str, int]:
        return {"chance": self.hashed.chance, "width": self.hashed.width, "levels": self.levels}

    def parameters(self) -> dict[str, Any]:
        return {**super().parameters(), "length": self.length, "step": self.step, "alphabet": self.alphabet}

    # the client's side

    def _checked(self, values: Any) -> NDArray[Any]:
        listed = [values] if isinstance(values, str) else list(values)
        if not all(isinstance(value, str) for value in listed):
            raise TypeError("values must be strings")
        strange = set().union(*map(set, listed)) - set(self.alphabet)
        if strange:
            raise ValueError(f"values must be written in the alphabet: {sorted(strange)[0]!r} is not in it")
        padded = np.array([value[: self.length].ljust(self.length, END) for value in listed], dtype=object)
        return padded.reshape(()) if isinstance(values, str) else padded

    def _randomised(self, exact: NDArray[Any], bits: Bits) -> Bytes:
        levels = noise.below(self.levels, exact.size, bits=bits)
        ends = (levels + 1) * self.step
        prefixes = [value[:end] for value, end in zip(exact, ends.tolist(), strict=True)]
        payloads = self.hashed.randomised(fingerprints(prefixes), bits)
        return np.hstack([levels.astype(np.uint8)[:, None], payloads])

    # the collector's side

    def _is_valid(self, payloads: Bytes) -> Booleans:
        return (payloads[:, 0] < self.levels) & self.hashed.is_valid(payloads[:, 1:])

    def find(
        self,
        reports: Reports,
        confidence: Number = 0.95,
        *,
        most: int = 32,
        ids: Sequence[Hashable] | None = None,
        watch: Watch | None = None,
    ) -> Found:
        """The frequent strings, at most so many. `watch` sees how far it is: `discreet.answers.progress.shown`."""
        level, limit = float(probability(confidence, "confidence")), whole(most, "most")
        accepted = self.read(reports, ids)
        depths: Iterable[int] = range(self.levels)
        prefixes = [""]
        hitters: tuple[HeavyHitter, ...] = ()
        for depth in depths if watch is None else watch(depths, self.levels, "levels of the tree"):
            payloads = accepted.payloads[accepted.payloads[:, 0] == depth, 1:]
            candidates = [prefix + more for prefix in prefixes for more in self._extensions(prefix, depth)]
            hitters = self._frequent(payloads, candidates, level, limit) if candidates else ()
            prefixes = [each.value for each in hitters]
        return Found(
            tuple(each._replace(value=each.value.rstrip(END)) for each in hitters),
            len(accepted.payloads),
            dict(accepted.bad),
            level,
        )

    def _extensions(self, prefix: str, depth: int) -> list[str]:
        """All that may follow: after the end of a string nothing else does."""
        step = min(self.step, self.length - depth * self.step)
        if prefix.endswith(END):
            return [END * step]
        return [
            "".join(symbols).ljust(step, END)
            for length in range(step + 1)
            for symbols in itertools.product(self.alphabet, repeat=length)
        ]

    def _frequent(
        self, payloads: Bytes, candidates: list[str], confidence: float, most: int
    ) -> tuple[HeavyHitter, ...]:
        """Those whose share is certainly above 0; the confidence is shared by all levels and candidates."""
        if not len(payloads):
            return ()
        counts = self.hashed.counts(payloads, fingerprints(candidates))
        gap, lie = float(self.hashed.truth - self.hashed.lie), float(self.hashed.lie)
        each_level = 1 - (1 - confidence) / self.levels
        low, high = ((side - lie) / gap for side in clopper_pearson_all(counts, len(payloads), each_level))
        shares = (counts / len(payloads) - lie) / gap
        chosen = [int(i) for i in np.argsort(-shares, kind="stable")[:most] if low[i] > 0]
        return tuple(
            HeavyHitter(candidates[i], float(shares[i]), float(low[i]), min(float(high[i]), 1.0)) for i in chosen
        )

    # what to expect

    def detectable(self, count: int, confidence: Number = 0.95, *, most: int = 32) -> float:
        """About the least share that is found among `count` people half of the time at each level."""
        level = 1 - float(1 - probability(confidence, "confidence")) / self.levels
        lie, gap = float(self.hashed.lie), float(self.hashed.truth - self.hashed.lie)
        people = whole(count, "count") / self.levels
        candidates = whole(most, "most") * (len(self.alphabet) + 1) ** self.step
        return normal_quantile(level, candidates) * math.sqrt(lie * (1 - lie) / people) / gap


def _is_alphabet(value: object) -> bool:
    return isinstance(value, str) and 0 < len(value) == len(set(value)) and END not in value


def fingerprints(texts: Sequence[str]) -> NDArray[np.uint64]:
    """48 bits of each text's SHA-256, as a number: what is hashed further.

    Two texts have the same with probability 2⁻⁴⁸: then they count as one.
    """
    distinct = {text: fingerprint(text, 6) for text in set(texts)}
    return np.array([distinct[text] for text in texts], dtype=np.uint64)
