"""`discreet ledger`: what was asked, and whether the record is sound."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from discreet.cli.failures import FAILED
from discreet.cli.logged import DESTINATION
from discreet.cli.output import (
    at_least,
    draw,
    is_address,
    json_option,
    policy_argument,
    printable,
    table,
    target_argument,
    tell_program,
    write_new,
)
from discreet.cli.spans import Span, until_told
from discreet.printing import counted, csv_text, lines_of

if TYPE_CHECKING:
    from discreet.ledger import Report
    from discreet.ledger.retention import Retained

HEADINGS: Final = ("no", "at", "analyst", "cost", "question", "answered")
MAX_LETTERS: Final = 100
"""Characters of a question that are shown."""
COPIES: Final = 30
"""Backups that stay, unless somebody says how many."""


@click.group(no_args_is_help=False, short_help="Show, verify, export, back up, restore, accept and move the ledger.")
def ledger() -> None:
    """What was asked and what it cost."""


@ledger.command()
@target_argument
@click.option("-n", "--last", type=click.IntRange(min=1), help="Only the last so many.")
@json_option
def show(policy: Path | str, last: int | None, as_json: bool) -> None:
    """Show what was charged, and what else happened: budgets, windows, refreshes, policies, tokens. Oldest first."""
    entries = _entries(policy)[-(last or 0) :]
    if as_json:
        tell_program({"entries": entries})
    else:
        draw_entries(entries)


@ledger.command()
@policy_argument
@click.option("--receipt", "receipts", multiple=True, help="The receipt of an answer; may be given several times.")
@json_option
def verify(policy: Path, receipts: tuple[str, ...], as_json: bool) -> int:
    """Recompute the whole ledger. Ends with 5 if it is not what discreet wrote.

    A ledger that was rolled back as a whole looks sound to itself: receipts tell, and this host's high-water mark.
    """
    from discreet.curator.state import verify_ledger
    from discreet.policy import read

    return _tell(verify_ledger(read(policy), receipts), as_json=as_json)


@ledger.command()
@target_argument
@click.option(
    "--format", "form", type=click.Choice(["jsonl", "csv"]), default="jsonl", show_default=True, help="Of the lines."
)
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Where to write it; else it is printed.")
@json_option
def export(policy: Path | str, form: str, output: Path | None, as_json: bool) -> None:
    """Export what was charged, and what else happened, one per line."""
    entries = _entries(policy)
    text = FORMATS[form](entries)
    if not output:
        click.echo(lines_of(text) if sys.stdout.isatty() else text, nl=False)
        return
    write_new(output, text)
    if as_json:
        tell_program({"written": str(output), "entries": len(entries)})
    else:
        click.echo(f"wrote {len(entries)} entries to {printable(str(output))}")


@ledger.command()
@policy_argument
@click.argument("file", type=click.Path(path_type=Path), metavar="FILE|FOLDER")
@click.option("--every", type=Span(), help="Until Ctrl-C, a new file in FOLDER after every 15m, 6h, 1d.")
@click.option("--copies", type=click.IntRange(1, 100_000), help=f"With --every: how many stay.  [default: {COPIES}]")
@json_option
def backup(policy: Path, file: Path, every: timedelta | None, copies: int | None, as_json: bool) -> int:
    """Write a consistent copy of POLICY's ledger to FILE, also while questions are asked, and verify it."""
    from discreet.curator.state import back_up_ledger
    from discreet.policy import read

    if every is None:
        if copies is not None:
            raise click.UsageError("--copies says how many stay with --every: add it, or leave --copies out")
        return _tell(back_up_ledger(read(policy), file), as_json=as_json)
    from discreet.owner.backups import back_up_again_and_again

    def tell(text: str) -> None:
        line = printable(text)
        if as_json:
            tell_program({"backup": line})
        elif DESTINATION not in os.environ:  # else the log says it
            click.echo(line)

    with until_told() as ended:
        back_up_again_and_again(policy, file, copies or COPIES, tell, lambda: ended.wait(every.total_seconds()))
    return 0


@ledger.command()
@click.argument("file", type=click.Path(path_type=Path))
@policy_argument
@click.option("--forget", metavar="WHY", default="", help="Why spending may be forgotten; it is put on record.")
@json_option
def restore(file: Path, policy: Path, forget: str, as_json: bool) -> int:
    """Put the backup FILE in the place of POLICY's ledger, and keep the file that was there.

    Refused if that would forget what was spent, unless --forget says why.
    """
    from discreet.curator.state import restore_ledger
    from discreet.policy import read

    return _tell(restore_ledger(read(policy), file, forget), as_json=as_json)


@ledger.command()
@policy_argument
@click.option("--reason", required=True, help="Why it is all right, for the record.")
@click.option("--forget", is_flag=True, help="Also if records are gone: what they spent is forgotten.")
@json_option
def accept(policy: Path, reason: str, forget: bool, as_json: bool) -> None:
    """Open POLICY's ledger on this host, which does not know it or knew it otherwise, and put that on record."""
    from discreet.curator.state import accept_ledger
    from discreet.policy import read

    spent = accept_ledger(read(policy), reason, forget=forget).spent.epsilon
    if as_json:
        tell_program({"accepted": True, "spent": spent})
    else:
        click.echo(f"accepted: epsilon {at_least(spent)} is spent")


@ledger.command()
@policy_argument
@click.argument("number", type=click.IntRange(min=1))
@click.option("--why", required=True, help="Why, for the record; whoever asked reads it.")
@json_option
def withdraw(policy: Path, number: int, why: str, as_json: bool) -> None:
    """Withdraw the answer to the charge NUMBER: nobody reads it any more, and what it cost stays spent."""
    from discreet.curator.state import withdraw as withdrawn
    from discreet.policy import read

    withdrawn(read(policy), number, why)
    if as_json:
        tell_program({"withdrawn": number})
    else:
        click.echo(f"the answer to charge {number} is withdrawn")


@ledger.command()
@policy_argument
@click.option("--owner", metavar="URL", help="Of a ledger in PostgreSQL: the role that owns its tables.")
@json_option
def retain(policy: Path, owner: str | None, as_json: bool) -> int:
    """Erase texts and answers that are older than POLICY's [retention]; charges, times and sums stay.

    Every refresh does it too. Ends with 5 if somebody reads the ledger meanwhile, so that pages of before are left.
    """
    from discreet.owner.retention import retain_ledger
    from discreet.policy import read

    done = retain_ledger(read(policy), owner)
    if as_json:
        tell_program(done.document())
        return 0 if done.gone else FAILED
    return tell_retained(done)


def tell_retained(done: Retained) -> int:
    """What was erased, for people; the code that a command ends with."""
    kinds = [counted(done.questions, "text"), counted(done.answers, "answer")]
    kinds += [counted(done.saved, "saved query", "saved queries")] if done.saved else []
    click.echo(f"erased: {', '.join(kinds)}; what was spent stays spent")
    for file in done.left:
        click.echo(f"an earlier ledger lies beside it, with all that it had: {printable(file)}")
    if done.gone:
        return 0
    click.secho("somebody reads the ledger: pages of before are on the disk until they end", fg="red", bold=True)
    return FAILED


@ledger.command()
@click.argument("url")
@click.option("--role", required=True, help="The role that curators connect as: it may append and read, nothing else.")
@click.option("--schema", default="discreet", show_default=True, help="The schema to make: one for each ledger.")
@json_option
def prepare(url: str, role: str, schema: str, as_json: bool) -> None:
    """Make the tables of a ledger in a database of PostgreSQL, as its owner.

    URL has no password: postgresql://owner@db.example.org/ledgers.
    """
    from contextlib import closing

    from discreet.ledger.postgres.schema import prepare as make
    from discreet.ledger.postgres.session import address_of, connected

    where = address_of(url, schema)
    with closing(connected(where)) as connection:
        made = make(connection, schema, role)
    if as_json:
        tell_program({"prepared": made, "schema": schema, "role": role})
    else:
        what = "made" if made else "there already"
        click.echo(f"{what}: schema {schema}, for curators that connect as {printable(role)}")


@ledger.command()
@policy_argument
@click.option("--to", "target", required=True, metavar="URL|FOLDER", help="A prepared database, or a state folder.")
@click.option("--schema", default="discreet", show_default=True, help="The schema of that database.")
@json_option
def move(policy: Path, target: str, schema: str, as_json: bool) -> None:
    """Move POLICY's ledger to PostgreSQL or back to a file. It goes on there, and is closed where it was, for good.

    If it was interrupted, run it again: it is finished.
    """
    from discreet.curator.state import home_at, move_ledger
    from discreet.policy import read

    opened = read(policy)
    home = home_at(opened, target, schema)
    records = move_ledger(opened, home)
    if as_json:
        tell_program({"moved": str(home), "records": records})
    else:
        click.echo(f"moved: {records} records are at {printable(str(home))}")
        click.echo("the policy must say so: " + printable(_where(target, schema)))


def _where(target: str, schema: str) -> str:
    """What a policy says of where its ledger is."""
    from discreet.owner.toml import quoted
    from discreet.policy.databases import is_address as is_database

    if not is_database(target):
        # seen from here: a policy would look for a relative path beside itself, and begin a ledger there
        return f"remove [ledger], and write state = {quoted(os.path.abspath(target))} unless it is the usual folder"
    named = "" if schema == "discreet" else f', schema = "{schema}"'
    return f'[ledger] with url = "{target}"{named}'


def _tell(report: Report, *, as_json: bool) -> int:
    if as_json:
        tell_program(
            {
                "sound": report.sound,
                "records": report.records,
                "charges": report.charges,
                "head": report.head,
                "sealed": report.sealed,
                "problems": report.problems,
                "moved": report.moved,
            }
        )
    elif report.sound:
        click.echo(f"sound: {report.records} records, {report.charges} charges")
        click.echo(f"head {report.records}:{report.head}")
        if report.moved is not None:
            click.echo(f"moved to {printable(report.moved)}: closed here for good")
    else:
        click.secho("not sound", fg="red", bold=True)
        for problem in report.problems:
            click.echo(f"    {printable(problem)}")
    return 0 if report.sound else FAILED


def _entries(path: Path | str) -> list[dict[str, Any]]:
    from discreet.answers.story import story
    from discreet.answers.wire import story_rows
    from discreet.curator.state import entries, events
    from discreet.policy import read

    if is_address(path):
        from discreet.cli.options import connected

        with connected(path) as remote:
            return story_rows(remote.entries(), remote.story())
    policy = read(path)
    return story_rows(entries(policy), story(events(policy)))


def draw_entries(entries: Sequence[dict[str, Any]]) -> None:
    """Entries for people, one on each line."""
    if not entries:
        click.echo("nothing was charged yet")
        return
    rows = [entry_words(entry) for entry in entries]
    heads: Sequence[str] = HEADINGS
    charged = [entry for entry in entries if entry["data_version"] is not None]
    if len({entry["unit"] for entry in charged}) > 1:  # costs about different units do not add up to anything
        heads = (*HEADINGS, "about")
        about = [printable(entry["unit"] or "not on record") if entry in charged else "" for entry in entries]
        rows = [[*row, each] for row, each in zip(rows, about, strict=True)]
    draw(table(heads, rows, numbers=frozenset({"no", "cost"})))


def entry_words(entry: dict[str, Any]) -> list[str]:
    """An entry as it is shown below the headings; what is no charge has neither cost nor answer."""
    if entry["data_version"] is None:
        reason = f": {printable(entry['reason'])}" if entry["reason"] else ""
        when = entry["at"][:19] or "not on record"
        return [str(entry["number"]), when, entry["analyst"], "", f"— {printable(entry['question'])}{reason}", ""]
    cost = f"ε {at_least(entry['epsilon'])}" if entry["rho"] is None else f"ρ {at_least(entry['rho'])}"
    cost = f"{cost} on {printable(entry['blocks'])}" if entry.get("blocks") else cost
    text = printable(entry["question"])
    question = text if len(text) <= MAX_LETTERS else f"{text[: MAX_LETTERS - 1]}…"
    return [
        str(entry["number"]),
        entry["at"][:19],
        entry["analyst"],
        cost,
        question,
        "yes" if entry["answered"] else "no",
    ]


def _jsonl(entries: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(entry) + "\n" for entry in entries)


def _csv(entries: list[dict[str, Any]]) -> str:
    from discreet.answers.wire import STORY

    return csv_text(STORY, [{**entry, "changes": json.dumps(entry["changes"] or {})} for entry in entries])


FORMATS: Final = {"jsonl": _jsonl, "csv": _csv}
