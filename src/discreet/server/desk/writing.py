"""The desk's last step: the policy's text, what `check` says of it beside the files, and writing and opening it."""

from __future__ import annotations

from functools import partial
from typing import Any, Final
from urllib.parse import urlencode

from fastapi import APIRouter
from starlette.responses import RedirectResponse, Response

from discreet.errors import Refused
from discreet.owner.check import key_of
from discreet.owner.steps import shown
from discreet.policy import Finding, PolicyError
from discreet.server.desk.drafts import Draft
from discreet.server.desk.seat import Seat, Seated
from discreet.server.problems import document_of

router: Final = APIRouter(prefix="/desk", include_in_schema=False)


@router.get("/{draft}/review")
async def review(seat: Seated, draft: str) -> Response:
    return await _review(seat, seat.desk.drafts.get(draft))


async def _review(seat: Seat, draft: Draft, status: int = 200, problem: Any = None) -> Response:
    text, undecided = await seat.light(_read, draft)
    work = seat.looked(draft)
    known = {"text": text, "undecided": undecided, "command": shown(draft.command), "key_of": key_of, "work": work}
    return seat.step("desk-review.html", draft, "review", status, problem=problem, **known)


def _read(draft: Draft) -> tuple[str, tuple[Finding, ...]]:
    """The text of a draft, and what is left to decide."""
    text = draft.text()
    try:
        draft.policy()
    except PolicyError as wrong:
        return text, wrong.problems
    return text, ()


@router.post("/{draft}/look")
async def look(seat: Seated, draft: str) -> Response:
    """Look at the draft beside its files. It may last, so it runs in the queue."""
    await seat.form()
    return seat.look(seat.desk.drafts.get(draft), "review")


@router.post("/{draft}/acknowledge")
async def acknowledge(seat: Seated, draft: str) -> Response:
    """Note in the draft that a finding is known and meant so."""
    form, known = await seat.form(), seat.desk.drafts.get(draft)
    seen, work = seat.seen(known, form), seat.looked(known)
    looked = None if work is None else work.value
    wanted = form.get("finding", "")
    if (
        looked is None
        or looked.revision != known.revision
        or wanted not in {key_of(each) for each in looked.findings if each.severity != "error"}
    ):
        raise Refused("body-invalid", "this was not found, or is an error", "look at the policy beside its files again")
    listed = [*known.decisions.get("acknowledged", []), wanted]
    changed = seat.desk.drafts.change(seen, decisions={**known.decisions, "acknowledged": list(dict.fromkeys(listed))})
    return seat.look(changed, "review")


@router.post("/{draft}/write")
async def write(seat: Seated, draft: str) -> Response:
    """Write the policy: what the page showed, where no file of that name is."""
    form, known = await seat.form(), seat.desk.drafts.get(draft)
    seen = seat.seen(known, form)
    text, _ = await seat.light(_read, known)
    if form.get("text", "").replace("\r\n", "\n").strip() != text.strip():
        refusal = Refused("draft-changed", "the files have other tables or columns now", "look at the text again")
        return await _review(seat, known, 409, document_of(refusal))
    try:
        await seat.light(seat.desk.write, known)
    except Refused as refused:
        problem = document_of(refused)
        return await _review(seat, known, problem["status"], problem)
    written = seat.desk.drafts.change(seen, written=known.file)
    return RedirectResponse(f"/desk/{written.id}/review", 303)


# opening


@router.post("/open")
async def begin_opening(seat: Seated) -> Response:
    """Open a policy of the folder: from then on it is served here, to its owner and to those who have its tokens."""
    form = await seat.form()
    policy = await seat.light(seat.desk.demand_policy, form.get("file", ""))
    opening = partial(seat.desk.open, policy, seat.visitor.app_state.datasets)
    seat.works.begin(seat.dispatcher.queue, _opening(policy.path.name), opening)
    return RedirectResponse(f"/desk/opening?{urlencode({'file': policy.path.name})}", 303)


@router.get("/opening")
async def opening(seat: Seated, file: str = "") -> Response:
    work = seat.works.of(_opening(file))
    if work is None:
        return RedirectResponse("/desk", 303)
    if work.value is not None:
        return RedirectResponse(f"/data/{work.value}/owner", 303)
    return seat.show("desk-opening.html", 200, file=file, work=work, problem=work.problem)


def _opening(file: str) -> str:
    return f"desk open {file}"
