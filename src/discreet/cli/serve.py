"""`discreet serve`: let others ask, without handing out files."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from discreet.cli.output import printable, progress

if TYPE_CHECKING:
    from discreet.policy import Policy
    from discreet.server.datasets import Dataset
    from discreet.server.listening import Listening


@click.command(short_help="Answer questions over HTTP.")
@click.argument("policies", nargs=-1, type=click.Path(path_type=Path), metavar="POLICY…")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen at.")
@click.option("--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="0 takes a free one.")
@click.option("--workers", type=click.IntRange(1, 64), default=2, show_default=True, help="Questions at once.")
@click.option("--name", "names", multiple=True, help="A host name that leads here; others are refused then.")
@click.option("--certificate", type=click.Path(path_type=Path), help="For https: the certificate, in PEM.")
@click.option("--key", type=click.Path(path_type=Path), help="For https: its private key, in PEM.")
@click.option("--log", type=click.Path(path_type=Path), help="Where to write the access log; else standard error.")
@click.option("--pg-port", type=click.IntRange(0, 65535), help="Answer psql and BI tools here, too; 0: a free one.")
@click.option(
    "--oidc", type=click.Path(path_type=Path), help="Let people sign in with OpenID Connect, as this file says."
)
@click.option(
    "--telemetry",
    type=click.Choice(["padded", "exact"]),
    help="Send traces and metrics to the collector of the OTEL_* variables; exact times are as private as the rows.",
)
@click.option("--backups", type=click.Path(path_type=Path, file_okay=False), help="Where owners may back up ledgers.")
@click.option("--demo", is_flag=True, help="Make tokens that end with the server; without POLICY, a hospital to try.")
def serve(
    policies: tuple[Path, ...], demo: bool, names: tuple[str, ...], backups: Path | None, **where: object
) -> None:
    """Answer questions about each POLICY over HTTP, until Ctrl-C.

    Whoever asks needs a token: see discreet token --help. With --demo tokens are made and shown, for this machine only.

    \b
    discreet serve hospital.toml
    """
    try:
        from discreet.server.listening import Listening
        from discreet.server.run import demand_tokens, opened_by
        from discreet.server.run import serve as run
    except ImportError as missing:
        raise click.UsageError(f"{missing.name} is not installed: pip install 'discreet[server]'") from None
    from discreet.server.datasets import Datasets

    listening = Listening(names=names, **where)  # type: ignore[arg-type]  # click has checked them
    if demo and not listening.is_loopback:
        raise click.UsageError("--demo listens at this machine only: leave --host out, or make tokens")
    if bool(listening.certificate) != bool(listening.key):
        raise click.UsageError("--certificate and --key go together")
    places = _places(policies, demo=demo)
    datasets = Datasets([_dataset(path, len(places), demo=demo) for path in places])
    made = [line for dataset in datasets.values() for line in _demo_tokens(dataset)] if demo else []
    if not demo:
        demand_tokens(datasets, () if listening.oidc is None else opened_by(listening.oidc))

    def tell(url: str, pg_port: int | None) -> None:
        click.echo(f"serving {', '.join(datasets)} at {url}", err=True)
        if pg_port is not None:
            click.echo(
                f"psql and BI tools, with a token as the password: {_psql(listening, pg_port, datasets)}", err=True
            )
        if not (listening.is_loopback or listening.certificate):
            click.echo("not encrypted: put it behind a proxy that is, or give --certificate and --key", err=True)
        if made:
            click.echo("sign in with one of these links; the token is what stands behind #", err=True)
        for who, token in made:
            click.echo(f"{printable(who):<24} {url}/sign-in#{token}")

    run(datasets, listening, tell, backups=backups)


def _psql(where: Listening, port: int, datasets: Iterable[str]) -> str:
    """A line to try; what its queries cost is part of the connection."""
    encrypted = " sslmode=require" if where.certificate else ""
    options = "options='-c discreet.epsilon=0.1'"
    return f'psql "host={where.host} port={port} dbname={next(iter(datasets))} user=me{encrypted} {options}"'


def _places(policies: tuple[Path, ...], *, demo: bool) -> list[Path]:
    if policies:
        return list(policies)
    if not demo:
        raise click.UsageError("name a policy file, or try --demo")
    from discreet.cli.demo import settle
    from discreet.lab.hospital import POLICY

    return [settle(None)[0] / POLICY]


def _dataset(path: Path, among: int, *, demo: bool) -> Dataset:
    """The policy, one of so many, its private copy made before anybody waits for it."""
    from discreet.policy import read
    from discreet.server.datasets import Dataset
    from discreet.server.tokens import Tokens

    policy: Policy = read(path)
    with progress(shown=True) as shown:
        dataset = Dataset(policy, Tokens(None) if demo else None, shown, among)
        dataset.curator.make_copy()
    return dataset


def _demo_tokens(dataset: Dataset) -> list[tuple[str, str]]:
    """A token for each role, and whose it is."""
    from discreet.server.tokens import Made, Role

    analysts = list(dataset.curator.policy.analysts)
    holders = [(Role.OWNER, None), *((Role.ANALYST, name) for name in analysts), (Role.AUDITOR, None)]
    lines = []
    for role, analyst in holders:
        made = Made.new()
        dataset.tokens.add(made, role, analyst)
        lines.append((f"{dataset.name} {analyst or role}", made.text))
    return lines
