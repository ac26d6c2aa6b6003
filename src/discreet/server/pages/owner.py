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
from discreet.server.pages.page_auth import Owning, Stay
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

    def begin(self, stay: Stay) -> None:
        policy = stay.visit.dataset.curator.policy
        with self._lock:
            running = self._jobs.get(stay.name)
            if running is None or running.result.done():
                self._jobs[stay.name] = stay.guest.house.desk.queue.submit(
                    f"{stay.name} audit", lambda: _audited(policy)
                )

    def of(self, stay: Stay) -> Job | None:
        with self._lock:
            return self._jobs.get(stay.name)


def _audited(policy: Policy) -> str:
    from discreet.audit.policies import audit_policy
    from discreet.audit.report import page

    return page(audit_policy(policy, most=QUESTIONS))


def audits(request: Request) -> Audits:
    found: Audits = request.app.state.audits
    return found


@router.get("")
async def owner_page(stay: Owning) -> Response:
    return await _shown(stay)


@router.get("/budget")
@router.get("/check")
@router.get("/tokens")
async def owner_again(stay: Owning) -> Response:
    """For those who open the address of what they sent."""
    return RedirectResponse(f"{stay.path}/owner", 303)


async def _shown(stay: Stay, status: int = 200, **more: Any) -> Response:
    known = await stay.guest.house.desk.light(_context, stay)
    return stay.show("owner.html", status, here="/owner", **{**known, **more})


def _context(stay: Stay) -> dict[str, Any]:
    curator = stay.visit.dataset.curator
    job = audits(stay.guest.request).of(stay)
    return {
        "gauge": Gauge.of(curator, stay.visit.caller),
        "policy": curator.policy,
        "shares": {name: curator.budget(name) for name in curator.policy.analysts},
        "tokens": stay.visit.dataset.tokens.all(),
        "audit": "none" if job is None else "done" if job.result.done() else "running",
        "findings": None,
        "made": None,
        "problem": None,
    }


@router.post("/tokens")
async def make_token(stay: Owning) -> Response:
    """A new token, shown once."""
    form = await stay.guest.form()
    try:
        role, analyst, expires = _wanted(stay, form)
    except Refused as refused:
        return await _shown(stay, 422, problem=document_of(refused))
    made = Made.new()
    stay.visit.dataset.tokens.add(made, role, analyst, expires)
    return await _shown(stay, made=(made.text, analyst or str(role)))


def _wanted(stay: Stay, form: dict[str, str]) -> tuple[Role, str | None, datetime | None]:
    holder, days = form.get("holder", ""), form.get("days", "").strip()
    expires = None
    if days:
        if not (days.isdecimal() and len(days) <= 6 and 0 < int(days) <= MOST_DAYS):
            raise Refused("body-invalid", "days are a whole number", f"write 1 to {MOST_DAYS}, or nothing")
        expires = datetime.now(UTC) + timedelta(days=int(days))
    kind, _, analyst = holder.partition(":")
    if kind == "analyst" and analyst in stay.visit.dataset.curator.policy.analysts:
        return Role.ANALYST, analyst, expires
    if holder in (Role.OWNER, Role.AUDITOR):
        return Role(holder), None, expires
    raise Refused("unknown-analyst", "there is no such analyst in the policy", "choose one of the list")


@router.post("/tokens/{name}/revoke")
async def revoke_token(stay: Owning, name: str) -> Response:
    await stay.guest.form()
    if name == stay.visit.caller.token:
        refusal = Refused("forbidden", "this is the token that you are signed in with", "sign in with another first")
        return await _shown(stay, 403, problem=document_of(refusal))
    stay.visit.dataset.tokens.revoke(name)
    return RedirectResponse(f"{stay.path}/owner#tokens", 303)


@router.post("/budget")
async def raise_budget(stay: Owning) -> Response:
    """A larger budget, on the record."""
    form = await stay.guest.form()
    dataset = stay.visit.dataset
    try:
        wanted, reason = _epsilon(form.get("epsilon", "")), form.get("reason", "").strip()[:500]
        await stay.guest.house.desk.light(grant_more, dataset.curator.policy, wanted, reason or "raised on the page")
    except (Refused, OSError) as refused:
        problem = document_of(refused)
        return await _shown(stay, problem["status"], problem=problem)
    dataset.reload()
    return RedirectResponse(f"{stay.path}/owner", 303)


def _epsilon(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise Refused("cost-invalid", "the budget is no number", "write a number such as 5") from None


@router.post("/check")
async def lint(stay: Owning) -> Response:
    """What the policy gets wrong about its sources. Exact, and for the owner's eyes."""
    await stay.guest.form()
    found = await stay.guest.house.desk.light(check, stay.visit.dataset.curator.policy)
    return await _shown(stay, findings=found)


@router.post("/audit")
async def begin_audit(stay: Owning) -> Response:
    await stay.guest.form()
    audits(stay.guest.request).begin(stay)
    return RedirectResponse(f"{stay.path}/owner#audit", 303)


@router.get("/audit")
async def audit_report(stay: Owning) -> Response:
    job = audits(stay.guest.request).of(stay)
    if job is None or not job.result.done():
        return RedirectResponse(f"{stay.path}/owner#audit", 303)
    from discreet.audit.report import ALLOWED

    text = job.result.result()
    return HTMLResponse(text, headers={"content-security-policy": f"{ALLOWED}; frame-ancestors 'none'"})
