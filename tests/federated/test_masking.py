"""Secure aggregation: masks cancel exactly, failures are made up for, and whoever lies or repeats is refused."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from contextlib import suppress
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand

from discreet.errors import Refused
from discreet.federated import sharing
from discreet.federated.encoding import Words
from discreet.federated.graph import Shape, _chance, neighbours, ring, shape
from discreet.federated.keys import Identity, derived, opened, sealed, words
from discreet.federated.masking import SEALED, Aggregation, Deal, Member, Revealed, Setting, own_mask
from discreet.federated.sharing import SECRET, SHARE, restored, shared
from discreet.noise import SYSTEM
from tests.statistics import ALARM, Law, misfit

SESSION = bytes(range(16))


class Party:
    """Members of a round, their server and their vectors."""

    def __init__(
        self,
        count: int,
        *,
        number: int = 1,
        identities: Mapping[int, Identity] | None = None,
        form: Shape | None = None,
        width: int = 5,
        least: int = 1,
    ) -> None:
        self.identities = identities or {u: Identity() for u in range(count)}
        keys = {u: identity.public for u, identity in self.identities.items()}
        self.setting = Setting(SESSION, number, tuple(range(count)), form or shape(count), width)
        self.server = Aggregation(self.setting, least=least)
        self.members = {u: Member(self.identities[u], u, self.setting, keys) for u in range(count)}
        drawn = np.frombuffer(SYSTEM.bytes(4 * width * count), dtype=np.uint32).reshape(count, width)
        self.vectors: dict[int, Words] = dict(enumerate(drawn))

    def deal(self, who: Iterable[int]) -> None:
        for u in who:
            self.server.deal(u, self.members[u].deal())

    def mask(self, who: Iterable[int]) -> None:
        for u in who:
            self.server.masked(u, self.members[u].masked(self.vectors[u], self.server.inbox(u)))

    def reveal(self, who: Iterable[int]) -> None:
        for u in who:
            self.server.revealed(u, self.members[u].reveal(*self.server.request(u)))

    def exact(self, who: Iterable[int]) -> Words:
        total: Words = np.sum([self.vectors[u] for u in who], axis=0, dtype=np.uint32)
        return total

    def total(self, dealt: Iterable[int], stayed: Iterable[int], revealed: Iterable[int]) -> Words:
        self.deal(dealt)
        self.mask(stayed)
        self.reveal(revealed)
        return self.server.total()


@pytest.mark.parametrize("count", [3, 4, 9, 60])
def test_masks_cancel_exactly(count: int) -> None:
    everybody = range(count)
    party = Party(count, form=Shape(10, 6) if count == 60 else None)
    assert (party.total(everybody, everybody, everybody) == party.exact(everybody)).all()


def test_a_sparse_graph_makes_up_for_failures_in_each_step() -> None:
    party = Party(30, form=Shape(8, 5))
    dealt = [u for u in range(30) if u != 4]
    stayed = [u for u in dealt if u not in (11, 20)]
    assert (party.total(dealt, stayed, [u for u in stayed if u != 25]) == party.exact(stayed)).all()


@pytest.mark.parametrize("failed", [*itertools.combinations(range(5), 1), *itertools.combinations(range(5), 2)])
def test_whoever_fails_after_dealing_the_sum_of_the_others_is_exact(failed: tuple[int, ...]) -> None:
    """Enumeration, five clients: up to the two that a threshold of three leaves room for."""
    party = Party(5)
    stayed = [u for u in range(5) if u not in failed]
    if len(failed) == 1:
        assert (party.total(range(5), stayed, stayed) == party.exact(stayed)).all()
    else:  # each has two neighbours left, and three shares are needed
        with pytest.raises(Refused, match="most neighbours failed"):
            party.total(range(5), stayed, stayed)


def test_keys_serve_many_rounds_and_every_round_has_other_masks() -> None:
    identities = {u: Identity() for u in range(4)}
    sent = []
    for number in (1, 2, 3):
        party = Party(4, number=number, identities=identities)
        party.vectors = {u: np.zeros(5, dtype=np.uint32) for u in range(4)}
        assert not party.total(range(4), range(4), range(4)).any()
        sent.append(party.server._vectors[0].tobytes())
    assert len(set(sent)) == 3


def test_what_one_failure_reveals_opens_no_other_round() -> None:
    """The attack that keys which last would allow: in round 1 a client stays, in round 2 it fails.

    The server knows its own mask of round 1 and its pairs' seeds of round 2. Taking both off its vector of round 1 must
    not show it.
    """
    identities = {u: Identity() for u in range(5)}
    first = Party(5, identities=identities)
    first.total(range(5), range(5), range(5))
    second = Party(5, number=2, identities=identities)
    second.total(range(5), range(1, 5), range(1, 5))
    own = first.server._restored(0, lambda answer: answer.stayed)
    guess = first.server._vectors[0] - own_mask(first.setting, own)
    for other, seed in second.server._seeds(0).items():
        guess = guess - words(seed, 5) if other > 0 else guess + words(seed, 5)
    assert (guess != first.vectors[0]).any()


def test_a_masked_vector_looks_random() -> None:
    """Black box: 400,000 words of a client that sends zeros; their remainders modulo 16 are uniform."""
    party = Party(3, width=400_000)
    party.vectors[0] = np.zeros(400_000, dtype=np.uint32)
    party.deal(range(3))
    sent = party.members[0].masked(party.vectors[0], party.server.inbox(0))
    for shift in (0, 28):
        assert misfit((sent >> shift) & 15, Law(0, np.full(16, 1 / 16))) > ALARM


# servers that lie


def test_a_client_is_never_asked_for_both_shares_of_another() -> None:
    party = Party(4)
    party.deal(range(4))
    party.mask(range(4))
    with pytest.raises(Refused) as refusal:
        party.members[0].reveal({1, 2}, {2, 3})
    assert refusal.value.code == "double-unmasking"
    party.members[0].reveal({1, 2}, {3})
    with pytest.raises(Refused, match="given once"):
        party.members[0].reveal({1, 2, 3}, set())


def test_a_server_that_says_all_but_one_failed_hears_nothing() -> None:
    """Else it would get the envelopes of all others and the own mask of one: its vector, unmasked."""
    party = Party(20, form=Shape(8, 5))
    party.deal(range(20))
    party.mask(range(20))
    victim = 7
    around = party.setting.neighbours[victim]
    heard = 0
    for u in around:
        others = set(party.setting.neighbours[u])
        lie = {other for other in others if other != victim}
        with pytest.raises(Refused, match="most neighbours failed"):
            party.members[u].reveal(others - lie, lie)
        heard += party.members[u].revealed
    assert heard == 0


@pytest.mark.parametrize("count", [3, 5, 8, 12])
def test_a_server_that_lies_to_each_neighbour_gets_one_secret_at_most(count: int) -> None:
    """Every way to divide the neighbours of client 0 into those told that it stayed and those told that it failed."""
    threshold = shape(count).threshold
    for told in itertools.product((True, False), repeat=count - 1):
        assert (sum(told) >= threshold) + (count - 1 - sum(told) >= threshold) <= 1


def test_shapes_leave_a_lying_server_and_its_clients_below_the_threshold_of_one_secret() -> None:
    for members in (5, 20, 50, 100, 300, 1000):
        known = shape(members)
        assert 2 * known.threshold > known.degree
        assert known.threshold <= known.degree < members
    assert shape(1000).degree < 120


def test_a_client_does_not_mask_twice_nor_an_earlier_round() -> None:
    party = Party(4)
    party.deal(range(4))
    party.mask([0])
    with pytest.raises(Refused, match="sent its vector already"):
        party.members[0].masked(party.vectors[0], party.server.inbox(0))
    for number in (1, 0):
        with pytest.raises(Refused, match="is over for this client"):
            Party(4, number=number, identities=party.identities)


def test_a_client_that_is_told_of_few_neighbours_sends_nothing() -> None:
    party = Party(5)
    party.deal(range(5))
    inbox = party.server.inbox(0)
    with pytest.raises(Refused, match="too few neighbours dealt"):
        party.members[0].masked(party.vectors[0], dict(list(inbox.items())[:2]))
    with pytest.raises(Refused, match="no neighbour"):
        party.members[0].masked(party.vectors[0], {**inbox, 77: inbox[1]})
    with pytest.raises(ValueError, match="5 words"):
        party.members[0].masked(np.zeros(4, dtype=np.uint32), inbox)


@pytest.mark.parametrize("form", [Shape(4, 2), Shape(4, 1), Shape(4, 5)])
def test_a_client_takes_no_part_where_half_of_its_neighbours_could_unmask_it(form: Shape) -> None:
    with pytest.raises(Refused, match="so few neighbours"):
        Party(5, form=form)


def test_shares_that_were_exchanged_or_changed_do_not_open() -> None:
    party = Party(5)
    party.deal(range(5))
    inbox = party.server.inbox(0)
    swapped = {**inbox, 1: inbox[2], 2: inbox[1]}
    changed = {**inbox, 1: bytes([inbox[1][0] ^ 1]) + inbox[1][1:]}
    another = {**inbox, 1: party.server.inbox(2)[1]}
    for wrong in (swapped, changed, another):
        with pytest.raises(Refused, match="not what its sender sealed"):
            party.members[0].masked(party.vectors[0], wrong)
    party.mask([0])  # nothing was used up


def test_a_client_that_knows_keys_from_elsewhere_believes_no_others() -> None:
    identities = {u: Identity() for u in range(4)}
    keys = {u: identity.public for u, identity in identities.items()}
    setting = Setting(SESSION, 1, (0, 1, 2, 3), shape(4), 2)
    with pytest.raises(Refused) as refusal:
        Member(identities[0], 0, setting, {**keys, 2: Identity().public}, trusted=keys)
    assert refusal.value.code == "unknown-key"
    Member(identities[0], 0, setting, keys, trusted=keys)
    with pytest.raises(Refused, match="keys of some neighbours"):
        Member(identities[1], 1, setting, {0: keys[0]})
    with pytest.raises(Refused, match="no member"):
        Member(identities[1], 9, setting, keys)


@pytest.mark.parametrize("public", [bytes(32), bytes(31), b"\xff" * 33])
def test_keys_that_are_none_are_refused(public: bytes) -> None:
    with pytest.raises(Refused, match="no public key"):
        Identity().secret_with(public)


# clients that lie


def test_messages_of_wrong_form_or_time_are_refused_and_change_nothing() -> None:
    party = Party(4)
    deal = party.members[0].deal()
    less = dict(list(deal.shares.items())[:2])
    short = {u: share[:-1] for u, share in deal.shares.items()}
    for wrong in (Deal(deal.envelope, less), Deal(deal.envelope, short), Deal(deal.envelope[1:], deal.shares)):
        with pytest.raises(Refused, match="a deal has"):
            party.server.deal(0, wrong)
    with pytest.raises(Refused, match="no member"):
        party.server.deal(9, deal)
    with pytest.raises(Refused, match="did not deal"):
        party.server.masked(0, party.vectors[0])
    party.server.deal(0, deal)
    with pytest.raises(Refused, match="come already"):
        party.server.deal(0, deal)
    party.deal([1, 2, 3])
    wrong_vectors: list[Any] = [party.vectors[0][:-1], party.vectors[0].astype(np.int64)]
    for vector in wrong_vectors:
        with pytest.raises(Refused, match="words of 32 bits"):
            party.server.masked(0, vector)
    party.mask(range(4))
    with pytest.raises(Refused, match="come already"):
        party.server.masked(0, party.vectors[0])
    good = party.members[0].reveal(*party.server.request(0))
    halved = {u: share[:-1] for u, share in good.stayed.items()}
    for answer in (Revealed({}, {}), Revealed(good.stayed, {1: b""}), Revealed(halved, {})):
        with pytest.raises(Refused, match="not the shares"):
            party.server.revealed(0, answer)
    party.server.revealed(0, good)
    with pytest.raises(Refused, match="too late"):
        party.server.masked(1, party.vectors[1])
    party.reveal([1, 2, 3])
    assert (party.server.total() == party.exact(range(4))).all()


def test_who_sent_no_vector_reveals_nothing() -> None:
    party = Party(5)
    party.deal(range(5))
    party.mask(range(4))
    with pytest.raises(Refused, match="sent no vector"):
        party.server.revealed(4, Revealed({}, {}))
    with pytest.raises(Refused, match="given once, after"):
        party.members[4].reveal({0, 1, 2, 3}, set())


def test_a_sum_of_too_few_is_not_looked_at() -> None:
    party = Party(8, least=7)
    with pytest.raises(Refused) as refusal:
        party.total(range(8), range(6), range(6))
    assert refusal.value.code == "too-few-clients"


def test_wrong_shares_end_the_round_or_spoil_the_sum_and_reveal_nothing_more() -> None:
    party = Party(4)
    party.deal(range(4))
    party.mask(range(4))
    for u in range(4):
        honest = party.members[u].reveal(*party.server.request(u))
        lie = Revealed(dict.fromkeys(honest.stayed, b"\xff" * SHARE), {})
        party.server.revealed(u, lie if u == 1 else honest)
    with suppress(Refused):
        assert (party.server.total() != party.exact(range(4))).any()


# parts


def test_neighbours_are_mutual_and_as_many_as_said() -> None:
    order = ring(SESSION, range(40))
    around = neighbours(order, 6)
    assert all(len(set(each)) == 6 and u not in each for u, each in around.items())
    assert all(u in around[v] for u, each in around.items() for v in each)
    assert sorted(order) == list(range(40)) != order
    assert ring(b"another session!", range(40)) != order
    assert neighbours([3, 1, 2], 2) == {3: (1, 2), 1: (2, 3), 2: (1, 3)}


@pytest.mark.parametrize(("threshold", "count"), [(1, 1), (1, 3), (2, 3), (3, 5), (5, 5)])
def test_enough_shares_restore_the_secret_whichever_they_are(threshold: int, count: int) -> None:
    secret = SYSTEM.bytes(SECRET)
    shares = dict(enumerate(shared(secret, threshold=threshold, count=count), 1))
    assert all(len(share) == SHARE for share in shares.values())
    for size in range(threshold, count + 1):
        for points in itertools.combinations(shares, size):
            assert restored({point: shares[point] for point in points}, threshold=threshold) == secret
    with pytest.raises(ValueError, match="too few"):
        restored(dict(list(shares.items())[: threshold - 1]), threshold=threshold)


@pytest.mark.parametrize("threshold", [2, 3])
def test_fewer_shares_say_nothing(threshold: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Enumeration over a small field: whatever the secret, all values of any t − 1 shares are equally likely."""
    monkeypatch.setattr(sharing, "PRIME", 7)
    for points in itertools.combinations(range(1, 6), threshold - 1):
        for secret in range(7):
            seen: dict[tuple[int, ...], int] = {}
            for drawn in itertools.product(range(7), repeat=threshold - 1):
                values = tuple(sharing._value([*drawn, secret], point) for point in points)
                seen[values] = seen.get(values, 0) + 1
            assert len(seen) == 7 ** (threshold - 1)
            assert set(seen.values()) == {1}


def test_the_field_is_a_field() -> None:
    """Fermat's test to many bases, as fits a prime that is known to be one."""
    assert all(pow(base, sharing.PRIME - 1, sharing.PRIME) == 1 for base in range(2, 50))
    assert 2 ** (8 * SECRET) < sharing.PRIME < 2 ** (8 * SHARE)


@pytest.mark.parametrize(("secret", "threshold", "count"), [(b"short", 1, 1), (bytes(16), 0, 1), (bytes(16), 3, 2)])
def test_sharings_that_make_no_sense_are_errors(secret: bytes, threshold: int, count: int) -> None:
    with pytest.raises(ValueError, match="16 bytes"):
        shared(secret, threshold=threshold, count=count)


def test_keys_are_derived_as_the_standard_says() -> None:
    secret, label = SYSTEM.bytes(32), b"mask" + SESSION
    assert derived(secret, label) == HKDFExpand(hashes.SHA256(), 32, label).derive(secret)


def test_two_clients_agree_and_a_third_does_not() -> None:
    one, two, three = Identity(), Identity(), Identity()
    assert one.secret_with(two.public) == two.secret_with(one.public)
    assert one.secret_with(three.public) != two.secret_with(three.public)
    key = SYSTEM.bytes(32)
    assert opened(key, sealed(key, b"x" * 2 * SHARE)) == b"x" * 2 * SHARE
    assert len(sealed(key, bytes(2 * SHARE))) == SEALED


def test_words_are_those_of_the_stream_cipher() -> None:
    """RFC 8439, appendix A.1, test vector 1: the key stream of the zero key at counter 0."""
    expected = "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7"
    assert words(bytes(32), 8).tobytes().hex() == expected


def test_graphs_of_the_wrong_kind_are_rare() -> None:
    """The chance that more neighbours are corrupt than the shape allows for, by enumeration of a small case."""
    members, corrupt = 12, 3
    degree = 4
    chance = Fraction(0)
    for drawn in itertools.combinations(range(members - 1), degree):
        chance += Fraction(sum(u < corrupt for u in drawn) == 2)
    total = len(list(itertools.combinations(range(members - 1), degree)))
    assert _chance(members - 1, corrupt, degree, 2) == pytest.approx(float(chance / total))
    assert _chance(5, 2, 3, 3) == 0
