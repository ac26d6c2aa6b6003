"""The course: weeks, lessons and exercises, as the server's Learn pages have them."""

from __future__ import annotations

from typing import Final

from discreet.lab.lectures import LECTURES
from discreet.server.learn.lessons import LESSONS, WEEKS
from tests.reference.text import cell, escaped, line, table

HEAD: Final = f"""# Lessons

A course on differential privacy in {len(WEEKS)} weeks and {len(LESSONS)} lessons, over invented data: sliders, figures of the
lectures beside yours, a question in each. `discreet serve --demo` has it at `/learn`, without a token; the exercises are
notebooks, shown [with their results](gallery/hospital.ipynb) under Lessons and notebooks. Made from the lessons themselves by `python -m tests.reference`.

"""


def page() -> str:
    parts = [HEAD]
    for number, week in enumerate(WEEKS, 1):
        rows = ([escaped(lesson.title), line(lesson.teaser), cell(f"/learn/{lesson.slug}")] for lesson in week.lessons)
        readings = "; ".join(
            f"lecture {each.lecture} ({LECTURES[each.lecture]}): {each.part}" for each in week.readings
        )
        exercise = f"[{week.exercise}](gallery/{week.exercise}.ipynb): {' '.join(map(escaped, week.tasks))}"
        parts.append(
            f"## Week {number}: {escaped(week.title)}\n\n{escaped(week.about)}\n\n"
            + table(["lesson", "about", "where"], rows)
            + f"\nRead: {escaped(readings)}.\n\nExercise: {exercise}\n"
        )
    return "\n".join(part.rstrip("\n") + "\n" for part in parts)
