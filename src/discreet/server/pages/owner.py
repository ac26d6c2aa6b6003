"""For owners: analysts and shares, tokens, the policy's lint, a larger budget, the audit."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from discreet.errors import Refused
from discreet.owner.check import check
from discreet.owner.raising import grant_more
from discreet.policy import Policy
from discreet.server.pages.home import Gauge
from discreet.server.pages.page_auth import Owning, PageAccess
from discreet.server.problems import document_of
from discreet.server.queue import Job
from discreet.server.tokens import Made, Role

router: Final = APIRouter(prefix="/data/{dataset}/owner", include_in_schema=False)
QUESTIONS: Final = 30
"""Of an audit that is begun from the page."""
MOST_DAYS: Final = 3650


class Audits:
    """The latest audit of each dataset; it is begun by its owner and runs like a question."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._jobs: dict[str, Job] = {}

    def begin(self, page_access: PageAccess) -> None:
        policy = page_access.access.dataset.curator.policy
        with self._lock:
            running = self._jobs.get(page_access.name)
            if running is None or running.result.done():
                self._jobs[page_access.name] = page_access.dispatcher.queue.submit(
                    f"{page_access.name} audit", lambda: _audited(policy)
                )

    def of(self, page_access: PageAccess) -> Job | None:
        with self._lock:
            return self._jobs.get(page_access.name)


def _audited(policy: Policy) -> str:
    from discreet.audit.policies import audit_policy
    from discreet.audit.report import page

    return page(audit_policy(policy, most=QUESTIONS))


def audits(request: Request) -> Audits:
    state: Audits = request.app.state.audits
    return state


@router.get("")
async def owner_page(page_access: Owning) -> Response:
    return await _shown(page_access)


@router.get("/budget")
@router.get("/check")
@router.get("/tokens")
async def owner_again(page_access: Owning) -> Response:
    """For those who open the address of what they sent."""
    return RedirectResponse(f"{page_access.path}/owner", 303)


async def _shown(page_access: PageAccess, status: int = 200, **more: Any) -> Response:
    known = await page_access.dispatcher.light(_context, page_access)
    return page_access.show("owner.html", status, here="/owner", **{**known, **more})


def _context(page_access: PageAccess) -> dict[str, Any]:
    curator = page_access.access.dataset.curator
    job = audits(page_access.visitor.request).of(page_access)
    return {
        "gauge": Gauge.of(curator, page_access.access.caller),
        "policy": curator.policy,
        "shares": {name: curator.budget(name) for name in curator.policy.analysts},
        "tokens": page_access.access.dataset.tokens.all(),
        "audit": "none" if job is None else "done" if job.result.done() else "running",
        "findings": None,
        "made": None,
        "problem": None,
    }


@router.post("/tokens")
async def make_token(page_access: Owning) -> Response:
    """A new token, shown once."""
    form = await page_access.visitor.form()
    try:
        role, analyst, expires = _wanted(page_access, form)
    except Refused as refused:
        return await _shown(page_access, 422, problem=document_of(refused))
    made = Made.new()
    await page_access.dispatcher.light(page_access.access.dataset.make_token, made, role, analyst, expires)
    return await _shown(page_access, made=(made.text, analyst or str(role)))


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
        return await _shown(page_access, 403, problem=document_of(refusal))
    await page_access.dispatcher.light(page_access.access.dataset.revoke_token, name)
    return RedirectResponse(f"{page_access.path}/owner#tokens", 303)


@router.post("/budget")
async def raise_budget(page_access: Owning) -> Response:
    """A larger budget, on the record."""
    form = await page_access.visitor.form()
    dataset = page_access.access.dataset
    try:
        wanted, reason = _epsilon(form.get("epsilon", "")), form.get("reason", "").strip()[:500]
        await page_access.dispatcher.light(grant_more, dataset.curator.policy, wanted, reason or "raised on the page")
    except (Refused, OSError) as refused:
        problem = document_of(refused)
        return await _shown(page_access, problem["status"], problem=problem)
    dataset.reload()
    return RedirectResponse(f"{page_access.path}/owner", 303)


def _epsilon(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise Refused("cost-invalid", "the budget is no number", "write a number such as 5") from None


@router.post("/check")
async def lint(page_access: Owning) -> Response:
    """What the policy gets wrong about its sources. Exact, and for the owner's eyes."""
    await page_access.visitor.form()
    findings = await page_access.dispatcher.light(check, page_access.access.dataset.curator.policy)
    return await _shown(page_access, findings=findings)


@router.post("/audit")
async def begin_audit(page_access: Owning) -> Response:
    await page_access.visitor.form()
    audits(page_access.visitor.request).begin(page_access)
    return RedirectResponse(f"{page_access.path}/owner#audit", 303)


@router.get("/audit")
async def audit_report(page_access: Owning) -> Response:
    job = audits(page_access.visitor.request).of(page_access)
    if job is None or not job.result.done():
        return RedirectResponse(f"{page_access.path}/owner#audit", 303)
    from discreet.answers.document import ALLOWED

    text = job.result.result()
    return HTMLResponse(text, headers={"content-security-policy": f"{ALLOWED}; frame-ancestors 'none'"})
