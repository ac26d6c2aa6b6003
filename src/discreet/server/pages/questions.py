"""Asking: the editor, the live preview, the fix that a click takes, and what waits for its turn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Self

from fastapi import APIRouter
from pydantic import ValidationError
from starlette.responses import RedirectResponse, Response

from discreet.answers import Answer, Preview
from discreet.answers.autofix import fixed
from discreet.answers.facts import Facts, column_words, limits_words
from discreet.answers.layout import answer_parts, preview_parts
from discreet.curator.saved import SavedQuery
from discreet.errors import Problem, QueryFailed, Refused
from discreet.exit.cost import usual_cost
from discreet.noise import SYSTEM
from discreet.server import requests
from discreet.server.api import entry_of, progress_of
from discreet.server.dispatch import Submission
from discreet.server.front import learned_by
from discreet.server.pages.editor import Followed, examples, vocabulary
from discreet.server.pages.home import Gauge
from discreet.server.pages.page_auth import Asking, PageAccess
from discreet.server.pages.releases import arrived_at, charts_of
from discreet.server.problems import Cancelled, document_of
from discreet.server.queue import Job, State

router: Final = APIRouter(prefix="/data/{dataset}", include_in_schema=False)
SOON: Final = 2.0
"""Seconds that a page waits for an answer before it says that it waits."""
ANSWERABLE: Final = (Refused, QueryFailed)


@dataclass(frozen=True, slots=True)
class Written:
    """What stands in the form."""

    sql: str = ""
    by: str = "epsilon"
    epsilon: str = ""
    error: str = ""
    key: str = ""
    blocks: str = ""
    """Of a stream."""
    group_size: str = ""
    """Of averages, with an error."""
    confirm: str = ""
    """"yes" once somebody was shown how much of the rest it would use."""

    @classmethod
    def of(cls, form: Mapping[str, str]) -> Self:
        names = ("sql", "by", "epsilon", "error", "key", "blocks", "group_size", "confirm")
        written = cls(**{name: form[name].strip() for name in names if name in form})
        changed = [name for name in ("epsilon", "error") if form.get(f"{name}_was", form.get(name)) != form.get(name)]
        return replace(written, by=changed[0]) if len(changed) == 1 else written  # who typed there, meant it

    def following(self, followed: Followed) -> Written:
        """With what the other one of cost and error comes to."""
        if self.by == "error":
            return replace(self, epsilon=followed.epsilon or self.epsilon)
        return replace(self, error=followed.error)

    def question(self, *, dummy: bool = False) -> requests.Query:
        """The question as the interface has it."""
        wanted = {"error": self._errors(), "group_size": self._group_size()}
        cost: dict[str, Any] = wanted if self.by == "error" else {"epsilon": self._epsilon()}
        try:
            agreed = self.confirm == "yes"
            return requests.Query(sql=self.sql, dummy=dummy, blocks=self.blocks or None, confirm=agreed, **cost)
        except ValidationError as wrong:
            raise Refused("body-invalid", wrong.errors()[0]["msg"], "ask a shorter question") from None

    def _epsilon(self) -> float | None:
        return _number(self.epsilon, "the cost ε") if self.epsilon else None

    def _group_size(self) -> int | None:
        if not self.group_size:
            return None
        size = _number(self.group_size, "the group size")
        if not 1 <= size < 2**53 or size != int(size):
            raise Refused("cost-invalid", "the group size is no number of rows", "write a number such as 1000")
        return int(size)

    def _errors(self) -> float | dict[str, float] | None:
        """`10`, or `n=10, cost=500`."""
        if not self.error:
            return None
        if "=" not in self.error:
            return _number(self.error, "the wanted error")
        pairs = (part.rpartition("=") for part in self.error.split(","))
        return {name.strip(): _number(text.strip(), "the wanted error") for name, _, text in pairs}


def _number(text: str, what: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise Refused("cost-invalid", f"{what} is no number", "write a number such as 0.5") from None


@dataclass(frozen=True, slots=True)
class PreviewBox:
    """What the box below the editor shows: a preview, or why not and the edit that would do."""

    preview: Preview | None = None
    problem: Mapping[str, Any] | None = None
    edit: Written | None = None

    @property
    def followed(self) -> Followed:
        return Followed.of(self.preview)

    @property
    def parts(self) -> Any:
        return None if self.preview is None else preview_parts(self.preview)


def _preview_box(page_access: PageAccess, written: Written) -> PreviewBox:
    if not written.sql:
        return PreviewBox()
    try:
        return PreviewBox(_previewed(page_access, written))
    except ANSWERABLE as refused:
        return PreviewBox(problem=document_of(refused), edit=_edit(page_access, written, refused))


def _previewed(page_access: PageAccess, written: Written) -> Preview:
    submission = Submission.of(page_access.access.dataset, page_access.access.caller, written.question())
    return submission.curator.preview_of(submission.task)


def _edit(page_access: PageAccess, written: Written, refused: Problem) -> Written | None:
    """The form with the refusal's edit in it, if that would be answered."""
    edit = refused.edit
    if edit is not None and (epsilon := edit.arguments.get("epsilon")) is not None:
        return replace(written, by="epsilon", epsilon=f"{epsilon:g}")
    if edit is not None and edit.arguments.get("confirm"):
        return replace(written, confirm="yes")
    if edit is not None and (size := edit.arguments.get("group_size")) is not None:
        return replace(written, group_size=f"{size}")
    if edit is not None and (blocks := edit.arguments.get("blocks")) is not None:
        return replace(written, blocks=str(blocks))
    proposal = fixed(written.sql, edit, lambda sql: _previewed(page_access, replace(written, sql=sql)))
    return None if proposal is None else replace(written, sql=proposal)


@dataclass(frozen=True, slots=True)
class Listed:
    """A table beside the editor."""

    name: str
    limits: str
    columns: list[tuple[str, str, str]]

    @classmethod
    def of(cls, facts: Facts) -> Self:
        columns = [(column.name, str(column.kind), column_words(column, facts)) for column in facts.columns.values()]
        return cls(facts.name, limits_words(facts), columns)


def usual(page_access: PageAccess) -> str:
    """The cost that stands in the form before anybody changed it: at most a tenth of what is left."""
    curator, caller = page_access.access.dataset.curator, page_access.access.caller
    return f"{usual_cost(curator.policy, curator.budget(caller.analyst).next):g}"


@router.get("")
async def editor(
    page_access: Asking, sql: str = "", epsilon: str | None = None, error: str = "", by: str = "epsilon"
) -> Response:
    cost = await page_access.dispatcher.light(usual, page_access) if epsilon is None else epsilon.strip()
    written = Written(sql.strip(), by, cost, error.strip())
    return await show_editor(page_access, written)


@router.get("/ask")
@router.get("/preview")
@router.get("/try")
async def editor_again(page_access: Asking) -> Response:
    """For those who open the address of what they sent."""
    return RedirectResponse(page_access.path, 303)


@router.post("/preview")
async def preview(page_access: Asking) -> Response:
    """The preview: as a part of the page for its script, as the whole page for everybody else."""
    form = await page_access.visitor.form()
    written = Written.of(form)
    if not form.get("fragment"):
        return await show_editor(page_access, written)
    box = await page_access.dispatcher.light(_preview_box, page_access, written)
    return page_access.show("preview.html", here="", written=written, box=box)


@router.post("/try")
async def try_(page_access: Asking) -> Response:
    """The answer from dummy data: free."""
    written = Written.of(await page_access.visitor.form())
    try:
        answer = await page_access.dispatcher.light(_tried, page_access, written)
    except ANSWERABLE as refused:
        return await show_refusal(page_access, written, refused)
    return await show_editor(page_access, written, tried=answer)


def _tried(page_access: PageAccess, written: Written) -> Answer:
    submission = Submission.of(page_access.access.dataset, page_access.access.caller, written.question(dummy=True))
    answer: Answer = submission.perform()
    return answer


@router.post("/ask")
async def ask(page_access: Asking) -> Response:
    """The answer, charged: a page of its own. A form that is sent twice is charged once."""
    written = Written.of(await page_access.visitor.form())
    dispatcher = page_access.dispatcher
    try:
        key = written.key[:100] or None
        outcome = await dispatcher.ask(
            Submission.of(page_access.access.dataset, page_access.access.caller, written.question(), key)
        )
    except ANSWERABLE as refused:
        return await show_refusal(page_access, written, refused)
    if isinstance(outcome, Answer):
        return await _arrived(page_access, written, outcome)
    if await dispatcher.wait(outcome, SOON) and isinstance(failure := outcome.result.exception(), ANSWERABLE):
        return await show_refusal(page_access, written, failure)
    return RedirectResponse(f"{page_access.path}/jobs/{outcome.id}", 303)


async def _arrived(page_access: PageAccess, written: Written, answer: Answer) -> Response:
    """To the answer's own page. One charged to others, or for another text that says the same, or that read nothing
    private, stands below its question: its columns have the names that were asked for now.
    """
    number = answer.receipt.partition(":")[0]
    has_page = bool(number) and await page_access.dispatcher.light(_has_page, page_access, int(number), answer.question)
    if has_page:
        return RedirectResponse(f"{page_access.path}/answers/{number}", 303)
    return await show_editor(page_access, written, tried=answer)


def _has_page(page_access: PageAccess, number: int, question: str) -> bool:
    """Whether a charge is the caller's own, and its page shows this question."""
    try:
        return entry_of(page_access.access, number).question.strip() == question.strip()
    except Refused:
        return False


@router.get("/jobs/{job}")
async def job_page(page_access: Asking, job: str) -> Response:
    queued = _job(page_access, job)
    if not queued.result.done():
        position = page_access.dispatcher.queue.position(queued)
        return page_access.show(
            "waiting.html", here="", job=queued.id, position=position, progress=progress_of(queued).get("progress")
        )
    learned_by(queued.context)
    failure = queued.result.exception()
    if failure is None:
        answer = queued.result.result()
        if not isinstance(answer, Answer):
            return RedirectResponse(arrived_at(page_access, answer), 303)
        cost = await page_access.dispatcher.light(usual, page_access)
        return await _arrived(page_access, Written(answer.question, epsilon=cost), answer)
    stopped = queued.state is State.CANCELLED and isinstance(failure, QueryFailed)
    problem = document_of(Cancelled() if stopped else failure)
    return page_access.show("problem.html", problem["status"], here="", problem=problem)


@router.post("/jobs/{job}/cancel")
async def cancel(page_access: Asking, job: str) -> Response:
    await page_access.visitor.form()
    queued = _job(page_access, job)
    page_access.dispatcher.queue.cancel(queued)
    await page_access.dispatcher.wait(queued, SOON)
    return RedirectResponse(f"{page_access.path}/jobs/{queued.id}", 303)


def _job(page_access: PageAccess, name: str) -> Job:
    queued = page_access.dispatcher.queue.find(name, f"{page_access.name}/{page_access.access.caller.token}")
    if queued is None:
        raise Refused("unknown-job", "there is no such question of yours", "see the ledger for what was answered")
    return queued


async def show_refusal(page_access: PageAccess, written: Written, refused: Problem) -> Response:
    edit = await page_access.dispatcher.light(_edit, page_access, written, refused)
    problem = document_of(refused)
    return await show_editor(page_access, written, PreviewBox(problem=problem, edit=edit), status=problem["status"])


async def show_editor(
    page_access: PageAccess,
    written: Written,
    box: PreviewBox | None = None,
    tried: Answer | None = None,
    status: int = 200,
    opened: SavedQuery | None = None,
) -> Response:
    """The page on which queries are written; `opened` is the saved query that stands in it."""
    dispatcher, dataset = page_access.dispatcher, page_access.access.dataset
    tables = dataset.curator.tables()
    if box is None:
        box = await dispatcher.light(_preview_box, page_access, written)
    written = written.following(box.followed)
    return page_access.show(
        "ask.html",
        status,
        here="",
        written=replace(written, key=SYSTEM.bytes(16).hex()),
        box=box,
        tried=None if tried is None else answer_parts(tried),
        is_dummy=tried is not None and tried.dummy,
        tables=[Listed.of(facts) for facts in tables.values()],
        streams=any(facts.stream for facts in tables.values()),
        examples=examples(tables),
        vocabulary=vocabulary(tables),
        opened=opened,
        saved=await dispatcher.light(dataset.saved.all, page_access.access.caller.analyst),
        texts_end=dataset.curator.policy.retention.questions,
        facets=await dispatcher.light(charts_of, dataset.curator),
        gauge=await dispatcher.light(Gauge.of, dataset.curator, page_access.access.caller),
    )
