"""What else owners do on their page: shares, refreshes, backups, what they acknowledge, the statement, the export.

Each is what a command does, in the same words, and is noted as that command for the export.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

from fastapi import APIRouter
from starlette.responses import HTMLResponse, RedirectResponse, Response

from discreet.curator.erasing import PATIENCE, Erasure
from discreet.curator.refreshing import HELD, refresh, refreshed
from discreet.curator.state import back_up_ledger, open_ledger
from discreet.engines.connection import scratch
from discreet.engines.sources import Report
from discreet.errors import Problem, Refused
from discreet.owner.backups import next_backup
from discreet.owner.editing import acknowledge, add_analyst
from discreet.owner.statement import statement
from discreet.owner.statement_page import page as statement_page
from discreet.owner.steps import Steps, beside, notebook, script
from discreet.owner.suggest import by_quantiles, from_exact_values
from discreet.policy import Policy
from discreet.printing import counted, printable
from discreet.server.pages.owner import begin, look, note, show_owner
from discreet.server.pages.page_auth import Owning, PageAccess
from discreet.server.works import Tell, owner_document

router: Final = APIRouter(prefix="/data/{dataset}/owner", include_in_schema=False)
COPIES: Final = 30
"""Backups that stay in the folder for them."""
MAX_REASON: Final = 500


async def _failed(page_access: PageAccess, error: Exception, form: Mapping[str, str] | None = None) -> Response:
    """What is refused, and the form as it was filled in."""
    problem = owner_document(error)
    return await show_owner(page_access, problem["status"], problem=problem, given=form or {})


@router.post("/analysts")
async def add_share(page_access: Owning) -> Response:
    """A new analyst, written into the policy."""
    form, dataset = await page_access.visitor.form(), page_access.access.dataset
    name, share = form.get("name", "").strip(), form.get("share", "").strip()
    try:
        await page_access.dispatcher.light(add_analyst, dataset.curator.policy, name, share)
    except Refused as refused:
        return await _failed(page_access, refused, form)
    await page_access.dispatcher.light(dataset.reload)
    words = ("budget", "share", "--", beside(dataset.curator.policy), name, share)
    await page_access.dispatcher.light(partial(note, page_access, *words))
    return RedirectResponse(f"{page_access.path}/owner?done=analyst#shares", 303)


@router.post("/acknowledge")
async def acknowledge_finding(page_access: Owning) -> Response:
    """A finding that is meant so, written into the policy."""
    form, dataset = await page_access.visitor.form(), page_access.access.dataset
    finding = form.get("finding", "")
    try:
        await page_access.dispatcher.light(acknowledge, dataset.curator.policy, finding)
    except Refused as refused:
        return await _failed(page_access, refused)
    await page_access.dispatcher.light(dataset.reload)
    words = ("check", beside(dataset.curator.policy), "--acknowledge", finding)
    await page_access.dispatcher.light(partial(note, page_access, *words))
    await look(page_access)
    return RedirectResponse(f"{page_access.path}/owner?done=acknowledged#lint", 303)


@router.post("/suggest")
async def suggest(page_access: Owning) -> Response:
    """Contribution bounds that fit: from exact values, or for a cost by private quantiles."""
    form, curator = await page_access.visitor.form(), page_access.access.dataset.curator
    written = form.get("epsilon", "").strip()
    try:
        epsilon = float(written) if written else None
    except ValueError:
        refusal = Refused("cost-invalid", "the cost is no number", "write a number such as 0.1, or nothing")
        return await _failed(page_access, refusal)

    def work(_: Tell) -> Any:
        return from_exact_values(curator.policy) if epsilon is None else by_quantiles(curator, epsilon)

    begun = begin(page_access, "suggest", work, more=epsilon)
    if begun.job is not None:
        await page_access.dispatcher.wait(begun.job, 2.0)
    policy = beside(curator.policy)
    cost = () if epsilon is None else ("--epsilon", repr(epsilon))
    await page_access.dispatcher.light(partial(note, page_access, "check", policy, "--suggest", *cost))
    return RedirectResponse(f"{page_access.path}/owner#suggest", 303)


@router.post("/refresh")
async def begin_refresh(page_access: Owning) -> Response:
    """Read the sources anew, on the record. If reading fails, nothing changes."""
    form, policy = await page_access.visitor.form(), page_access.access.dataset.curator.policy
    reason = form.get("reason", "").strip()[:MAX_REASON] or "refreshed on the page"

    def work(tell: Tell) -> str:
        reports: dict[str, Report] = {}
        version = refresh(policy, reason, tell, reports.update)
        note(page_access, "refresh", beside(policy), "--reason", reason)
        return _refreshed(version, reports)

    begin(page_access, "refresh", work)
    return RedirectResponse(f"{page_access.path}/owner#refresh", 303)


@router.post("/erase")
async def begin_erasure(page_access: Owning) -> Response:
    """Erase everybody who is gone at the source, once the owner has said that what stays is known."""
    form, curator = await page_access.visitor.form(), page_access.access.dataset.curator
    if form.get("sure") != "1":
        refusal = Refused("body-invalid", "erasing cannot be undone, and was not confirmed", "tick the box first")
        return await show_owner(page_access, 422, problem=owner_document(refusal), unsure=True, given=form)
    policy, reason = curator.policy, form.get("reason", "").strip()[:MAX_REASON] or "erased on the page"
    gone = form.get("missing") == "1"

    def work(tell: Tell) -> dict[str, Any]:
        reports: dict[str, Report] = {}
        wanted = Erasure(missing_files=gone, patience=PATIENCE)
        with open_ledger(policy) as ledger:
            done = refreshed(policy, ledger, reason, tell, reports.update, erase=wanted, let_go=curator.let_go)
        options = ("--missing-files",) if gone else ()
        note(page_access, "refresh", beside(policy), "--erase", *options, "--reason", reason)
        words = [_refreshed(done.version, reports), *done.erased_words(policy.unit)]
        return {"words": words, "held": [printable(each) for each in done.held], "fix": HELD}

    begin(page_access, "erase", work)
    return RedirectResponse(f"{page_access.path}/owner#erase", 303)


def _refreshed(version: int, reports: dict[str, Report]) -> str:
    """What a refresh did, for the owner: counts of what was left out are exact."""
    left = [f"{printable(table)}: {counted(report.counts.dropped, 'bad record')} left out"
            for table, report in reports.items() if report.counts.dropped]  # fmt: skip
    left += [f"{printable(table)}: {printable(Path(path).name)} was left out: {printable(why)}"
             for table, report in reports.items() for path, why in report.unreadable.items()]  # fmt: skip
    return "; ".join([f"queries are answered from data version {version} now", *left])


@router.post("/backup")
async def back_up(page_access: Owning) -> Response:
    """A verified copy of the ledger: for the browser to keep, or in the folder that the server was started with."""
    form, policy = await page_access.visitor.form(), page_access.access.dataset.curator.policy
    folder = page_access.visitor.app_state.backups
    try:
        if form.get("into") == "folder":
            if folder is None:
                raise Refused("policy", "the server has no folder for backups", "start it with --backups FOLDER")
            path, report = await page_access.dispatcher.light(next_backup, policy, folder, COPIES)
            written = f"{path.name}: {counted(report.records, 'record')}, {'sound' if report.sound else 'NOT sound'}"
            words = ("ledger", "backup", beside(policy), path.name)
            await page_access.dispatcher.light(partial(note, page_access, *words))
            return await show_owner(page_access, backup=written)
        content = await page_access.dispatcher.light(_copy, policy)
    except (Problem, OSError) as wrong:
        return await _failed(page_access, wrong)
    name = f"{page_access.name}-ledger.sqlite"
    await page_access.dispatcher.light(partial(note, page_access, "ledger", "backup", beside(policy), name))
    headers = {"content-disposition": f'attachment; filename="{name}"'}
    return Response(content, media_type="application/vnd.sqlite3", headers=headers)


def _copy(policy: Policy) -> bytes:
    """The bytes of a backup that is sound."""
    with scratch(policy.state) as folder:
        target = folder / "ledger.sqlite"
        if not back_up_ledger(policy, target).sound:
            raise Refused("policy", "the ledger is not sound, and was not copied", "run `discreet ledger verify`")
        return target.read_bytes()


@router.get("/statement")
async def show_statement(page_access: Owning) -> Response:
    """What the owner may publish. Nothing in it is private."""
    from discreet.answers.document import ALLOWED

    policy = page_access.access.dataset.curator.policy
    text = await page_access.dispatcher.light(lambda: statement_page(statement(policy)))
    return HTMLResponse(text, headers={"content-security-policy": f"{ALLOWED}; frame-ancestors 'none'"})


@router.get("/script.sh")
async def export_script(page_access: Owning) -> Response:
    """What was done, as a shell script."""
    policy = page_access.access.dataset.curator.policy
    text = await page_access.dispatcher.light(lambda: script(Steps.of(policy).from_the_start(policy)))
    return _attached(text, "text/x-shellscript; charset=utf-8", f"{page_access.name}.sh")


@router.get("/notebook.ipynb")
async def export_notebook(page_access: Owning) -> Response:
    """What was done, as a notebook."""
    policy = page_access.access.dataset.curator.policy
    text = await page_access.dispatcher.light(lambda: notebook(Steps.of(policy).from_the_start(policy), policy))
    return _attached(text, "application/x-ipynb+json", f"{page_access.name}.ipynb")


def _attached(text: str, media: str, name: str) -> Response:
    return Response(text, media_type=media, headers={"content-disposition": f'attachment; filename="{name}"'})
