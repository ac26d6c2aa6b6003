"""`discreet saved`: queries with a name, as the page has them: listed, shown, saved, removed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

import click

from discreet.cli.output import draw, is_address, json_option, printable, table, target_argument, tell_program

if TYPE_CHECKING:
    from discreet.curator.saved import SavedQueries

analyst_option: Final = click.option("--analyst", help="Whose they are; else the owner's. A server knows it by token.")


class Shelf(Protocol):
    """Where somebody's queries are saved."""

    def all(self) -> Sequence[Any]: ...

    def save(self, name: str, sql: str, **chosen: Any) -> Any: ...

    def remove(self, id_: str) -> None: ...


@dataclass(frozen=True, slots=True)
class OwnShelf:
    """The saved queries of a policy: those of one analyst, or of its owner."""

    saved: SavedQueries
    analyst: str | None

    def all(self) -> list[dict[str, Any]]:
        return [asdict(query) for query in self.saved.all(self.analyst)]

    def save(self, name: str, sql: str, **chosen: Any) -> dict[str, Any]:
        from discreet.curator.saved import SavedQuery

        cost, error, blocks = (chosen[key] for key in ("epsilon", "error", "blocks"))
        by = "epsilon" if error is None else "error"
        query = SavedQuery(name, sql, by, "" if cost is None else f"{cost:g}", error or "", blocks or "")
        return asdict(self.saved.save(self.analyst, query))

    def remove(self, id_: str) -> None:
        self.saved.remove(self.analyst, id_)


@click.group(no_args_is_help=False, short_help="List, show, save and remove saved queries.")
def saved() -> None:
    """Queries with a name, as the page has them. Of a server (URL) they are those of the token in DISCREET_TOKEN.

    Saving runs nothing and costs nothing. `discreet query POLICY "$(discreet saved show POLICY NAME)"` runs one.
    """


@saved.command("list")
@target_argument
@analyst_option
@json_option
def list_(policy: Path | str, analyst: str | None, as_json: bool) -> None:
    """List the saved queries of POLICY, each with the number of its last answer."""
    with _shelf(policy, analyst) as shelf:
        queries = shelf.all()
    if as_json:
        tell_program({"saved": list(queries)})
    elif not queries:
        click.echo("there is no saved query: save one with `discreet saved save`")
    else:
        rows = [
            [each["name"], each["at"][:10], _cost(each), str(each["answer"] or ""), printable(each["sql"])[:80]]
            for each in queries
        ]
        draw(table(["name", "saved", "cost or error", "answer", "query"], rows))


@saved.command()
@target_argument
@click.argument("name")
@analyst_option
@json_option
def show(policy: Path | str, name: str, analyst: str | None, as_json: bool) -> None:
    """Show the text of the saved query NAME."""
    with _shelf(policy, analyst) as shelf:
        query = _named(shelf, name)
    if as_json:
        tell_program(dict(query))
    else:
        click.echo(_lines(query["sql"]))


@saved.command()
@target_argument
@click.argument("name")
@click.argument("sql")
@click.option("--epsilon", type=float, help="What it is to cost.")
@click.option("--error", help="Or the error that is wanted: 10, or n=10, cost=500.")
@click.option("--blocks", help="Of a stream: newest 7, 2024-03, or all.")
@analyst_option
@json_option
def save(policy: Path | str, name: str, sql: str, analyst: str | None, as_json: bool, **chosen: Any) -> None:
    """Save the query SQL under NAME: what had that name before is replaced. Nothing is run, and nothing charged."""
    if chosen["epsilon"] is not None and chosen["error"] is not None:
        raise click.UsageError("--epsilon and --error are two ways to say it: choose one")
    with _shelf(policy, analyst) as shelf:
        query = shelf.save(name, sql, **chosen)
    if as_json:
        tell_program(dict(query))
    else:
        click.echo(f"saved {printable(query['name'])}")


@saved.command()
@target_argument
@click.argument("name")
@analyst_option
@json_option
def remove(policy: Path | str, name: str, analyst: str | None, as_json: bool) -> None:
    """Remove the saved query NAME. Its answers stay in the ledger."""
    with _shelf(policy, analyst) as shelf:
        query = _named(shelf, name)
        shelf.remove(query["id"])
    if as_json:
        tell_program({"removed": query["name"]})
    else:
        click.echo(f"removed {printable(query['name'])}")


@contextmanager
def _shelf(target: Path | str, analyst: str | None) -> Iterator[Shelf]:
    if is_address(target):
        from discreet.cli.options import connected

        if analyst is not None:
            raise click.UsageError("--analyst is for policies: a server knows whose they are by the token")
        with connected(target) as remote:
            from discreet.client.saved import RemoteSaved

            yield RemoteSaved(remote)
        return
    from discreet.curator.saved import SavedQueries
    from discreet.policy import read

    policy = read(Path(target))
    if analyst is not None and analyst not in policy.analysts:
        known = ", ".join(sorted(policy.analysts)) or "there are none"
        raise click.UsageError(f"{printable(policy.name)} has no analyst {printable(analyst)}: {printable(known)}")
    with closing(SavedQueries.of(policy)) as queries:
        yield OwnShelf(queries, analyst)


def _named(shelf: Shelf, name: str) -> Any:
    from discreet.errors import Refused

    wanted = " ".join(name.split())
    query = next((each for each in shelf.all() if each["name"] == wanted), None)
    if query is None:
        raise Refused("unknown-saved", "there is no saved query of that name", "see `discreet saved list`")
    return query


def _cost(query: Any) -> str:
    if query["by"] == "error":
        return f"± {printable(query['error'])}"
    return f"ε {printable(query['epsilon'])}" if query["epsilon"] else ""


def _lines(text: str) -> str:
    from discreet.printing import lines_of

    return lines_of(text)
