"""The desk's step of analysts: who may ask, and how much of the budget each may use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from fastapi import APIRouter
from starlette.responses import RedirectResponse, Response

from discreet.policy import PolicyError
from discreet.policy.problems import key_path
from discreet.server.desk.drafts import Draft
from discreet.server.desk.seat import Seat, Seated

router: Final = APIRouter(prefix="/desk", include_in_schema=False)
ANALYSTS: Final = 4
"""Rows of the form; more are added on the owner's page."""
LIKE: Final = "write it like 0.5 or 25 %"

Rows = Sequence[tuple[str, str]]
"""Names and shares, as somebody wrote them."""


@router.get("/{draft}/analysts")
async def analysts(seat: Seated, draft: str) -> Response:
    known = seat.desk.drafts.get(draft)
    shares: Mapping[str, Any] = known.decisions.get("analysts", {})
    rows = [(name, str(given.get("share", given.get("epsilon", "")))) for name, given in shares.items()]
    return _analysts(seat, known, rows, {})


def _analysts(seat: Seat, draft: Draft, rows: Rows, wrong: Mapping[int, str]) -> Response:
    filled = [*rows, *[("", "")] * (max(ANALYSTS, len(rows) + 1) - len(rows))]
    known = {"rows": filled, "budget": draft.decisions.get("budget", {}).get("epsilon"), "wrong": wrong}
    return seat.step("desk-analysts.html", draft, "analysts", 422 if wrong else 200, **known)


@router.post("/{draft}/analysts")
async def decide_analysts(seat: Seated, draft: str) -> Response:
    form, known = await seat.form(), seat.desk.drafts.get(draft)
    rows = [(form.get(f"name-{n}", "").strip(), form.get(f"share-{n}", "").strip()) for n in range(len(form))]
    rows = [row for row in rows if any(row)]
    wrong = {n: why for n in range(len(rows)) if (why := _unlike(rows, n))}
    decided = {**known.decisions, "analysts": {} if wrong else {name: _share(share) for name, share in rows}}
    wrong = wrong or await seat.light(_refused, known, decided, [name for name, _ in rows])
    if wrong:
        return _analysts(seat, known, rows, wrong)
    seat.desk.drafts.change(seat.seen(known, form), decisions=decided)
    return RedirectResponse(f"/desk/{draft}/review", 303)


def _unlike(rows: Rows, number: int) -> str:
    """Why one of the rows is no analyst, if so."""
    name, share = rows[number]
    if not (name and share):
        return "an analyst has a name and a share: write both, or neither"
    if name in [other for other, _ in rows[:number]]:
        return "another analyst has this name: give each one of its own"
    try:
        _share(share)
    except ValueError:
        return f"a share is an ε or a per cent: {LIKE}"
    return ""


def _share(written: str) -> dict[str, Any]:
    return {"share": written} if "%" in written else {"epsilon": float(written)}


def _refused(draft: Draft, decided: Mapping[str, Any], names: Sequence[str]) -> dict[int, str]:
    """What a policy says against some of these analysts, by their rows."""
    try:
        draft.provisional(decided)
    except PolicyError as wrong:
        by_row = {}
        for number, name in enumerate(names):
            here = key_path("analysts", name)
            for each in wrong.problems:
                if each.where == here or each.where.startswith(f"{here}."):
                    by_row[number] = f"{each.message}: {each.fix if each.where == here else LIKE}"
        if not by_row:
            raise  # it is about something else
        return by_row
    return {}
