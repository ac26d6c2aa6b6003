"""The page about the language says what the fixtures say."""

from __future__ import annotations

from tests.sql import fixtures, language


def test_the_page_is_up_to_date() -> None:
    assert language.PAGE.read_text(encoding="utf-8") == language.page(), "run python -m tests.sql.language"


def test_every_fixture_is_on_the_page() -> None:
    page = language.page()
    assert all(fixture.shows in page for fixture in fixtures.ANSWERED if fixture.part != "functions")
    assert all(refusal.shows in page for refusal in fixtures.REFUSED)
    assert all(fixture.part in {*language._PARTS, "functions"} for fixture in fixtures.ANSWERED)


def test_tables_have_as_many_cells_in_every_row() -> None:
    widths: list[int] = []
    for line in language.page().splitlines():
        if line.startswith("|"):
            widths.append(line.replace("\\|", "").count("|"))
            assert widths[-1] == widths[0], line
        else:
            widths = []
