"""The magics: a cell that is a question, and a line that shows budget, tables or ledger."""

from __future__ import annotations

import atexit
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import click
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magic import no_var_expand

from discreet.answers import Answer, Preview
from discreet.answers.autofix import fixed
from discreet.answers.interface import Asks
from discreet.cli.options import curator_at, opened
from discreet.cli.output import is_address
from discreet.curator.curator import Curator
from discreet.errors import Refused
from discreet.notebook.command import Asking, Looking, ask, look, understood
from discreet.notebook.failures import FORESEEN, tell_ours_at_length, tell_ours_shortly, tell_shortly
from discreet.notebook.views import VIEWS, View
from discreet.policy import Policy, read

NAME: Final = "discreet"
LAST: Final = "_discreet"
"""The variable with the last answer."""

_LOADED: dict[InteractiveShell, Magic] = {}


def load(shell: Any) -> None:
    unload(shell)
    magic = _LOADED[shell] = Magic(shell)
    shell.register_magic_function(magic.run, "line_cell", NAME)
    tell_ours_shortly()
    atexit.register(magic.close)


def unload(shell: Any) -> None:
    magic = _LOADED.pop(shell, None)
    if magic is None:
        return
    for known in shell.magics_manager.magics.values():
        known.pop(NAME, None)
    if not _LOADED:
        tell_ours_at_length()
    atexit.unregister(magic.close)
    magic.close()


@dataclass(slots=True)
class Magic:
    """The magics of one shell, and the curators that they opened, each used again while its policy stays as it is."""

    shell: Any
    curators: dict[tuple[Path | str, bool], tuple[Policy | str, Asks]] = field(default_factory=dict)
    policy: Path | str | None = None
    """The one that was named last."""

    @no_var_expand  # words are split first: a value with blanks in it stays one word
    def run(self, line: str, cell: str | None = None) -> Answer | Preview | View | Asks | None:
        """Ask a question (%%discreet) or look at budget, tables and ledger (%discreet); --help tells how."""
        try:
            given = understood(look if cell is None else ask, line, self.shell.user_ns)
            if isinstance(given, Looking):
                return self._look(given)
            return None if given is None else self._ask(given, line, str(cell))
        except FORESEEN as error:
            tell_shortly(error)
            raise

    def close(self) -> None:
        """Close all curators that were opened here."""
        while self.curators:
            _, (_, curator) = self.curators.popitem()
            curator.close()

    def _ask(self, given: Asking, line: str, sql: str) -> Answer | Preview:
        curator = self._curator(given.policy, dummy=given.dummy)
        act: Callable[..., Answer | Preview] = curator.preview if given.preview else curator.query
        try:
            result = act(sql, **given.settings)
        except Refused as refused:
            self._propose(curator, given, line, sql, refused)
            raise
        self.shell.push({LAST: result}, interactive=False)
        if given.name is not None:
            self.shell.push({given.name: result})
        return result

    def _propose(self, curator: Asks, given: Asking, line: str, sql: str, refused: Refused) -> None:
        """Put the cell with the refusal's edit in it below this one, ready to be run, if it would be answered."""
        settings = {name: value for name, value in given.settings.items() if name not in ("fresh", "confirm")}
        proposal = fixed(sql, refused.edit, lambda text: curator.preview(text, **settings))
        if proposal is not None:
            self.shell.set_next_input(f"%%{NAME} {line}\n{proposal}")

    def _look(self, given: Looking) -> View | Asks:
        curator = self._curator(given.policy, dummy=False)
        if given.analyst is not None:
            curator.budget(given.analyst)  # refuses whom the policy does not know
        return curator if given.what is None else VIEWS[given.what](curator, given.analyst)

    def _curator(self, named: Path | str | None, *, dummy: bool) -> Asks:
        """The curator in a variable of this name, else that of a file or an address; as before if none is named."""
        policy = self.policy if named is None else named
        if policy is None:
            reason = "name the policy, as in %%discreet hospital.toml; cells after that need not"
            raise click.UsageError(reason, click.Context(ask, info_name=ask.name))
        variable = self.shell.user_ns.get(str(policy))
        if isinstance(variable, Curator):
            curator: Asks = self._cached(variable.policy, variable.dummy, dummy=True) if dummy else variable
        elif isinstance(variable, Asks):
            curator = variable.dummy() if dummy else variable
        elif is_address(policy):
            curator = self._cached(policy, lambda: curator_at(policy, dummy=dummy), dummy=dummy)
        else:
            path = Path(os.path.expanduser(policy))
            curator = self._cached(read(path), lambda: opened(path, dummy=dummy), dummy=dummy)
        self.policy = policy
        return curator

    def _cached(self, policy: Policy | str, make: Callable[[], Asks], *, dummy: bool) -> Asks:
        key = policy if isinstance(policy, str) else policy.path, dummy
        before = self.curators.get(key)
        if before is not None and before[0] == policy:
            return before[1]
        if before is not None:
            before[1].close()
            del self.curators[key]
        curator = make()
        self.curators[key] = policy, curator
        return curator
