"""For owners: tokens, a larger or a smaller budget, the policy's lint, the audit. `owner_acts` has the rest."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, Final

from fastapi import APIRouter
from starlette.responses import HTMLResponse, RedirectResponse, Response

from discreet.errors import Refused
from discreet.owner.check import checked, key_of
from discreet.owner.raising import grant_less, grant_more
from discreet.owner.steps import Steps, beside, shown
from discreet.policy import Policy
from discreet.server.pages.home import Gauge
from discreet.server.pages.page_auth import Owning, PageAccess
from discreet.server.problems import document_of
from discreet.server.tokens import Made, Role
from discreet.server.works import Tell, Work, Works

router: Final = APIRouter(prefix="/data/{dataset}/owner", include_in_schema=False)
QUESTIONS: Final = 30
"""Of an audit that is begun from the page."""
TOKEN: Final = re.compile(r"[0-9a-f]{8}")
MOST_DAYS: Final = 3650
AT_ONCE: Final = 5.0
"""Seconds for which a page waits for a look at the sources, before it says that it goes on."""
RAISED: Final = {"raise": grant_more, "lower": grant_less}
WORDS: Final = {"raise": "raised", "lower": "lowered"}
DONE: Final = {
    "raised": "The budget is raised, on the record.",
    "lowered": "The budget is lowered, on the record.",
    "analyst": "The analyst stands in the policy now. Make a token below, and hand it over.",
    "revoked": "The token is revoked: whoever holds it is out.",
    "acknowledged": "The policy says now that it is meant so.",
}
"""What was done, for the page that shows it; addresses name it, and can say nothing else."""
AGAIN: Final = ("budget", "check", "tokens", "refresh", "erase", "backup", "acknowledge", "analysts", "suggest")
"""Forms of the page, whose addresses lead back to it."""


def _audited(policy: Policy) -> str:
    from discreet.audit.policies import audit_policy
    from discreet.audit.report import page

    return page(audit_policy(policy, most=QUESTIONS))


@router.get("")
async def owner_page(page_access: Owning, done: str = "") -> Response:
    return await show_owner(page_access, done=DONE.get(done, ""))


async def owner_again(page_access: Owning) -> Response:
    """For those who open the address of what they sent."""
    return RedirectResponse(f"{page_access.path}/owner", 303)


for _each in AGAIN:
    router.add_api_route(f"/{_each}", owner_again)


def works(page_access: PageAccess) -> Works:
    state: Works = page_access.visitor.request.app.state.works
    return state


def work_of(page_access: PageAccess, kind: str) -> Work | None:
    """The latest work of a kind for this dataset."""
    return works(page_access).of(f"{page_access.name} {kind}")


def begin(page_access: PageAccess, kind: str, work: Callable[[Tell], Any], more: Any = None) -> Work:
    """Begin a work of a kind, unless one runs."""
    return works(page_access).begin(page_access.dispatcher.queue, f"{page_access.name} {kind}", work, more)


def note(page_access: PageAccess, *words: str, remark: str = "") -> None:
    """Note, for the export, the command that does the same as a form did."""
    Steps.of(page_access.access.dataset.curator.policy).add(*words, remark=remark)


async def show_owner(page_access: PageAccess, status: int = 200, **more: Any) -> Response:
    known = await page_access.dispatcher.light(_context, page_access)
    return page_access.show("owner.html", status, here="/owner", **{**known, **more})


def _context(page_access: PageAccess) -> dict[str, Any]:
    curator = page_access.access.dataset.curator
    job, checks = work_of(page_access, "audit"), work_of(page_access, "check")
    file = beside(curator.policy)
    return {
        "gauge": Gauge.of(curator, page_access.access.caller),
        "policy": curator.policy,
        "shares": {name: curator.budget(name) for name in curator.policy.analysts},
        "tokens": page_access.access.dataset.tokens.all(),
        "audit": "none" if job is None else "done" if job.is_done else "running",
        "checks": checks,
        "key_of": key_of,
        "refreshing": work_of(page_access, "refresh"),
        "erasing": work_of(page_access, "erase"),
        "suggesting": work_of(page_access, "suggest"),
        "backups": page_access.visitor.app_state.backups,
        "steps": Steps.of(curator.policy).all(),
        "file": file,
        "command": lambda *words: shown([file if word == "POLICY" else word for word in words]),
        "made": None,
        "backup": None,
        "problem": None,
        "unsure": False,
        "done": "",
        "given": {},
    }


@router.post("/tokens")
async def make_token(page_access: Owning) -> Response:
    """A new token, shown once."""
    form = await page_access.visitor.form()
    try:
        role, analyst, expires = _wanted(page_access, form)
    except Refused as refused:
        return await show_owner(page_access, 422, problem=document_of(refused), given=form)
    made = Made.new()
    await page_access.dispatcher.light(page_access.access.dataset.make_token, made, role, analyst, expires)
    days = form.get("days", "").strip()
    whose = ("--analyst", analyst) if analyst else ()
    until = ("--expires", f"{int(days)}d") if days else ()
    policy = beside(page_access.access.dataset.curator.policy)
    await page_access.dispatcher.light(
        partial(note, page_access, "token", "create", policy, "--role", str(role), *whose, *until)
    )
    return await show_owner(page_access, made=(made.text, analyst or str(role)))


def _wanted(page_access: PageAccess, form: dict[str, str]) -> tuple[Role, str | None, datetime | None]:
    holder, days = form.get("holder", ""), form.get("days", "").strip()
    expires = None
    if days:
        if not (days.isdecimal() and len(days) <= 6 and 0 < int(days) <= MOST_DAYS):
            raise Refused("body-invalid", "days are a whole number", f"write 1 to {MOST_DAYS}, or nothing")
        expires = datetime.now(UTC) + timedelta(days=int(days))
    kind, _, analyst = holder.partition(":")
    if kind == "analyst" and analyst in page_access.access.dataset.curator.policy.analysts:
        return Role.ANALYST, analyst, expires
    if holder in (Role.OWNER, Role.AUDITOR):
        return Role(holder), None, expires
    raise Refused("unknown-analyst", "there is no such analyst in the policy", "choose one of the list")


@router.post("/tokens/{name}/revoke")
async def revoke_token(page_access: Owning, name: str) -> Response:
    await page_access.visitor.form()
    if name == page_access.access.caller.token:
        refusal = Refused("forbidden", "this is the token that you are signed in with", "sign in with another first")
        return await show_owner(page_access, 403, problem=document_of(refusal))
    await page_access.dispatcher.light(page_access.access.dataset.revoke_token, name)
    if TOKEN.fullmatch(name):
        await page_access.dispatcher.light(partial(note, page_access, remark=f"the token {name} was revoked"))
    return RedirectResponse(f"{page_access.path}/owner?done=revoked#tokens", 303)


@router.post("/budget")
async def raise_budget(page_access: Owning) -> Response:
    """A larger or a smaller budget, on the record."""
    form = await page_access.visitor.form()
    dataset, act = page_access.access.dataset, "lower" if form.get("act") == "lower" else "raise"
    try:
        wanted, reason = _epsilon(form.get("epsilon", "")), form.get("reason", "").strip()[:500]
        why = reason or f"{WORDS[act]} on the page"
        await page_access.dispatcher.light(RAISED[act], dataset.curator.policy, wanted, why)
    except (Refused, OSError) as refused:
        problem = document_of(refused)
        return await show_owner(page_access, problem["status"], problem=problem, given=form)
    dataset.reload()
    words = ("budget", act, beside(dataset.curator.policy), "--epsilon", repr(wanted), "--why", why)
    await page_access.dispatcher.light(partial(note, page_access, *words))
    return RedirectResponse(f"{page_access.path}/owner?done={WORDS[act]}", 303)


def _epsilon(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise Refused("cost-invalid", "the budget is no number", "write a number such as 5") from None


@router.post("/check")
async def lint(page_access: Owning) -> Response:
    """What the policy gets wrong about its sources. Exact, and for the owner's eyes. It may last."""
    await page_access.visitor.form()
    await look(page_access)
    return await show_owner(page_access)


async def look(page_access: PageAccess) -> None:
    policy = page_access.access.dataset.curator.policy
    work = begin(page_access, "check", lambda _: checked(policy))
    if work.job is not None:
        await page_access.dispatcher.wait(work.job, AT_ONCE)


@router.post("/audit")
async def begin_audit(page_access: Owning) -> Response:
    await page_access.visitor.form()
    policy = page_access.access.dataset.curator.policy
    begin(page_access, "audit", lambda _: _audited(policy))
    return RedirectResponse(f"{page_access.path}/owner#audit", 303)


@router.get("/audit")
async def audit_report(page_access: Owning) -> Response:
    job = work_of(page_access, "audit")
    if job is None or not job.is_done or job.value is None:
        return RedirectResponse(f"{page_access.path}/owner#audit", 303)
    from discreet.answers.document import ALLOWED

    return HTMLResponse(job.value, headers={"content-security-policy": f"{ALLOWED}; frame-ancestors 'none'"})
