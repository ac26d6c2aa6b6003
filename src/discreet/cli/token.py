"""`discreet token`: who may ask a server."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from discreet.cli.output import draw, json_option, printable, table, tell_program
from discreet.cli.spans import span

if TYPE_CHECKING:
    from discreet.policy import Policy
    from discreet.server.tokens import Token, Tokens


class Expiry(click.ParamType[datetime]):
    """A span from now (90d, 12h) or a day."""

    name = "WHEN"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        if isinstance(value, datetime):
            return value
        now = datetime.now(UTC)
        after = span(str(value))
        try:
            moment = datetime.fromisoformat(str(value)).astimezone(UTC) if after is None else now + after
        except (ValueError, OverflowError):
            self.fail(f"{value!r} is no time: write 90d, 12h or 2027-01-31", param, ctx)
        if moment <= now:
            self.fail(f"{value!r} is over already", param, ctx)
        return moment


policies_argument: Final = click.argument("policies", nargs=-1, type=click.Path(path_type=Path), metavar="[POLICY…]")


@click.group(no_args_is_help=False, short_help="Make, list and revoke tokens for a server.")
def token() -> None:
    """Who may ask a server what. POLICY may be left out where a folder has only one."""


@token.command()
@policies_argument
@click.option("--role", type=click.Choice(["owner", "analyst", "auditor"]), required=True, help="What it may do.")
@click.option("--analyst", help="Whose share is charged; for the role analyst.")
@click.option("--expires", type=Expiry(), help="After 90d, 12h, or on 2027-01-31; else never.")
@json_option
def create(policies: tuple[Path, ...], role: str, analyst: str | None, expires: datetime | None, as_json: bool) -> None:
    """Make a token for each POLICY and show it. It is shown once: only its digest is stored."""
    from discreet.curator.state import note_token
    from discreet.server.tokens import Made, Role

    declared = [_read(path) for path in policies or [_only_policy()]]
    for policy in declared:
        _check(policy, role, analyst)
    made = Made.new()
    for policy in declared:
        note_token(policy, "made", made.id, role, analyst)
        with _tokens(policy) as tokens:
            tokens.add(made, Role(role), analyst, expires)
    if as_json:
        tell_program({"token": made.text, "id": made.id, "role": role, "analyst": analyst})
        return
    click.echo(made.text)
    until = f" until {expires:%Y-%m-%d %H:%M} UTC" if expires else ""
    names = ", ".join(printable(policy.name) for policy in declared)
    click.echo(f"{analyst or role} may ask {names}{until}; it cannot be shown again", err=True)


@token.command("list")
@policies_argument
@json_option
def list_(policies: tuple[Path, ...], as_json: bool) -> None:
    """List the tokens of each POLICY, without their secrets."""
    rows = []
    for path in policies or [_only_policy()]:
        policy = _read(path)
        with _tokens(policy) as tokens:
            rows += [(policy.name, each) for each in tokens.all()]
    if as_json:
        tell_program({"tokens": [{"policy": name, **_dict(each)} for name, each in rows]})
    elif not rows:
        click.echo("there is no token: make one with `discreet token create`")
    else:
        headings = ["id", "policy", "role", "analyst", "made", "expires", "state"]
        draw(table(headings, [_words(name, each) for name, each in rows]))


@token.command()
@click.argument("name", metavar="ID")
@policies_argument
@json_option
def revoke(name: str, policies: tuple[Path, ...], as_json: bool) -> None:
    """Revoke the token ID (as `list` shows it; the whole token does, too). It holds at once."""
    from discreet.curator.state import note_token

    short = name.split("_")[1] if name.startswith("discreet_") and name.count("_") == 2 else name
    revoked = []
    for path in policies or [_only_policy()]:
        policy = _read(path)
        with _tokens(policy) as tokens:
            token = tokens.revoke(short)
        if token is not None:  # it holds before it is on record, and whatever the ledger says
            revoked.append(policy.name)
            note_token(policy, "revoked", token.id, token.role, token.analyst)
    if not revoked:
        raise click.UsageError(f"there is no valid token {printable(short)}: see `discreet token list`")
    if as_json:
        tell_program({"id": short, "policies": revoked})
    else:
        click.echo(f"{printable(short)} opens {', '.join(map(printable, revoked))} no longer")


def _check(policy: Policy, role: str, analyst: str | None) -> None:
    if (role == "analyst") != (analyst is not None):
        raise click.UsageError("--analyst goes with --role analyst, and only with it")
    if analyst is not None and analyst not in policy.analysts:
        known = ", ".join(sorted(policy.analysts)) or "there are none: add [analysts.NAME] with an epsilon"
        raise click.UsageError(f"{printable(policy.name)} has no analyst {printable(analyst)}: {known}")


def _only_policy() -> Path:
    """The policy of this folder, where there is only one."""
    from discreet.policy import PolicyError, read

    candidates = []
    for path in sorted(Path().glob("*.toml")):
        try:
            read(path)
        except PolicyError:
            continue
        candidates.append(path)
    if len(candidates) != 1:
        raise click.UsageError(f"this folder has {len(candidates) or 'no'} policies: name one")
    return candidates[0]


def _read(path: Path) -> Policy:
    from discreet.policy import read

    return read(path)


@contextmanager
def _tokens(policy: Policy) -> Iterator[Tokens]:
    from discreet.server.tokens import Tokens

    tokens = Tokens.of(policy)
    try:
        yield tokens
    finally:
        tokens.close()


def _dict(each: Token) -> dict[str, Any]:
    return {
        "id": each.id,
        "role": str(each.role),
        "analyst": each.analyst,
        "made": each.made.isoformat(),
        "expires": None if each.expires is None else each.expires.isoformat(),
        "state": each.state,
    }


def _words(name: str, each: Token) -> list[str]:
    expires = "never" if each.expires is None else f"{each.expires:%Y-%m-%d %H:%M}"
    return [each.id, name, each.role, each.analyst or "", f"{each.made:%Y-%m-%d %H:%M}", expires, each.state]
