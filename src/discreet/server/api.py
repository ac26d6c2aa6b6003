"""The routes under /api/v1."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, Final

from fastapi import APIRouter, Depends, Path, Query, Request
from starlette.responses import Response

from discreet.accounting.labels import usual
from discreet.accounting.record import Entry
from discreet.accounting.rounding import float_up
from discreet.answers import Answer, Preview, documents
from discreet.answers.models import TASKS, misplaced
from discreet.answers.saving import csv_of
from discreet.answers.wire import entry_written, facts_written, preview_written
from discreet.curator.curator import Curator
from discreet.curator.state import grant_of, verify_ledger
from discreet.errors import QueryFailed, Refused
from discreet.server import requests, responses
from discreet.server.access import MAX_LENGTH, Access, Anybody, Asking, Callers, Watching, app_state, watcher
from discreet.server.datasets import Caller
from discreet.server.dispatch import Submission, document_of, estimators, known_line, loaded
from discreet.server.front import learned_by
from discreet.server.metrics import MEDIA
from discreet.server.problems import Cancelled, response_of
from discreet.server.queue import Job, State
from discreet.server.records import entry_of as entry_of
from discreet.server.records import own_story, readable, story_csv
from discreet.server.records import task_of as task_of
from discreet.server.responses import ANSWERS, BATCHES, MODELS, RELEASES, SCORES, Confidence, Headers, Sent
from discreet.server.responses import CSV as CSV
from discreet.server.responses import Number as Number
from discreet.server.responses import json_response as json_response
from discreet.server.responses import returns as returns
from discreet.server.seeking import Sought
from discreet.server.seeking import own_search as own_search

LONGEST_WAIT: Final = 60.0
"""Seconds for which a request waits for its answer at most."""
FEW: Final = 100
"""Rows of an answer that are written at once: more would hold up the event loop."""
PREFERENCE: Final = re.compile(r"respond-async(?:\s*[,;]\s*wait=(\d{1,4}))?")

Wait = Annotated[float, Query(ge=0, le=LONGEST_WAIT, description="Seconds to wait for the end.")]
JobName = Annotated[str, Path(max_length=64)]

router: Final = APIRouter(prefix="/api/v1")
questions: Final = APIRouter(prefix="/api/v1")

# asking


@questions.post("/datasets/{dataset}/preview", responses=returns(documents.Preview), tags=["asking"])
async def preview(request: Request, access: Asking, question: requests.Question) -> Response:
    """What a question would cost and how exact its answer would be. Free: no data is read."""
    return await _previewed(request, access, question)


@questions.post("/datasets/{dataset}/query", responses=ANSWERS, tags=["asking"])
async def query(request: Request, access: Asking, question: requests.Query, headers: Sent) -> Response:
    """The answer to a question: charged before data is touched, or free if it is cached."""
    return await _performed(request, access, question, headers)


@router.post("/datasets/{dataset}/batch/preview", responses=returns(documents.Preview), tags=["asking"])
async def preview_batch(request: Request, access: Asking, batching: requests.Batching) -> Response:
    """What several queries would cost together, and their expected error. Free: no data is read."""
    return await _previewed(request, access, batching)


@router.post("/datasets/{dataset}/batch", responses=BATCHES, tags=["asking"])
async def batch(request: Request, access: Asking, batching: requests.Batch, headers: Sent) -> Response:
    """The answers to several queries, in one charge: counting queries over the same rows are measured together."""
    return await _performed(request, access, batching, headers)


@router.post("/datasets/{dataset}/fit/preview", responses=returns(documents.Preview), tags=["asking"])
async def preview_fit(request: Request, access: Asking, fitting: requests.Fitting) -> Response:
    """What a fit would cost. Free: no data is read."""
    return await _previewed(request, access, fitting)


@router.post("/datasets/{dataset}/score/preview", responses=returns(documents.Preview), tags=["asking"])
async def preview_score(request: Request, access: Asking, scoring: requests.Scoring) -> Response:
    """What scores of a model would cost. Free: no data is read."""
    return await _previewed(request, access, scoring)


@router.post("/datasets/{dataset}/release/preview", responses=returns(documents.Preview), tags=["asking"])
async def preview_release(request: Request, access: Asking, releasing: requests.Releasing) -> Response:
    """What a release would cost, and its expected error. Free: no data is read."""
    return await _previewed(request, access, releasing)


async def _previewed(request: Request, access: Access, sent: requests.Body) -> Response:
    dispatcher = app_state(request).dispatcher
    if isinstance(sent, requests.Fitting | requests.Scoring):
        await loaded()

    def work() -> Preview:
        submission = Submission.of(access.dataset, access.caller, sent)
        return submission.curator.preview_of(submission.task)

    return json_response(preview_written(await dispatcher.light(work)))


@router.post("/datasets/{dataset}/fit", responses=MODELS, tags=["asking"])
async def fit(request: Request, access: Asking, fitting: requests.Fit, headers: Sent) -> Response:
    """A model of private rows: charged before data is touched, or free if it is cached."""
    return await _performed(request, access, fitting, headers)


@router.post("/datasets/{dataset}/score", responses=SCORES, tags=["asking"])
async def score(request: Request, access: Asking, scoring: requests.Score, headers: Sent) -> Response:
    """How good a model is on private rows: charged before data is touched, or free if it is cached."""
    return await _performed(request, access, scoring, headers)


@router.post("/datasets/{dataset}/release", responses=RELEASES, tags=["asking"])
async def release(request: Request, access: Asking, releasing: requests.Release, headers: Sent) -> Response:
    """A summary of private rows, published once: charged before data is touched, or free if it is cached."""
    return await _performed(request, access, releasing, headers)


async def _performed(request: Request, access: Access, sent: requests.Body, headers: Headers) -> Response:
    """What was asked for, or how far it is if the caller does not want to wait."""
    dispatcher, key = app_state(request).dispatcher, headers.idempotency_key
    if isinstance(sent, requests.Fitting | requests.Scoring):
        await loaded()
    line = known_line(access.dataset, access.caller, sent) if key is headers.prefer is None else None
    make = partial(Submission.of, access.dataset, access.caller, sent, key)
    is_fetched = key is not None or headers.prefer is not None
    outcome = await dispatcher.begin(make, line, responses.written, is_fetched=is_fetched)
    if not isinstance(outcome, Job):
        return responses.written_response(outcome)
    wanted = PREFERENCE.match(headers.prefer or "")
    if wanted:
        await dispatcher.wait(outcome, min(float(wanted[1] or 0), LONGEST_WAIT))
        return await _standing(request, access, outcome)
    while not await dispatcher.wait(outcome, 1.0):
        if key is None and await request.is_disconnected():  # with a key, it will be asked for again
            dispatcher.leave(outcome)
            return json_response(None)  # nobody reads it
    return await _ended(request, access, outcome)


@router.get("/datasets/{dataset}/jobs/{job}", responses=ANSWERS, tags=["asking"])
async def job_state(request: Request, access: Asking, job: JobName, wait: Wait = 0) -> Response:
    """How far a question is: its place in the queue, or its answer."""
    queued = _job(request, access, job)
    await app_state(request).dispatcher.wait(queued, wait)
    return await _standing(request, access, queued)


@router.delete("/datasets/{dataset}/jobs/{job}", status_code=204, tags=["asking"])
async def cancel(request: Request, access: Asking, job: JobName) -> Response:
    """Cancel a question. While it waits nothing is charged; once it runs, what it cost stays spent."""
    app_state(request).dispatcher.queue.cancel(_job(request, access, job))
    return Response(status_code=204)


def _job(request: Request, access: Access, name: str) -> Job:
    queued = app_state(request).dispatcher.queue.find(name, f"{access.dataset.name}/{access.caller.token}")
    if queued is None:
        raise Refused("unknown-job", "there is no such job of yours", "jobs are forgotten ten minutes after their end")
    return queued


async def _standing(request: Request, access: Access, job: Job) -> Response:
    if job.result.done():
        return await _ended(request, access, job)
    position = app_state(request).dispatcher.queue.position(job)
    state = State.RUNNING if position is None else State.QUEUED
    location = f"/api/v1/datasets/{access.dataset.name}/jobs/{job.id}"
    waiting = {"job": job.id, "state": str(state), "position": position, **progress_of(job)}
    return json_response(waiting, 202, location=location)


def progress_of(job: Job) -> dict[str, Any]:
    """How far a job is, as much as may be seen of it."""
    seen = job.progress.seen()
    if seen is None:
        return {}
    share = None if seen.share is None else round(seen.share, 3)
    return {"progress": {"words": seen.words, "share": share, "seconds": round(seen.seconds, 1)}}


async def _ended(request: Request, access: Access, job: Job) -> Response:
    learned_by(job.context)
    failure = job.result.exception()
    if failure is None:
        result = job.result.result()
        if isinstance(result, bytes):  # of what this request began: nobody has withdrawn it yet
            return responses.written_response(result)
        if not isinstance(result, Answer) or len(result.rows) > FEW:
            return responses.written_response(await app_state(request).dispatcher.light(readable, access, result))
        return responses.written_response(readable(access, result))
    is_cancelled = job.state is State.CANCELLED and isinstance(failure, QueryFailed)
    return response_of(Cancelled() if is_cancelled else failure)


# looking


@router.get("/health", responses=returns(documents.Health), tags=["looking"])
async def health(request: Request) -> Response:
    """That the server answers. No token is needed; how busy it is is told to those who have one."""
    report: dict[str, object] = {"status": "ok"}
    kind, _, token = request.headers.get("authorization", "").partition(" ")
    if kind.lower() == "bearer" and app_state(request).datasets.callers(token[:MAX_LENGTH]):
        queue = app_state(request).dispatcher.queue
        report |= {"waiting": queue.waiting, "running": queue.running}
    return json_response(report)


@router.get("/ready", responses=returns(documents.Ready), tags=["looking"])
async def ready(request: Request) -> Response:
    """Whether questions are taken in: not while the server stops, nor where a ledger cannot be read. No token is
    needed, and nothing else is told.
    """
    shared = app_state(request)
    is_ready = not shared.dispatcher.is_stopping and await shared.readiness.now()
    return json_response({"status": "ready" if is_ready else "unready"}, 200 if is_ready else 503)


@router.get("/datasets", responses=returns(documents.Datasets), tags=["looking"])
async def datasets(request: Request, known: Callers) -> Response:
    """The datasets that this token opens."""
    shown = []
    for name, caller in known.items():
        policy = app_state(request).datasets[name].curator.policy
        delta = policy.budget.delta
        guarantee = {
            "epsilon": float_up(policy.budget.epsilon),
            "delta": None if delta is None else float_up(delta),
        }
        curator = app_state(request).datasets[name].curator
        analysts = curator.analysts if caller.role.sees_everybody else filter(None, [caller.analyst])
        who = {"role": str(caller.role), "analyst": caller.analyst, "analysts": list(analysts)}
        shown.append(
            {"name": name, "unit": policy.unit, **who, "guarantee": guarantee, "usual": _usual(curator, caller)}
        )
    return json_response({"datasets": shown})


def _usual(curator: Curator, caller: Caller) -> float:
    """An ε to begin with: of an analyst no more than a tenth of the share."""
    share = curator.policy.analysts.get(caller.analyst or "")
    if share is None:
        return curator.usual_cost
    return min(curator.usual_cost, usual(grant_of(curator.policy).share_epsilon(share), curator.policy.budget.delta))


@router.get("/datasets/{dataset}/tables", responses=returns(documents.Tables), tags=["looking"])
async def tables(access: Anybody) -> Response:
    """What may be asked about: tables, columns, types, bounds, keys and limits."""
    by_name = access.dataset.curator.tables()
    return json_response({"tables": {name: facts_written(facts) for name, facts in by_name.items()}})


@router.get("/datasets/{dataset}/schema", responses=returns(documents.Schema), tags=["looking"])
async def public_schema(request: Request, access: Anybody, table: Annotated[str, Query(max_length=1000)]) -> Response:
    """The columns of a public table, with the engine's types."""
    return json_response(
        {"columns": await app_state(request).dispatcher.light(access.dataset.curator.public_schema, table)}
    )


@router.get("/datasets/{dataset}/budget", responses=returns(documents.Balance), tags=["looking"])
async def budget(
    request: Request, access: Anybody, analyst: Annotated[str | None, Query(min_length=1, max_length=200)] = None
) -> Response:
    """What was granted, is spent and remains: of everybody, or of one analyst. Analysts see their own share only."""
    if analyst is not None and not access.caller.role.sees_everybody and analyst != access.caller.analyst:
        raise Refused("forbidden", "this is the share of another analyst", "leave analyst out, or name your own")
    return json_response(await app_state(request).dispatcher.light(access.dataset.curator.budget, analyst))


# a number alone matches anything: the other two forms come before it
@router.get(
    "/datasets/{dataset}/answers/{number}.csv",
    responses={200: {"content": {"text/csv": {"schema": {"type": "string"}}}}},
    response_class=Response,
    tags=["looking"],
)
async def answer_csv(request: Request, access: Anybody, number: Number) -> Response:
    """An answer as a table for spreadsheets; each noisy column is followed by the ends of its interval."""
    text = await app_state(request).dispatcher.light(lambda: csv_of(recalled(access, number)))
    return Response(text, media_type=CSV)


@router.get("/datasets/{dataset}/answers/{number}", responses=returns(documents.Answer), tags=["looking"])
@router.get("/datasets/{dataset}/answers/{number}.json", responses=returns(documents.Answer), tags=["looking"])
async def answer(request: Request, access: Anybody, number: Number, confidence: Confidence = None) -> Response:
    """An answer that was given before, by the number of its charge. Analysts see their own."""
    return await _beside(request, recalled, access, number, confidence)


async def _beside(request: Request, work: Callable[..., Any], *given: Any) -> Response:
    """What is looked up, and written where it is: what is large would hold up the event loop."""
    return responses.written_response(
        await app_state(request).dispatcher.light(lambda: responses.written(work(*given)))
    )


def recalled(access: Access, number: int, confidence: float | None = None) -> Answer:
    task = task_of(entry_of(access, number))
    if task:
        raise misplaced(task, number, TASKS[task].code if task in TASKS else "unknown-answer")
    analyst = access.caller.analyst
    answer: Answer = access.dataset.curator.recall(number, analyst=analyst, confidence=confidence)
    return answer


@router.get("/datasets/{dataset}/models/{number}", responses=returns(documents.Model), tags=["looking"])
async def model(request: Request, access: Anybody, number: Number) -> Response:
    """A model that was fitted before, by the number of its charge. Analysts see their own."""
    await loaded()
    return await _beside(request, recalled_work, access, number, "fit")


@router.get("/datasets/{dataset}/scores/{number}", responses=returns(documents.Scores), tags=["looking"])
async def scores_again(request: Request, access: Anybody, number: Number) -> Response:
    """Scores that were computed before, by the number of their charge. Analysts see their own."""
    await loaded()
    return await _beside(request, recalled_work, access, number, "score")


@router.get("/datasets/{dataset}/releases", responses=returns(documents.Entries), tags=["looking"])
async def releases(request: Request, access: Anybody) -> Response:
    """The charges of releases, oldest first. Owners and auditors see all of them, analysts their own."""
    return await _beside(request, lambda: _listed(own_releases(access)))


@router.get("/datasets/{dataset}/releases/{number}", responses=returns(documents.Release), tags=["looking"])
async def release_again(request: Request, access: Anybody, number: Number) -> Response:
    """What was published before, by the number of its charge. Analysts see their own."""
    return await _beside(request, recalled_work, access, number, "release")


@router.get("/datasets/{dataset}/batches/{number}", responses=returns(documents.Batch), tags=["looking"])
async def batch_again(request: Request, access: Anybody, number: Number, confidence: Confidence = None) -> Response:
    """The answers of a batch that were given before, by the number of its charge. Analysts see their own."""
    return await _beside(request, recalled_work, access, number, "batch", confidence)


def recalled_work(access: Access, number: int, task: str, confidence: float | None = None) -> Any:
    """The document of what a task of this kind let out."""
    other = task_of(entry_of(access, number))
    if other != task:
        raise misplaced(other, number, "unknown-answer")
    if task in ("fit", "score"):
        estimators()
    more: dict[str, Any] = {"analyst": access.caller.analyst, "confidence": confidence} if task == "batch" else {}
    return document_of(access.dataset.curator.recall(number, **more))


def own_releases(access: Access) -> list[Entry]:
    """The charges of releases that a caller may see."""
    search = replace(own_search(access), text=".release:")
    return [entry for entry in access.dataset.curator.entries(search) if task_of(entry) == "release"]


# the ledger


@router.get("/datasets/{dataset}/ledger", responses=returns(documents.Entries), tags=["the ledger"])
async def ledger(
    request: Request,
    access: Anybody,
    sought: Sought,
    limit: Annotated[int, Query(ge=1, le=10_000)] = 10_000,
    offset: Annotated[int, Query(ge=0, lt=2**63, description="With newest: how many are left out.")] = 0,
    newest: Annotated[bool, Query(description="Newest first.")] = False,
) -> Response:
    """The charges, oldest first unless told otherwise. Owners and auditors see all of them, analysts their own."""
    curator, search = access.dataset.curator, sought.of(access)
    page = partial(curator.latest, offset=offset) if newest else curator.entries
    return await _beside(request, lambda: _listed(page(search, limit=limit)))


def _listed(entries: list[Entry]) -> dict[str, Any]:
    return {"entries": [entry_written(entry) for entry in entries]}


@router.get("/datasets/{dataset}/ledger/count", responses=returns(documents.Count), tags=["the ledger"])
async def ledger_count(request: Request, access: Anybody, sought: Sought) -> Response:
    """How many charges there are. Owners and auditors count all of them, analysts their own."""
    search = sought.of(access)
    return json_response({"count": await app_state(request).dispatcher.light(access.dataset.curator.count, search)})


@router.get("/datasets/{dataset}/events", responses=returns(documents.Events), tags=["the ledger"])
async def events(request: Request, access: Anybody) -> Response:
    """What happened beside charges, oldest first: budgets, windows, refreshes, policies, tokens.

    Owners and auditors see all of it, analysts what is about everybody or about them.
    """
    return await _beside(request, lambda: {"events": [line.document() for line in own_story(access)]})


@router.get(
    "/datasets/{dataset}/ledger.csv",
    responses={200: {"content": {"text/csv": {"schema": {"type": "string"}}}}},
    response_class=Response,
    tags=["the ledger"],
)
async def ledger_csv(request: Request, access: Anybody) -> Response:
    """Charges and events as a table for spreadsheets."""
    return Response(await app_state(request).dispatcher.light(story_csv, access), media_type=CSV)


@router.get("/datasets/{dataset}/ledger/verify", responses=returns(documents.Verified), tags=["the ledger"])
async def ledger_verify(
    request: Request,
    access: Watching,
    receipt: Annotated[list[Annotated[str, Query(max_length=200)]] | None, Query(max_length=100)] = None,
) -> Response:
    """Recompute the whole ledger. Receipts tell whether it was rolled back."""
    report = await app_state(request).dispatcher.light(verify_ledger, access.dataset.curator.policy, receipt or ())
    return json_response(
        {
            "sound": report.sound,
            "records": report.records,
            "charges": report.charges,
            "head": report.head,
            "problems": list(report.problems),
        }
    )


metrics_router: Final = APIRouter()


@metrics_router.get("/metrics", response_class=Response, include_in_schema=False, dependencies=[Depends(watcher)])
async def metrics(request: Request) -> Response:
    """Counters for Prometheus."""
    text = await app_state(request).dispatcher.light(app_state(request).metrics.text)
    return Response(text, media_type=MEDIA)
