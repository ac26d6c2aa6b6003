"""What a client makes of a server's problems, also of one that means harm."""

from __future__ import annotations

from typing import Any

import pytest

from discreet.answers.documents import Problem, decoded
from discreet.client.problems import MAX_TEXT, Unreachable, error_of
from discreet.errors import BudgetExhausted, Edit, QueryFailed, Refused

BODY = b'{"code": "%s", "reason": "why", "fix": "do", "edit": %s, "spent": %s}'


def problem(code: bytes = b"syntax", edit: bytes = b"null", spent: bytes = b"0") -> Any:
    return error_of(422, decoded(BODY % (code, edit, spent), Problem))


def test_an_edit_arrives() -> None:
    edit = b'{"old": "patient", "new": "patients", "arguments": {"epsilon": 0.1, "rho": null}}'
    for code, kind in ((b"syntax", Refused), (b"budget-exhausted", BudgetExhausted)):
        found = problem(code, edit)
        assert type(found) is kind
        assert found.edit == Edit("patient", "patients", {"epsilon": 0.1, "rho": None})
    assert problem().edit is None


@pytest.mark.parametrize(
    "edit",
    [
        b'{"old": "a", "new": "\\u001b[2J", "arguments": {}}',
        b'{"old": "a\\nb", "new": "c", "arguments": {}}',
        b'{"old": "%s", "new": "c", "arguments": {}}' % (b"a" * (MAX_TEXT + 1)),
        b'{"old": "", "new": "", "arguments": {"epsilon, evil": 1}}',
        b'{"old": "", "new": "", "arguments": {"epsilon": "1"}}',
        b'{"old": "", "new": "", "arguments": {"blocks": "\\u001b[2J"}}',
    ],
)
def test_an_edit_that_cannot_be_shown_is_none(edit: bytes) -> None:
    assert problem(edit=edit).edit is None


@pytest.mark.parametrize(
    "edit", [b"1", b"[]", b'{"old": 1}', b'{"arguments": {"epsilon": [1]}}', b'{"arguments": [1]}']
)
def test_an_edit_of_another_form_is_not_read(edit: bytes) -> None:
    with pytest.raises(ValueError, match="form"):
        problem(edit=edit)


def test_what_may_have_been_charged_is_a_failure() -> None:
    assert isinstance(problem(b"cancelled", spent=b"null"), QueryFailed)
    assert isinstance(problem(b"cancelled"), Refused)
    assert isinstance(problem(b"NOT A CODE"), Unreachable)
