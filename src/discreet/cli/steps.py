"""`discreet steps`: what was done at the desk and on the owner's page, as a script or a notebook."""

from __future__ import annotations

from pathlib import Path

import click

from discreet.cli.output import policy_argument, printable, write_new


@click.command(short_help="Export what was done on the owner's page, as a script or a notebook.")
@policy_argument
@click.option("--notebook", is_flag=True, help="A Jupyter notebook instead of a shell script.")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="A new file; else it is printed.")
def steps(policy: Path, notebook: bool, output: Path | None) -> None:
    """Export what was done at the desk and on the owner's page of POLICY: commands that do the same in a folder that
    has the same files. Tokens are made anew: their texts are not in it.
    """
    from discreet.owner.steps import Steps, script
    from discreet.owner.steps import notebook as notebook_of
    from discreet.policy import read

    declared = read(policy)
    done = Steps.of(declared).from_the_start(declared)
    text = notebook_of(done, declared) if notebook else script(done)
    if output is None:
        click.echo(text, nl=False)
        return
    write_new(output, text)
    click.echo(f"wrote {printable(str(output))}", err=True)
