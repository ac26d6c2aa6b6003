"""Whoever sits at the desk, and what every page of it knows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, TypeVar

from fastapi import Depends
from starlette.responses import RedirectResponse, Response

from discreet.engines.problems import SourceError
from discreet.errors import Refused
from discreet.policy import Finding, PolicyError
from discreet.server.desk.desk import Desk
from discreet.server.desk.drafts import Draft
from discreet.server.dispatch import Dispatcher
from discreet.server.pages.page_auth import Visitor, Visitors
from discreet.server.works import Seen, Works, owner_refusal

T = TypeVar("T")
STEPS: Final = {
    "files": "Files",
    "units": "Whom to protect",
    "columns": "Columns",
    "budget": "Budget",
    "analysts": "Analysts",
    "review": "The policy",
}
MOST_FIELDS: Final = 8000
"""Of a form at the desk: a table may have many columns."""


@dataclass(frozen=True, slots=True)
class Seat:
    """Whoever started the desk, at one of its pages."""

    visitor: Visitor
    desk: Desk

    @property
    def dispatcher(self) -> Dispatcher:
        return self.visitor.app_state.dispatcher

    @property
    def works(self) -> Works:
        works: Works = self.visitor.request.app.state.works
        return works

    async def light(self, work: Callable[..., T], *given: Any) -> T:
        """Something short, apart from the event loop. What goes wrong with files is told: they are the owner's."""
        try:
            return await self.dispatcher.light(work, *given)
        except (PolicyError, SourceError, OSError) as wrong:
            refusal = owner_refusal(wrong)
            assert refusal is not None
            raise refusal from None

    async def form(self) -> dict[str, str]:
        return await self.visitor.form(MOST_FIELDS)

    def show(self, template: str, status: int = 200, **context: Any) -> Response:
        return self.visitor.show(template, status, here="desk", folder=self.desk.folder.name, **context)

    def step(self, template: str, draft: Draft | None, step: str, status: int = 200, **context: Any) -> Response:
        """A step of a draft."""
        known = {"problem": None, **context}
        return self.show(template, status, draft=draft, step=step, steps=STEPS, **known)

    def look(self, draft: Draft, step: str) -> Response:
        """Look at a draft beside its files, in the queue; the page of the step shows it."""
        self.works.begin(self.dispatcher.queue, look_of(draft), lambda _: self.desk.look(draft), more=draft.revision)
        return RedirectResponse(f"/desk/{draft.id}/{step}#look", 303)

    def looked(self, draft: Draft) -> Seen | None:
        """The latest look at a draft. One that failed at an earlier version of it says nothing about this one."""
        work = self.works.of(look_of(draft))
        seen = None if work is None else Seen.of(work)
        return None if seen is not None and seen.problem and seen.more != draft.revision else seen

    def seen(self, draft: Draft, form: Mapping[str, str]) -> Draft:
        """The draft, if it is still the one that the form was made from."""
        if form.get("revision") != str(draft.revision):
            raise Refused(
                "draft-changed",
                "this draft was changed meanwhile, in another tab",
                "open the step again: nothing of what you sent was taken",
            )
        return draft


def found_at(seen: Seen | None, is_wanted: Callable[[str], object]) -> list[Finding]:
    """What a look found about some places of a draft."""
    looked = None if seen is None else seen.value
    return [] if looked is None else [each for each in looked.findings if is_wanted(each.where)]


def look_of(draft: Draft) -> str:
    return f"desk look {draft.id}"


async def seat(here: Visitors) -> Seat:
    desk = here.app_state.desk
    if desk is None or not here.at_desk:
        raise Refused(
            "forbidden", "the desk is for whoever started it on this machine", "use the link that was printed there"
        )
    return Seat(here, desk)


Seated = Annotated[Seat, Depends(seat)]
