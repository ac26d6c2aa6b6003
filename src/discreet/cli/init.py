"""`discreet init`: the draft of a policy, and what to type next."""

from __future__ import annotations

import shlex
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from discreet.cli.output import json_option, printable, tell_program, write_new

if TYPE_CHECKING:
    from discreet.policy import Finding, Policy

UNNAMED: Final = "policy"
PRINTED: Final = Path("-")
DELTA: Final = 1e-6
EPSILON: Final = 3.0
"""What is proposed where nothing was decided."""


@click.command(short_help="Draft a policy from the names and types of sources.")
@click.argument("sources", nargs=-1, metavar="SOURCE...")
@click.option(
    "--from-smartnoise", "metadata", type=click.Path(path_type=Path), help="Import SmartNoise's YAML instead."
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="Where to write it; else NAME.toml on a terminal, and standard output elsewhere. - prints it.",
)
@click.option("--name", help="What to call the data; else the name of the file.")
@click.option("--unit", metavar="COLUMN", help='The column that names whom to protect, or "row"; else left to decide.')
@click.option("--max-rows", type=click.IntRange(1), help="How many rows of one unit are read; else left to decide.")
@click.option("--epsilon", type=click.FloatRange(1e-9, 1e9), help="The budget; else it is left to decide.")
@click.option(
    "--delta", type=click.FloatRange(0, 1, max_open=True), help=f"With --epsilon: {DELTA:g} unless said; 0 for pure ε."
)
@click.option(
    "--decide",
    "decisions",
    multiple=True,
    metavar="KEY=VALUE",
    help="What you decide, as the policy says it: 'tables.visits.max_rows = 20', 'tables.visits.columns.age = false'.",
)
@click.option("--look", is_flag=True, help="Propose types of CSV columns from its first records, for you to confirm.")
@json_option
def init(sources: tuple[str, ...], metadata: Path | None, output: Path | None, as_json: bool, **said: object) -> None:
    """Draft a policy for each SOURCE: files (.csv, .parquet, .duckdb), patterns like "visits-*.parquet", or databases
    like postgresql://reader@host/clinic (with #clinic.visits for one table).

    Nothing is read from the data but names and types of columns; of CSV names alone, or with --look the types that its
    first records seem to have. What only you can decide is left open, unless options say it: --decide once for each,
    with the line that the policy would have, or false for a table or column that is to be left out. A draft that nobody
    has changed yet is replaced by one with your decisions.
    """
    if bool(sources) == (metadata is not None):
        raise click.UsageError("name the sources, or --from-smartnoise FILE, and not both")
    name, decided = said.pop("name"), {key: value for key, value in said.items() if value}
    if metadata and decided:
        raise click.UsageError("--unit, --decide and the like are for sources: SmartNoise's YAML says it itself")
    if "delta" in decided and "epsilon" not in decided:
        raise click.UsageError("--delta goes with --epsilon")
    if "epsilon" in decided:
        decided["delta"] = DELTA if said["delta"] is None else said["delta"]
    target = _target(sources, output, as_json=as_json)
    called = str(name) if name else None
    text = _imported(metadata, called) if metadata else _drafted(sources, called, target, decided)
    if target:
        _write(target, text, None if metadata else _drafted(sources, called, target, {}))
    policy, undecided = _parsed(text, target or Path(f"{UNNAMED}.toml"))
    if as_json:
        problems = [{"where": problem.where, "message": problem.message, "fix": problem.fix} for problem in undecided]
        tell_program({"draft": text, "written": str(target) if target else None, "undecided": problems})
        return
    _tell(target, text, undecided)
    if sources:
        _tell_next(sources, target, policy, text, decided)


def _target(sources: tuple[str, ...], output: Path | None, *, as_json: bool) -> Path | None:
    """Where the draft is written; None where it is printed."""
    if output == PRINTED:
        return None
    if output is not None or as_json or not sources or not sys.stdout.isatty():
        return output
    return Path(f"{_called(sources[0])}.toml")


def _called(source: str) -> str:
    """What a source is called, for the name of its policy."""
    bare = Path(source.partition("#")[0]).name.partition(".")[0]
    letters = "".join(letter if letter.isalnum() or letter in "-_" else "-" for letter in bare).strip("-_")
    return letters or UNNAMED


def _write(path: Path, text: str, untouched: str | None) -> None:
    """A new file; or in the place of a draft as this command wrote it, which nobody has changed."""
    try:
        if untouched is not None and path.read_bytes() == untouched.encode():
            from discreet.owner.editing import write

            write(path, text.encode())
            return
    except OSError:
        pass  # there is none, or what is wrong with it is told now
    write_new(path, text)


def _imported(metadata: Path, name: str | None) -> str:
    try:
        from discreet.owner.smartnoise import from_smartnoise
    except ImportError as missing:
        raise click.UsageError(str(missing)) from None
    return from_smartnoise(metadata, name)


def _drafted(sources: tuple[str, ...], name: str | None, target: Path | None, decided: dict[str, object]) -> str:
    from discreet.owner.decisions import read_decisions
    from discreet.owner.draft import draft

    folder, called = target.absolute().parent if target else None, name or (target.stem if target else UNNAMED)
    lines = list(decided.get("decisions", ()))  # type: ignore[call-overload]  # click has checked them
    lines += [f"budget.{key} = {decided[key]!r}" for key in ("epsilon", "delta") if decided.get(key)]
    options = {key: decided[key] for key in ("unit", "max_rows", "look") if key in decided}
    return draft(sources, called, folder=folder, decisions=read_decisions(lines), **options)  # type: ignore[arg-type]


def _parsed(text: str, path: Path) -> tuple[Policy | None, tuple[Finding, ...]]:
    from discreet.policy import PolicyError, parse

    try:
        return parse(text.encode(), path), ()
    except PolicyError as wrong:
        return None, wrong.problems


# what to type next


def _tell(target: Path | None, text: str, undecided: tuple[Finding, ...]) -> None:
    from discreet.owner.draft import ODD

    if target:
        click.echo(f"wrote {printable(str(target))}", err=True)
    else:
        click.echo(text, nl=False)
    for line in text.splitlines():
        if line.startswith(ODD):
            click.echo(printable(line.removeprefix("# ")), err=True)
    click.echo("still to decide:" if undecided else "nothing is left to decide", err=True)
    for problem in undecided:
        click.echo(f"  {printable(str(problem))}", err=True)


def _tell_next(
    sources: tuple[str, ...], target: Path | None, policy: Policy | None, text: str, decided: dict[str, object]
) -> None:
    """Commands that work as they stand."""
    if policy is None or target is None:
        options = ["-o", str(target or Path(f"{_called(sources[0])}.toml")), *_proposed(sources, text, decided)]
        apart = any(source.startswith("-") for source in sources)
        again = [*options, "--", *sources] if apart else [*sources, *options]
        remove = f"edit the draft, or remove {target} and decide all at once" if target and decided else ""
        first = remove or "decide (or edit the draft: remove the # of what you decide)"
        click.echo(f"next, {printable(first)}, such as:", err=True)
        click.echo(f"  discreet init {printable(shlex.join(again))}", err=True)
        if "--max-rows" in options:
            click.echo(
                "--max-rows: of one unit so many rows count; more rows, more noise. 1 if each has one.", err=True
            )
        return
    click.echo("next, mistakes to look for, what it would cost, a first answer, and its page in the browser:", err=True)
    for command in _commands(target, policy):
        click.echo(f"  {printable(command)}", err=True)


def _proposed(sources: tuple[str, ...], text: str, decided: dict[str, object]) -> list[str]:
    """The decisions that the draft suggests, as options, beside those that were made.

    Where a table has other identifiers, units have many rows.
    """
    import tomllib

    from discreet.owner.draft import ROWS
    from discreet.owner.names import whose

    said = [line.removeprefix("# ") for line in text.splitlines() if line.startswith(("# unit = ", "unit = "))]
    units = [str(tomllib.loads(line)["unit"]) for line in said]
    likely = max(units, key=lambda each: (whose(each) > 1, units.count(each)), default="row")
    unit = str(decided.get("unit", likely))
    many = decided.get("max_rows", ROWS if any("; or " in line for line in said) else 1)
    rows = [] if unit == "row" else ["--max-rows", str(many)]
    look = ["--look"] if any(".csv" in source.lower() or ".tsv" in source.lower() for source in sources) else []
    epsilon = f"{decided.get('epsilon', EPSILON):g}"
    lines: tuple[str, ...] = decided.get("decisions", ())  # type: ignore[assignment]  # click has checked them
    more = [word for each in lines for word in ("--decide", each)]
    budget = [] if any(each.startswith("budget") for each in lines) else ["--epsilon", epsilon]
    return ["--unit", unit, *rows, *budget, *look, *more]


def _commands(path: Path, policy: Policy) -> list[str]:
    from discreet.quoting import name

    table = next(iter(policy.private_tables), next(iter(policy.tables)))
    plain = table.isascii() and table.isidentifier() and table.islower()
    query = f"SELECT COUNT(*) AS n FROM {table if plain else name(table)}"
    cost = ["--epsilon", f"{float(policy.budget.epsilon) / 10:g}"]
    commands = [["check", str(path)], ["preview", str(path), query, *cost], ["query", str(path), query, *cost]]
    lines = [f"discreet {shlex.join(command)}" for command in commands]
    if find_spec("fastapi") is None:
        lines.append("pip install 'discreet[server]'")
    return [*lines, f"discreet {shlex.join(['serve', str(path), '--demo'])}"]
