"""The desk's first steps: files, whom to protect, columns, budget, analysts. Each is a form, and changes one draft."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from fastapi import APIRouter
from starlette.responses import RedirectResponse, Response

from discreet.errors import Refused
from discreet.owner.draft import Described
from discreet.owner.expected import COST, GROUP, Expected, Meaning, expected, meaning
from discreet.owner.names import named_thing
from discreet.policy import Finding, PolicyError
from discreet.policy.problems import key_path
from discreet.server.desk.columns import (
    BOUNDED,
    KINDS,
    LISTED,
    Field,
    declarations,
    fields_of,
    sent,
    with_findings,
)
from discreet.server.desk.drafts import Draft, decided_with
from discreet.server.desk.files import Chosen, is_database, offered, policies, shown_together
from discreet.server.desk.growing import BLOCKS, PROTECTED, tried, usual_epsilon, with_ends
from discreet.server.desk.seat import Seat, Seated, found_at
from discreet.server.desk.units import APART, COLUMN, DECIMALS, cut_anew, forms_of, read_units, sent_forms
from discreet.server.problems import document_of

router: Final = APIRouter(prefix="/desk", include_in_schema=False)
NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,59}")
_COLUMNS: Final = re.compile(r"tables\..*\.columns\.|budget|analysts|state")
LONGEST_UNIT: Final = 60
DELTA: Final = "1e-6"
CHOICES: Final = {"aparts": APART, "decimals": DECIMALS, "blocks": BLOCKS, "protected": PROTECTED}
"""Lists of the form of tables."""


@router.get("")
async def overview(seat: Seated) -> Response:
    written = await seat.light(policies, seat.desk.folder)
    by_path = {each.curator.policy.path: name for name, each in seat.visitor.app_state.datasets.items()}
    open_names = {path.name: name for path, name in by_path.items() if path.parent == seat.desk.folder}
    return seat.show("desk.html", written=written, open_names=open_names, drafts=seat.desk.drafts.all())


# files


@router.get("/new")
async def new(seat: Seated) -> Response:
    return await _files(seat, None)


@router.get("/{draft}/files")
async def files(seat: Seated, draft: str) -> Response:
    return await _files(seat, seat.desk.drafts.get(draft))


async def _files(seat: Seat, draft: Draft | None, status: int = 200, **more: Any) -> Response:
    listed = await seat.light(offered, seat.desk.folder)
    chosen = set(draft.sources) if draft else set()
    database = next(filter(is_database, draft.sources), "") if draft else ""
    known = {"name": draft.name if draft else "", "chosen": chosen, "database": database, **more}
    return seat.step("desk-files.html", draft, "files", status, listed=shown_together(listed), **known)


@router.post("/new")
async def begin(seat: Seated) -> Response:
    chosen = Chosen.of(await seat.form())
    refusal = await _refusal(seat, chosen)
    if refusal:
        return await _files(seat, None, 422, problem=refusal, **chosen.again)
    draft = seat.desk.drafts.begin(chosen.name, chosen.sources)
    return RedirectResponse(f"/desk/{draft.id}/units", 303)


@router.post("/{draft}/files")
async def change_files(seat: Seated, draft: str) -> Response:
    form, known = await seat.form(), seat.desk.drafts.get(draft)
    chosen = Chosen.of(form)
    refusal = await _refusal(seat, chosen)
    if refusal:
        return await _files(seat, known, 422, problem=refusal, **chosen.again)
    dropped = chosen.sources != known.sources  # tables may be called otherwise now
    decided = {key: given for key, given in known.decisions.items() if key != "tables" or not dropped}
    seat.desk.drafts.change(seat.seen(known, form), name=chosen.name, sources=chosen.sources, decisions=decided)
    return RedirectResponse(f"/desk/{draft}/units", 303)


async def _refusal(seat: Seat, chosen: Chosen) -> dict[str, Any] | None:
    """Why a draft of these sources cannot begin, if so."""
    try:
        if not NAME.fullmatch(chosen.name):
            raise Refused(
                "body-invalid",
                "a name has 1 to 60 letters, digits, _ . or -, and begins with a letter or a digit",
                "write one such as clinic",
            )
        await seat.light(chosen.demand, seat.desk.folder)
        await seat.light(lambda: Draft("", seat.desk.folder, chosen.name, chosen.sources).tables())
    except Refused as refused:
        return document_of(refused)
    return None


# whom to protect


@router.get("/{draft}/units")
async def units(seat: Seated, draft: str) -> Response:
    return await _units(seat, seat.desk.drafts.get(draft))


async def _units(
    seat: Seat, draft: Draft, status: int = 200, again: Mapping[str, str] | None = None, **more: Any
) -> Response:
    """The form of tables; `again` as somebody filled it in."""
    tables = await seat.light(draft.tables)
    forms = forms_of(tables, draft.decisions.get("tables", {}))
    if again is not None:
        forms, more["unit"] = sent_forms(forms, again), again.get("unit", "")
    first = next((form.chosen for form in forms if form.chosen.startswith(COLUMN)), "")
    unit = draft.decisions.get("unit", {}).get("name", named_thing(first.removeprefix(COLUMN)) if first else "person")
    work = seat.looked(draft)
    about = found_at(work, lambda where: not _COLUMNS.match(where))
    known = {"work": work, "about": about, "unit": unit, "anew": (), "wrong": {}, **CHOICES, **more}
    return seat.step("desk-units.html", draft, "units", status, tables=forms, **known)


@router.post("/{draft}/units")
async def decide_units(seat: Seated, draft: str) -> Response:
    form, known = await seat.form(), seat.desk.drafts.get(draft)
    seat.seen(known, form)
    unit = form.get("unit", "").strip()[:LONGEST_UNIT]
    tables = await seat.light(known.tables)
    if form.get("tables") != str(len(tables)):
        raise _changed_files()
    try:
        if not unit or not unit.isprintable():
            raise Refused("body-invalid", "whom or what you protect needs a name", "write one such as patient")
        anew = cut_anew(form, tables, known.decisions.get("tables", {}))
        if anew:
            cut = {**known.decisions, "tables": {**known.decisions.get("tables", {}), **anew}}
            return await _units(seat, seat.desk.drafts.change(known, decisions=cut), anew=sorted(anew))
        decided, wrong = read_units(form, tables, known.decisions.get("tables", {}))
        if wrong:
            return await _units(seat, known, 422, form, wrong={n: document_of(each) for n, each in wrong.items()})
        if all(each is False for each in decided.values()):
            raise Refused("body-invalid", "all tables are left out", "keep at least one")
        changes = {**known.decisions, "unit": {"name": unit}, "tables": decided}
        await seat.light(known.provisional, tried(changes))
    except Refused as refused:
        return await _units(seat, known, 422, form, problem=document_of(refused))
    changed = seat.desk.drafts.change(known, decisions=changes)
    if "look" in form:
        return seat.look(changed, "units")
    if "stay" in form:
        return RedirectResponse(f"/desk/{draft}/units", 303)
    return RedirectResponse(_after(changed, tables, -1), 303)


def _after(draft: Draft, tables: list[Described], number: int) -> str:
    """The step behind the columns of a table: those of the next one that is not left out, or the budget."""
    for index, table in enumerate(tables):
        if index > number and draft.decided(table.name) is not False:
            return f"/desk/{draft.id}/columns/{index}"
    return f"/desk/{draft.id}/budget"


def _changed_files() -> Refused:
    return Refused("draft-changed", "the files have other tables or columns now", "open the step again, and look at it")


# columns


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of a table as their form shows them, and what answers about them would be worth."""

    number: int
    table: str
    unit: str | None
    fields: list[Field]
    expected: list[Expected]
    made: dict[str, Any]
    others: list[tuple[int, str]]
    """The tables that are not left out, by number."""
    implicit: bool = False
    """Whether bounds that nobody states are found by each query."""
    is_public: bool = False

    @property
    def is_good(self) -> bool:
        return not any(field.problems for field in self.fields)


@router.get("/{draft}/columns")
async def first_columns(seat: Seated, draft: str) -> Response:
    known = seat.desk.drafts.get(draft)
    return RedirectResponse(_after(known, await seat.light(known.tables), -1), 303)


@router.get("/{draft}/columns/{number}")
async def columns(seat: Seated, draft: str, number: int) -> Response:
    known = seat.desk.drafts.get(draft)
    return _columns(seat, known, await seat.light(_columns_of, known, number, None, COST))


def _columns(seat: Seat, draft: Draft, page: Columns, cost: str = f"{COST:g}", status: int = 200) -> Response:
    here = key_path("tables", page.table, "columns") + "."
    work = seat.looked(draft)
    about = found_at(work, lambda where: where.startswith(here))
    known = {"kinds": KINDS, "bounded": BOUNDED, "listed": LISTED, "group": GROUP, "cost": cost, "about": about}
    known["fragment"] = False
    return seat.step("desk-columns.html", draft, "columns", status, page=page, work=work, **known)


@router.post("/{draft}/columns/{number}")
async def decide_columns(seat: Seated, draft: str, number: int) -> Response:
    """Errors to expect, while choosing; or what was chosen, and the next step."""
    form, known = await seat.form(), seat.desk.drafts.get(draft)
    page = await seat.light(_columns_of, known, number, form, _cost(form.get("cost", "")))
    if "fragment" in form:
        return seat.show("desk-expected.html", page=page, group=GROUP, cost=form.get("cost", ""), fragment=True)
    if "show" in form or not page.is_good:
        return _columns(seat, known, page, form.get("cost", ""), 200 if page.is_good else 422)
    decided = decided_with(known, page.table, {**_decided(known, page.table), "columns": page.made})
    changed = seat.desk.drafts.change(seat.seen(known, form), decisions=_implicit(decided, allowed=page.implicit))
    if "look" in form:
        return seat.look(changed, f"columns/{number}")
    if "stay" in form:
        return RedirectResponse(f"/desk/{draft}/columns/{number}", 303)
    return RedirectResponse(_after(changed, await seat.light(changed.tables), number), 303)


def _columns_of(draft: Draft, number: int, form: Mapping[str, str] | None, cost: float) -> Columns:
    tables = draft.tables()
    tables_left = [(index, each.name) for index, each in enumerate(tables) if draft.decided(each.name) is not False]
    if number not in dict(tables_left):
        raise Refused("unknown-route", "there is no such table in the draft", "use the steps on top of the page")
    table = tables[number]
    decided = _decided(draft, table.name)
    unit = decided.get("unit")
    fields = fields_of(table, decided, unit)
    if form is not None:
        fields = _sent(fields, form)
    made, fields = declarations(with_ends(fields, decided.get("stream")))
    fields, worth = _judged(draft, table.name, fields, made, cost)
    implicit = bool(draft.decisions.get("implicit_bounds")) if form is None else "implicit" in form
    return Columns(number, table.name, unit, fields, worth, made, tables_left, implicit, bool(decided.get("public")))


def _implicit(decisions: Mapping[str, Any], *, allowed: bool) -> dict[str, Any]:
    """The decisions, with or without bounds that are found by each query."""
    rest = {key: given for key, given in decisions.items() if key != "implicit_bounds"}
    return {**rest, "implicit_bounds": True} if allowed else rest


def _sent(fields: list[Field], form: Mapping[str, str]) -> list[Field]:
    """What was sent about these columns, and about no others: the file may be another one by now."""
    columns = [form[key] for number in range(len(form)) if (key := f"column-{number}") in form]
    if columns != [field.column for field in fields]:
        raise _changed_files()
    return [sent(column, form, number) for number, column in enumerate(columns)]


def _judged(
    draft: Draft, table: str, fields: list[Field], made: dict[str, Any], cost: float
) -> tuple[list[Field], list[Expected]]:
    """The fields with what a policy would not take; and what answers would be worth, if it takes all of them."""
    decisions = decided_with(draft, table, {**_decided(draft, table), "columns": made})
    findings: dict[str, list[Finding]] = {}
    try:
        policy = draft.provisional(decisions)
    except PolicyError as wrong:
        for name in made:
            where = key_path("tables", table, "columns", name)
            here = [each for each in wrong.problems if each.where == where or each.where.startswith(f"{where}.")]
            findings |= {name: here} if here else {}
        if not findings:
            raise  # it is about something else
        good = {name: False if name in findings else given for name, given in made.items()}
        policy = draft.provisional(decided_with(draft, table, {**_decided(draft, table), "columns": good}))
    worth = [] if policy.tables[table].is_public else expected(policy, table, cost)
    return with_findings(fields, findings), worth


def _decided(draft: Draft, table: str) -> dict[str, Any]:
    decided = draft.decided(table)
    return dict(decided) if isinstance(decided, Mapping) else {}


def _cost(written: str) -> float:
    try:
        cost = float(written or COST)
    except ValueError:
        return COST
    return cost if 1e-6 <= cost <= 100 else COST


# budget


@router.get("/{draft}/budget")
async def budget(seat: Seated, draft: str) -> Response:
    known = seat.desk.drafts.get(draft)
    said = known.decisions.get("budget", {})
    epsilon, delta = (
        str(said.get("epsilon", f"{usual_epsilon(known.decisions):g}")),
        str(said.get("delta", "" if said else _usual_delta(known))),
    )
    return await _budget(seat, known, epsilon, delta)


async def _budget(seat: Seat, draft: Draft, epsilon: str, delta: str, *, fragment: bool = False) -> Response:
    means, problem = await seat.light(_meaning_of, draft, epsilon, delta)
    context: dict[str, Any] = {
        "private": bool(_usual_delta(draft)),
        "epsilon": epsilon,
        "delta": delta,
        "means": means,
        "wrong": problem,
        "unit": _unit_of(draft),
        "fragment": fragment,
    }
    if fragment:
        return seat.show("desk-meaning.html", **context)
    return seat.step("desk-budget.html", draft, "budget", 422 if problem else 200, **context)


@router.post("/{draft}/budget")
async def decide_budget(seat: Seated, draft: str) -> Response:
    form, known = await seat.form(), seat.desk.drafts.get(draft)
    epsilon, delta = form.get("epsilon", "").strip(), form.get("delta", "").strip()
    _, problem = await seat.light(_meaning_of, known, epsilon, delta)
    if problem or "fragment" in form or "show" in form:
        return await _budget(seat, known, epsilon, delta, fragment="fragment" in form)
    decided = {**known.decisions, "budget": _budget_of(epsilon, delta)}
    seat.desk.drafts.change(seat.seen(known, form), decisions=decided)
    return RedirectResponse(f"/desk/{draft}/analysts", 303)


def _budget_of(epsilon: str, delta: str) -> dict[str, float]:
    return {"epsilon": float(epsilon), **({"delta": float(delta)} if delta else {})}


def _meaning_of(draft: Draft, epsilon: str, delta: str) -> tuple[Meaning | None, str]:
    """What a budget means; or what is wrong with it."""
    try:
        said = _budget_of(epsilon, delta)
    except ValueError:
        return None, "ε and δ are numbers: write ε such as 1, and δ such as 1e-6 or nothing"
    shares = {key: given for key, given in draft.decisions.items() if key != "analysts"}
    try:
        return meaning(draft.provisional({**shares, "budget": said})), ""
    except PolicyError as wrong:
        return None, str(wrong.problems[0]).removeprefix("budget.epsilon: ").removeprefix("budget.delta: ")


def _usual_delta(draft: Draft) -> str:
    """A δ where there are private keys, which need one."""
    tables = [each for each in draft.decisions.get("tables", {}).values() if each and not each.get("public")]
    given = [column for table in tables for column in table.get("columns", {}).values() if column]
    return DELTA if any(each.get("type") == "text" and "values" not in each for each in given) else ""


def _unit_of(draft: Draft) -> str:
    return str(draft.decisions.get("unit", {}).get("name", "unit"))
