"""Reports as bytes: the format, and what anybody may send instead."""

from __future__ import annotations

import json
import pickle
import re
import struct
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import local, noise
from tests.local.cases import ALL, EACH, EACH_FREQUENCY, FREQUENCIES, HITTERS, value_of
from tests.rigged import Rigged, repeated

PAGE = (Path(__file__).parents[2] / "docs" / "reports.md").read_text("utf-8")


# The format


@EACH
def test_a_report_is_a_header_and_a_payload(mechanism: local.Mechanism) -> None:
    report = mechanism.encode(value_of(mechanism))
    assert type(report) is bytes
    assert len(report) == mechanism.report_bytes == 10 + mechanism.payload_bytes
    version, code, size, micro = struct.unpack("<BBII", report[:10])
    assert (version, code, size, micro) == (1, mechanism.code, mechanism.size, mechanism.epsilon * 10**6)
    assert local.Header.of(report) == local.Header(1, mechanism.code, mechanism.size, mechanism.epsilon)
    assert local.MECHANISMS[code] is type(mechanism)


@EACH
def test_parameters_are_json_and_lead_back_to_the_mechanism(mechanism: local.Mechanism) -> None:
    sent = json.loads(json.dumps(mechanism.parameters()))
    again = local.from_parameters(sent)
    assert again == mechanism
    assert again.header == mechanism.header == bytes.fromhex(sent["header"])
    assert all(value <= 2**53 for value in sent.values() if isinstance(value, int))


@EACH
def test_parameters_that_do_not_belong_together_are_refused(mechanism: local.Mechanism) -> None:
    sent = mechanism.parameters()
    for name in sent:
        for other in (None, 7, "x"):
            with pytest.raises((TypeError, ValueError)):
                local.from_parameters({**sent, name: other})
        with pytest.raises((TypeError, ValueError)):
            local.from_parameters({key: value for key, value in sent.items() if key != name} | {"more": 1})
    with pytest.raises(ValueError, match="belong"):
        local.from_parameters({**sent, "chance": 2**53, "rise": 2**37, "one": 2**53})


GOLDEN = [
    # the bits of zeros: coins fall on heads, and what is drawn uniformly is 0
    (local.TwoCoins(), 1, "01010200000075c3100001000000"),
    (local.KaryResponse(300, 1), 299, "01022c01000040420f002b010000"),
    (local.SymmetricUnary(9, 1), 3, "01030900000040420f00ff01"),
    (local.OptimizedUnary(12, 2), 3, "01040c00000080841e00ff0f"),
    (local.LocalHashing(9, 1), 5, "01050900000040420f00" + "00" * 20),
    (local.HadamardResponse(9, 1), 5, "01060900000040420f0000000000"),
    (local.OneBitMean((0, 1), 0.5), 0.25, "0108dee489f920a1070001000000"),
    (local.PiecewiseMean((0, 1), 0.5), 0.25, "0109dee489f920a1070000400000"),
]


@pytest.mark.parametrize(("mechanism", "value", "report"), GOLDEN, ids=lambda each: getattr(each, "name", ""))
def test_bytes_stay_as_they_are(mechanism: local.Mechanism, value: Any, report: str) -> None:
    """The format is a promise: reports of today are read by the collectors of tomorrow."""
    assert mechanism.encode(value, repeated(0)).hex() == report
    assert mechanism.encode([value], repeated(0))[0].tobytes().hex() == report


def test_the_page_describes_every_mechanism_and_all_of_its_parameters() -> None:
    rows = dict(re.findall(r"^\| (\d+) \| `([a-z-]+)` \|", PAGE, re.MULTILINE))
    assert rows == {str(code): kind.name for code, kind in local.MECHANISMS.items()}
    for mechanism in ALL:
        assert all(f"`{name}`" in PAGE for name in mechanism.parameters())


# Encoding


@EACH
def test_all_randomness_comes_from_the_bits_handed_over(mechanism: local.Mechanism) -> None:
    kept: list[bytes] = []

    def recorded(count: int) -> bytes:
        kept.append(noise.SYSTEM.bytes(count))
        return kept[-1]

    values = [value_of(mechanism)] * 20
    first = mechanism.encode(values, Rigged(recorded))
    again = mechanism.encode(values, Rigged(kept))
    assert first.tobytes() == again.tobytes()
    assert len({row.tobytes() for row in mechanism.encode(values * 5)}) > 1
    for seed in (0, b"seed", np.random.default_rng()):
        with pytest.raises(TypeError, match="bits must be a Bits object"):
            mechanism.encode(values, seed)  # type: ignore[arg-type]


@EACH_FREQUENCY
def test_bits_and_bytes_do_not_depend_on_the_value(mechanism: local.FrequencyMechanism) -> None:
    """With words that are never thrown away: for another value, as many bytes are drawn, and as many are sent."""
    drawn = set()
    for value in range(mechanism.size):
        bits = repeated(0)
        report = mechanism.encode(value, bits)
        drawn.add((bits.taken, len(report)))
    assert len(drawn) == 1


@EACH
def test_nobody_reports_nothing(mechanism: local.Mechanism) -> None:
    assert mechanism.encode([]).shape == (0, mechanism.report_bytes)


@EACH_FREQUENCY
def test_what_is_no_value_is_refused_before_anything_is_drawn(mechanism: local.FrequencyMechanism) -> None:
    for bad in (-1, mechanism.size, 0.0, None, "1", [[0, 1]], [0, mechanism.size], [None], 2**70):
        with pytest.raises((TypeError, ValueError), match="values"):
            mechanism.encode(bad, Rigged([]))  # type: ignore[arg-type]


def test_booleans_answer_questions_with_two_answers_only() -> None:
    assert len(local.warner(1).encode([True, False])) == 2
    with pytest.raises(TypeError, match="values"):
        local.KaryResponse(3, 1).encode(True)


@pytest.mark.parametrize("size", [0, 1, 2**20 + 1, 2.0, None, True, "3"])
def test_impossible_sizes_are_refused(size: Any) -> None:
    for kind in (local.KaryResponse, local.SubsetSelection, local.HadamardResponse):
        with pytest.raises((TypeError, ValueError), match="size"):
            kind(size, 1)


# What anybody may send


@EACH
@given(junk=st.lists(st.binary(max_size=40), max_size=8))
@settings(deadline=None, max_examples=15)
def test_junk_is_counted_and_harms_nothing(mechanism: local.Mechanism, junk: list[bytes]) -> None:
    good = mechanism.encode([value_of(mechanism)] * 3)
    accepted = mechanism.read([*junk, *(row.tobytes() for row in good)])
    assert len(accepted.payloads) + sum(accepted.bad.values()) == len(junk) + 3
    assert len(accepted.payloads) >= 3


@EACH
def test_every_bit_of_a_header_counts(mechanism: local.Mechanism) -> None:
    report = mechanism.encode(value_of(mechanism))
    reasons = Counter[str]()
    for bit in range(80):
        changed = bytearray(report)
        changed[bit // 8] ^= 1 << bit % 8
        accepted = mechanism.read([bytes(changed), report])
        assert len(accepted.payloads) == 1
        reasons += Counter(accepted.bad)
    assert reasons == {"version": 8, "mechanism": 8, "parameters": 64}


@EACH
def test_reports_of_other_lengths_are_bad(mechanism: local.Mechanism) -> None:
    report = mechanism.encode(value_of(mechanism))
    sent: list[Any] = [report[:-1], report + b"\0", b"", None, 5, "text", report.hex(), [1, 2], np.zeros(10)]
    same: list[Any] = [report, bytearray(report), memoryview(report), np.frombuffer(report, dtype=np.uint8)]
    accepted = mechanism.read([*sent, *same])
    assert accepted.bad == {"length": 9}
    assert len({row.tobytes() for row in accepted.payloads}) == 1
    assert len(accepted.payloads) == 4
    wide = np.zeros((4, mechanism.report_bytes + 1), dtype=np.uint8)
    assert mechanism.read(wide).bad == {"length": 4}


@pytest.mark.parametrize(
    ("mechanism", "payload"),
    [
        (local.TwoCoins(), "02000000"),
        (local.KaryResponse(300, 1), "2c010000"),
        (local.KaryResponse(300, 1), "000000ff"),
        (local.SymmetricUnary(9, 1), "ff03"),
        (local.SymmetricUnary(9, 1), "0080"),
        (local.OptimizedUnary(12, 1), "0010"),
        (local.LocalHashing(9, 1), "00" * 16 + "04000000"),
        (local.HadamardResponse(9, 1), "10000000"),
        (local.SubsetSelection(9, 1), "0300") if local.SubsetSelection(9, 1).chosen != 2 else
        (local.SubsetSelection(9, 1), "0700"),
        (local.SubsetSelection(9, 1), "0002"),
        (local.OneBitMean((0, 1), 1), "02000000"),
        (local.PiecewiseMean((0, 1), 1), "ffffffff"),
        (HITTERS, "02" + "00" * 20),
        (HITTERS, "00" * 17 + "ff000000"),
    ],
)  # fmt: skip
def test_payloads_that_no_honest_client_sends_are_bad(mechanism: local.Mechanism, payload: str) -> None:
    accepted = mechanism.read([mechanism.header + bytes.fromhex(payload), mechanism.encode(value_of(mechanism))])
    assert accepted.bad == {"payload": 1}
    assert len(accepted.payloads) == 1


@EACH
def test_of_reports_with_one_id_the_first_counts(mechanism: local.Mechanism) -> None:
    reports = mechanism.encode([value_of(mechanism)] * 4)
    for sent in (reports, [row.tobytes() for row in reports]):
        accepted = mechanism.read(sent, ids=["a", "b", "a", "a"])
        assert accepted.bad == {"repeated": 2}
        assert accepted.payloads.tolist() == reports[:2, 10:].tolist()
        with pytest.raises(ValueError, match="ids"):
            mechanism.read(sent, ids=["a"])


@EACH
def test_one_report_is_no_list_of_reports(mechanism: local.Mechanism) -> None:
    for wrong in (mechanism.encode(value_of(mechanism)), "text", 5, None):
        with pytest.raises(TypeError, match="reports must be a list"):
            mechanism.read(wrong)  # type: ignore[arg-type]


@EACH
def test_a_mechanism_cannot_be_changed(mechanism: local.Mechanism) -> None:
    """Else somebody could make the collector's p and q, or the client's coin, another than what the header says."""
    for name in ("epsilon", "chance", "hashed", "one", "novelty"):
        with pytest.raises(AttributeError):
            setattr(mechanism, name, 1)
    again = pickle.loads(pickle.dumps(mechanism))
    assert (again, hash(again), repr(again)) == (mechanism, hash(mechanism), repr(mechanism))


def test_a_header_needs_its_bytes() -> None:
    with pytest.raises(ValueError, match="at least 10 bytes"):
        local.Header.of(b"\x01\x02")


@EACH_FREQUENCY
def test_poison_moves_an_estimate_by_no_more_than_is_said(mechanism: local.FrequencyMechanism) -> None:
    """Whatever bytes somebody sends: of two surveys that differ in one report, estimates differ by `influence`."""
    junk = np.random.default_rng(1).integers(0, 256, size=(300, mechanism.report_bytes), dtype=np.uint8)
    junk[:, :10] = np.frombuffer(mechanism.header, dtype=np.uint8)
    honest = mechanism.encode(np.zeros(301, dtype=np.int64))
    sent = np.vstack([junk, honest[:300]])
    for row in sent[mechanism.read(sent).bad.get("payload", 0) :][:50]:
        if mechanism.read([row.tobytes()]).bad:
            continue
        one, other = (mechanism.estimate(np.vstack([honest[:300], last])).values for last in (row, honest[300]))
        assert np.abs(one - other).max() <= mechanism.influence(301) * (1 + 1e-12)


def test_all_mechanisms_have_a_case() -> None:
    assert {type(each) for each in ALL} == set(local.MECHANISMS.values())
    assert {type(each) for each in FREQUENCIES} <= set(local.MECHANISMS.values())
