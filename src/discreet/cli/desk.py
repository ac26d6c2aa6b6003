"""`discreet desk`: from files to a policy, in pages of this machine."""

from __future__ import annotations

from pathlib import Path

import click


@click.command(short_help="From files to a policy, in a browser on this machine.")
@click.argument("folder", default=".", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--port", type=click.IntRange(0, 65535), default=8020, show_default=True, help="0 takes a free one.")
@click.option("--log", type=click.Path(path_type=Path), help="Where to write the access log; else standard error.")
@click.option("--backups", type=click.Path(path_type=Path, file_okay=False), help="A folder for backups of ledgers.")
def desk(folder: Path, port: int, log: Path | None, backups: Path | None) -> None:
    """Write policies for the files in FOLDER and look after them, in pages of this machine, until Ctrl-C.

    The link that is shown signs you in once; then the next one is shown. Nobody else may look: the desk listens at this
    machine alone. All that it does is a command, too, and it exports what you did as a script or a notebook.
    """
    try:
        from discreet.server.listening import Listening
        from discreet.server.run import serve as run
    except ImportError as missing:
        raise click.UsageError(f"{missing.name} is not installed: pip install 'discreet[server]'") from None
    from discreet.server.datasets import Datasets
    from discreet.server.desk.desk import Desk
    from discreet.server.desk.links import Links

    listening = Listening(port=port, log=log)
    address: list[str] = []
    links = Links(lambda text: click.echo(f"the next link, should you need one: {address[0]}/sign-in#{text}"))

    def tell(url: str, _: int | None) -> None:
        address.append(url)
        click.echo(f"a desk for {folder} at {url}; sign in with this link, once:", err=True)
        click.echo(f"{url}/sign-in#{links.new()}")

    run(Datasets([], owners=links), listening, tell, Desk(folder, links), backups)
