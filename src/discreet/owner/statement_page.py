"""A statement as one page of HTML, for people and for print."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from discreet.answers.document import document, words
from discreet.printing import at_least, counted

SAID: Final = {
    "curator": "Who holds the data",
    "purpose": "What answers are for",
    "rationale": "Why so much may be spent",
    "collection": "How the data was collected",
    "contact": "Whom to ask",
}
UNSAID: Final = "The owner has not said (`[statement]` in the policy)."
PRIVATE: Final = (
    "Nothing on this page is private: it is made from the policy, from the ledger's amounts and from fixed words. No "
    "question and no answer is repeated."
)
OTHERS: Final = "Fitted models, scores and releases are charged in the same way, each by the theorem beside its code."
ACCURACY: Final = (
    "For a tenth of the budget a count lies this far from the bounded truth at most, 95 % of the time. Every answer "
    "says its own error."
)
UNAUDITED: Final = "None was run for this statement: `discreet report POLICY --audit` runs one, on invented data."
NONE: Final = "–"


def page(statement: Mapping[str, Any]) -> str:
    """The whole page, from what `statement` gave."""
    title = f"Statement of privacy: {statement['name']}"
    body = [
        f"<h1>{words(title)}</h1>",
        f'<p class="faint">{words(_made(statement))} {words(PRIVATE)}</p>',
        *_guarantee(statement["guarantee"]),
        *_owner(statement["owner"]),
        *_released(statement["released"]),
        *_accuracy(statement["accuracy"]),
        "<h2>Mechanisms and theorems</h2>",
        _table(("mechanism", "theorem", "source"), (each.values() for each in statement["mechanisms"])),
        f"<p>{words(statement['composition'])} {words(OTHERS)}</p>",
        *_tables(statement["tables"]),
        *_listed("Trust", statement["trust"]),
        *_listed("Security and side channels", statement["security"]),
        *_listed("What it assumes", statement["assumptions"]),
        *_listed("What is not covered", statement["not_covered"]),
        *_audit(statement["audit"]),
        "<h2>Software</h2>",
        _facts(statement["software"]),
        "<h2>For registries of deployments</h2>",
        _facts({name.replace("_", " "): _shown(value) for name, value in statement["registry"].items()}),
    ]
    return document(title, body)


def _made(statement: Mapping[str, Any]) -> str:
    return f"Made {statement['made'][:10]} by discreet {statement['software']['discreet']}."


def _guarantee(said: Mapping[str, Any]) -> Iterator[str]:
    yield "<h2>The guarantee</h2>"
    after, failure = (said["means"]["spent"][key] for key in ("after", "failure"))
    rare = f", but for answers of probability {failure:g} at most" if failure else ""
    belief = (
        f"Whoever held it as likely as not that a certain {said['unit']} is in the data believes it, after all answers "
        f"so far, with a probability of {after:.2%} at most{rare}."
    )
    yield f'<p class="guarantee">{words(_claim(said))} {words(belief)}</p>'
    limit = said["means"]["budget"]["after"]
    windows = said["windows"]
    several = {"windows, in each of which the budget may be spent": f"{windows['open']} of at most {windows['most']}"}
    figures = {
        **(several if windows["most"] > 1 else {}),
        "may ever be spent": _amount(said["budget"]),
        "is spent": _amount(said["spent"]),
        "belief after the whole budget, at most": f"{limit:.2%}",
    }
    yield _figures(figures)
    yield _facts({"unit of privacy": said["unit"], "neighbours": said["neighbours"], "kind": said["kind"]})
    if said["units"]:
        yield _table(("spent about", "amount"), ((unit, _amount(spent)) for unit, spent in said["units"].items()))


def _claim(said: Mapping[str, Any]) -> str:
    total = said["budget"]
    delta = "" if total["delta"] is None else f", {total['delta']:g}"
    return (
        f"All answers to everybody together are ({at_least(total['epsilon'])}{delta})-differentially private for every "
        f"{said['unit']}."
    )


def _owner(said: Mapping[str, str]) -> Iterator[str]:
    yield "<h2>In the owner's words</h2>"
    yield _facts({title: said.get(key, UNSAID) for key, title in SAID.items()})


def _released(said: Mapping[str, Any]) -> Iterator[str]:
    yield "<h2>What was released</h2>"
    if not said["charges"]:
        yield "<p>Nothing yet.</p>"
        return
    yield f"<p>{words(counted(said['charges'], 'charge'))}, from {words(said['first'])} to {words(said['last'])}.</p>"
    rows = (
        (each["analyst"], f"{each['charges']:,}", _amount(each.get("spent")), _amount(each.get("share")))
        for each in said["by"]
    )
    yield _table(("who", "charges", "spent", "share"), rows)
    yield _table(
        ("data version", "first charge", "charges"),
        ((str(each["version"]), each["first"], f"{each['charges']:,}") for each in said["data_versions"]),
    )
    if said["streams"]:
        heads = ("stream", "protects", "capacity of a block")
        yield _table(heads, ((each["name"], each.get("protects", NONE), _amount(each)) for each in said["streams"]))


def _accuracy(said: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    if said:
        yield f"<h2>Accuracy</h2><p>{words(ACCURACY)}</p>"
        yield _table(("table", "question", "within"), ((e["table"], e["question"], f"± {e['within']:g}") for e in said))


def _tables(said: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    yield "<h2>What is bounded, and what is public</h2>"
    for table in said:
        if table["public"]:
            yield f"<p><b>{words(table['name'])}</b>: public, as the owner declares.</p>"
            continue
        limits = (
            f"of one {table['unit']} at most {counted(table['max_rows'], 'row')}, in at most "
            f"{counted(table['max_groups'], 'group')}"
        )
        yield f"<p><b>{words(table['name'])}</b>: {words(limits)}.</p>"
        heads = ("column", "type", "clamped to", "declared values")
        yield _table(heads, (_column(column) for column in table["columns"]))


def _column(said: Mapping[str, Any]) -> tuple[str, ...]:
    bounds = NONE if said["min"] is None else f"{said['min']} … {said['max']}"
    return said["name"], said["type"], bounds, NONE if said["values"] is None else f"{said['values']:,}"


def _audit(said: Mapping[str, Any] | None) -> Iterator[str]:
    yield "<h2>Audit</h2>"
    if said is None:
        yield f"<p>{_coded(UNAUDITED)}</p>"
        return
    kind = "bad" if said["differences"] else "good"
    verdict = (
        f"{said['differences']} of {said['questions']} questions distinguish two neighbours."
        if said["differences"]
        else "No question distinguishes two neighbours by more than its noise covers."
    )
    yield f'<p class="{kind}">{words(verdict)}</p>'
    yield _facts({name: _shown(value) for name, value in said.items()})


def _listed(title: str, sentences: Iterable[str]) -> Iterator[str]:
    yield f"<h2>{words(title)}</h2>"
    yield f"<ul>{''.join(f'<li>{words(each)}</li>' for each in sentences)}</ul>"


def _coded(text: str) -> str:
    """Words, with what stands in backticks as code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", words(text))


def _facts(facts: Mapping[str, str]) -> str:
    pairs = "".join(f"<dt>{words(name)}</dt><dd>{_coded(value)}</dd>" for name, value in facts.items())
    return f"<dl>{pairs}</dl>"


def _figures(figures: Mapping[str, str]) -> str:
    spans = "".join(f"<span><b>{words(number)}</b>{words(name)}</span>" for name, number in figures.items())
    return f'<div class="figures">{spans}</div>'


def _table(heads: Sequence[str], rows: Iterable[Iterable[str]]) -> str:
    head = "".join(f'<th scope="col">{words(each)}</th>' for each in heads)
    body = "".join(f"<tr>{''.join(f'<td>{_coded(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f'<div class="wide" tabindex="0"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _amount(said: Mapping[str, Any] | None) -> str:
    if not said or said.get("epsilon") is None:
        return NONE
    delta = "" if not said.get("delta") else f", δ {said['delta']:.3g}"
    return f"ε {at_least(said['epsilon'])}{delta}"


def _shown(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_shown(each)}" for name, each in value.items() if each is not None)
    if isinstance(value, list):
        return ", ".join(map(_shown, value))
    return NONE if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)
