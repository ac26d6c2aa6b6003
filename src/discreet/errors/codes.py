"""Every code that a refusal or a failure has: its HTTP status, what it means, and the page of the guide about it.

Codes are stable: programs tell refusals apart by them. The server takes its statuses from here, the guide its list of
codes, and a test finds every refusal in the source here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

REFUSED: Final = 422
"""The status of a question that is not answered as it stands."""


@dataclass(frozen=True, slots=True)
class Code:
    """What a code means."""

    says: str
    page: str
    """In docs/guide, without its ending."""
    status: int = REFUSED


_BUDGETS, _SQL, _SERVER = "07-budgets-and-analysts", "08-what-is-refused", "12-server"
_OWNER, _MODELS, _PAGES, _PARTS = "02-writing-a-policy", "14-models", "13-pages", "07-budgets-and-analysts"
_EVALUATION = "27-scores"
_ERASING = "45-erasing"
_RELEASES = "18-releases"
_FEDERATED, _SURVEYS = "23-federated", "24-surveys"
_STREAMS, _BLOCKS = "30-models-on-streams", "29-streams"
_MEASURES, _LIMITS = "33-measures", "39-what-a-query-may-cost"
_STORY, _OPERATIONS, _DESK = "40-the-ledger-as-a-story", "44-signing-in-and-watching", "43-the-desk"
_LOSSES, _COSTS = "09-what-is-not-covered", "03-choosing-epsilon"

CODES: Final[dict[str, Code]] = {
    # the cost
    "accuracy-unreachable": Code("no cost within the limits reaches the wanted error", _COSTS),
    "budget-exhausted": Code("the cost is more than what is left of the budget, or of a share of it", _BUDGETS, 402),
    "confirm-cost": Code(
        "the cost of a wanted error is more than a tenth of what is left, and was not confirmed", _LIMITS
    ),
    "cost-invalid": Code("epsilon, rho, delta, error or confidence is not a number that makes sense here", _COSTS),
    "cost-missing": Code("the query does not say what it may cost", _COSTS),
    "cost-too-high": Code("the cost is above the policy's max_cost; its default is a tenth of the budget", _LIMITS),
    "cost-twice": Code("the text and the call say different things about the cost", _COSTS),
    "group-size-missing": Code("an error is wanted of an average, and not for which groups", _LIMITS),
    "losses-differ": Code("losses about different units or neighbouring relations have no sum", _LOSSES),
    "no-retention": Code("the policy says of nothing how long it is kept", _ERASING),
    "no-more-windows": Code("the policy's max_windows allows no further window of the budget", _STORY),
    "not-the-next-window": Code("another window of the budget is open than the command believes", _STORY),
    "reason-missing": Code("what is put on record with a reason has none, or one that is too long", _STORY),
    "private-keys-need-delta": Code("partition selection needs a budget with delta", "06-private-keys"),
    # the text
    "function-not-allowed": Code("a function, or a use of it, is not on the list of what is proven", _SQL),
    "join-off-unit": Code("private tables are joined on something else than their unit", "05-joins"),
    "not-an-aggregate": Code("rows, or the unit itself, would be released", _SQL),
    "outside-part": Code("a query about one part of a partition reads other private tables", _PARTS),
    "private-subquery": Code("a subquery would show private rows to the rest of the query", _SQL),
    "statement-not-allowed": Code("a statement or clause is not on the list of what is proven", _SQL),
    "syntax": Code("syntax error, or a value that cannot be read", _SQL),
    "too-complex": Code("planning or running it would take more than its limits", "language"),
    "too-many-groups": Code("the query has more groups than an answer may have", _SQL),
    "undeclared-bounds": Code("a value has no bounds, so its sensitivity is unbounded", _SQL),
    "unknown-column": Code("no declared column has this name", _SQL),
    "unknown-part": Code("the partition has no such part", _PARTS),
    "unknown-table": Code("the policy declares no such table", _SQL),
    "wrong-unit": Code("the privacy clause names another unit than the policy", _SQL),
    # streams
    "block-retired": Code("a block of a stream is retired, for good", _BLOCKS, 410),
    "blocks-apart": Code("a query about blocks of a stream reads another private table", _BLOCKS),
    "blocks-invalid": Code("blocks are named in a way that is not understood, or not proven", _BLOCKS),
    "blocks-missing": Code("a query about a stream does not say which of its blocks it reads", _BLOCKS),
    "demand-invalid": Code("what a pipeline asks of the blocks of a stream makes no sense", _STREAMS),
    "running-invalid": Code("running totals are of streams with blocks of time, one number for each block", _STREAMS),
    "stream-invalid": Code("a goal, a schedule or a key is not what attempts on a stream take", "31-validated-models"),
    "unknown-block": Code("the stream has no such block", _BLOCKS),
    "unknown-stream": Code("the ledger has no such stream", _BLOCKS),
    # who asks, and earlier answers
    "answer-gone": Code("the answer was computed under an earlier policy, or was never stored", _SERVER, 410),
    "forked": Code("a process that was forked off must not draw noise for its parent", _LOSSES),
    "key-invalid": Code("a key is not a text that could name a request", _SERVER),
    "key-reused": Code("the idempotency key was used for another request", _SERVER),
    "unknown-analyst": Code("the policy names no such analyst", _BUDGETS),
    "unknown-answer": Code("no charge that the caller may see has this number", _SERVER, 404),
    # models
    "charge-of-model": Code("a charge is recalled as an answer, and is of a fitted model", _MODELS, 409),
    "charge-of-score": Code("a charge is recalled as an answer, and is of scores of a model", _EVALUATION, 409),
    "score-invalid": Code("a model, a metric or a hold-out is not what a score takes", _EVALUATION),
    "fit-invalid": Code("an estimator, its parameters or its rows are not what a fit takes", _MODELS),
    "models-unavailable": Code("the server has no scikit-learn, and fits no models", _MODELS, 501),
    "ledger-lost": Code("the ledger that a model was charged to is not there any more", _MODELS),
    "not-a-number": Code("a feature or target is not a number", _MODELS),
    "not-private": Code("a model is fitted to public rows", _MODELS),
    "not-rows": Code("a model is fitted to something else than rows of features", _MODELS),
    "target-missing": Code("the estimator needs a target column", _MODELS),
    "target-unused": Code("the estimator takes no target column", _MODELS),
    "undeclared-categories": Code("the categories of a feature are not declared", _MODELS),
    "undeclared-classes": Code("the classes of the target are not declared", _MODELS),
    "undeclared-values": Code("the values of a key column are not declared", _MODELS),
    # releases
    "charge-of-batch": Code("a charge is recalled as an answer, and is of a batch of queries", _RELEASES, 409),
    "charge-of-release": Code("a charge is recalled as an answer, and is of a release", _RELEASES, 409),
    "release-invalid": Code("a publication's arguments, domain or rows are not what a release takes", _RELEASES),
    # federated training
    "double-unmasking": Code("a client is asked for what would unmask another one's update", _FEDERATED, 409),
    "too-few-clients": Code("too few clients take part in a round, or stay until its end", _FEDERATED, 409),
    "training-invalid": Code("a plan, a model or a journal is not what a federated training takes", _FEDERATED),
    "training-over": Code("the training is over, or has all of its clients", _FEDERATED, 409),
    "unknown-key": Code("a client's key is not the one that another client trusts", _FEDERATED, 409),
    "wrong-round": Code("a message belongs to another round or step, or came already", _FEDERATED, 409),
    # owners
    "not-a-raise": Code("a raise is more than what is on record, and a lower budget less", _OWNER),
    "draft-changed": Code("a policy that is being written was changed in another tab, or its files were", _DESK, 409),
    "file-unknown": Code("the folder of the desk offers no such file", _DESK, 404),
    "policy": Code("the policy does not allow it, or cannot be used", _OWNER),
    "policy-exists": Code("there is a file of that name, and a desk overwrites none", _DESK, 409),
    "rows-invalid": Code("dummy data are asked for in a number that makes no sense", _OWNER),
    "source-unreadable": Code("a source cannot be read; for the owner", _DESK),
    "unknown-draft": Code("the desk has no such draft", _DESK, 404),
    # measures of tables that were to be anonymous
    "anonymity-unreachable": Code("no generalisation of the table has the wanted k, l and t", _MEASURES),
    "table-invalid": Code("a table, or what is wanted of it, cannot be measured", _MEASURES),
    # server and client
    "address": Code("the address is none, or not safe to send a token to", _SERVER),
    "body-invalid": Code("the request does not have the form that the OpenAPI document describes", _SERVER),
    "sign-in-failed": Code("the identity provider did not say who somebody is, or not in time", _OPERATIONS, 401),
    "sign-in-setup": Code("the file about an identity provider cannot be used", _OPERATIONS),
    "sign-in-unavailable": Code("the identity provider does not answer, or not as it should", _OPERATIONS, 503),
    "telemetry-unavailable": Code("the server has no OpenTelemetry, and sends nothing", _OPERATIONS, 501),
    "busy": Code("too many queries wait already", _SERVER, 503),
    "cancelled": Code("the query was cancelled", _SERVER, 409),
    "cannot-listen": Code("the server cannot listen at this address", _SERVER),
    "cannot-log": Code("the server cannot write its log", _SERVER),
    "certificate": Code("the TLS certificate or its key cannot be read", _SERVER),
    "forbidden": Code("the role of the token does not allow it", _SERVER, 403),
    "forged-form": Code("a form was not sent from the server's own page (CSRF)", _PAGES),
    "free-limit": Code("what is free takes too long", _SERVER),
    "http": Code("the request is not understood as HTTP", _SERVER, 400),
    "method-not-allowed": Code("the address does not take this method", _SERVER, 405),
    "no-pictures": Code("the packages that draw charts are not installed on the server", _PAGES),
    "no-tokens": Code("nobody could ask: no dataset has a valid token", _SERVER),
    "not-json": Code("a query is sent as JSON", _SERVER, 415),
    "rate-limited": Code("more requests than one token may send", _SERVER, 429),
    "saved-invalid": Code("a query cannot be saved under this name, or with this text", _PAGES),
    "saved-limit": Code("an analyst has as many saved queries as there may be", _PAGES, 409),
    "too-large": Code("the request is too large", _SERVER, 413),
    "too-slow": Code("the request took too long to arrive", _SERVER, 408),
    "unauthorized": Code("the token is missing, unknown, expired or revoked", _SERVER, 401),
    "unknown-dataset": Code("the token opens no such dataset", _SERVER, 404),
    "unknown-host": Code("the request was meant for another host (DNS rebinding)", _SERVER, 400),
    "unknown-job": Code("the caller has no such job", _SERVER, 404),
    "unknown-route": Code("nothing is at this address", _SERVER, 404),
    "unknown-saved": Code("the caller has no such saved query", _PAGES, 404),
    # surveys
    "answer-invalid": Code("an answer is not one that the survey's question has", _SURVEYS),
    "invitation": Code("the survey needs an invitation, and this one is missing, unknown or used", _SURVEYS, 403),
    "report-invalid": Code("a report is missing, or none that its mechanism makes", _SURVEYS),
    "survey-changed": Code("the report is for another version of the survey, or for another one", _SURVEYS, 409),
    "survey-closed": Code("the survey's last day is over", _SURVEYS, 410),
    "survey-database": Code("the database of reports is in use, cannot be opened, or is another survey's", _SURVEYS),
    "survey-invalid": Code("a collector's survey is not believed, or wants more ε than is allowed", _SURVEYS),
    # failures: what was charged stays spent
    "failed": Code("the query was charged and could not be answered", _SERVER, 500),
    "internal": Code("something unforeseen happened", _SERVER, 500),
    "ledger": Code("the ledger cannot be used; nothing was released", _SERVER, 503),
    "source": Code("a source cannot be read, or is not what the policy says; for the owner", _OWNER, 500),
    "unreachable": Code("the server did not answer, or not in discreet's form", _SERVER, 502),
}


def status_of(code: str) -> int:
    """The HTTP status of a code; one that a newer server knows is a refusal."""
    return CODES[code].status if code in CODES else REFUSED
