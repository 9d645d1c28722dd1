"""Pages of rows: in order, without gaps or repetitions, however the rows change meanwhile."""

import pytest

from tests.overview.stores import World
from tildone.app.sessions import SORTS, Cursor
from tildone.base.errors import UsageError
from tildone.plan.events import Directive
from tildone.plan.model import Status
from tildone.plan.ops import Mark, Numbered
from tildone.plan.text.state import SessionWord


def written(world: World, count: int) -> None:
    for number in range(count):
        world.write(f"s{number:02}", "a")
    world.index.refresh()


def test_what_needs_a_person_comes_first_then_the_last_changed(world: World) -> None:
    for name in ("idle", "done", "waits", "paused"):
        world.write(name, "a")
    world.session("done").change([Mark(Numbered((1,)), Status.COMPLETED)])
    world.session("waits").change([Mark(Numbered((1,)), Status.BLOCKED)])
    world.session("paused").set_directive(Directive.PAUSE)
    world.index.refresh()

    assert world.names() == ["waits", "paused", "idle", "done"]
    assert list(world.index.counts()) == [row.word for row in world.index.rows().rows]


@pytest.mark.parametrize("sort", SORTS)
@pytest.mark.parametrize("limit", [1, 3, 10, 60])
def test_pages_together_are_the_whole_list(world: World, sort: str, limit: int) -> None:
    written(world, 10)
    found: list[str] = []
    after = None
    while True:
        page = world.index.rows(sort=sort, after=after, limit=limit)
        found += [row.name for row in page.rows]
        after = page.after
        if after is None:
            break

    assert found == world.names(sort=sort)
    assert len(found) == 10


def test_a_row_that_is_deleted_or_added_between_two_pages_moves_no_other(world: World) -> None:
    written(world, 6)
    first = world.index.rows(sort="title", limit=3)
    world.store.delete("s02", expected=world.store.session_head("s02").head)
    world.write("s00b", "a")
    world.index.refresh()

    assert [row.name for row in world.index.rows(sort="title", after=first.after).rows] == ["s03", "s04", "s05"]


def test_the_query_finds_titles_names_task_texts_states_and_agents_in_any_case(world: World) -> None:
    world.write("/home/ada/Parser#claude:5f0c1234", "Read the Grammar")
    world.write("other", "x")
    world.index.refresh()

    for query in ("parser", "HOME", "grammar read", "GRAMMAR idle", "(claude"):
        assert world.names(query=query) == ["/home/ada/Parser#claude:5f0c1234"], query
    assert world.names(query="grammar x") == []
    assert world.names(query="idle") == world.names()


def test_only_rows_of_the_states_asked_for_are_returned_and_a_filtered_page_has_a_cursor(world: World) -> None:
    written(world, 5)
    for name in ("s01", "s03"):
        world.session(name).set_directive(Directive.PAUSE)
    world.index.refresh()
    words = {SessionWord.PAUSED}
    page = world.index.rows(words=words, sort="title", limit=1)

    assert world.names(words=words, sort="title") == ["s01", "s03"]
    rest = world.index.rows(words=words, sort="title", after=page.after, limit=1)
    assert ([row.name for row in rest.rows], rest.after) == (["s03"], None)


@pytest.mark.parametrize("cursor", ["", "!", "bm8=", "e30=", "WzFd", "é"])
def test_a_cursor_that_is_none_is_refused(world: World, cursor: str) -> None:
    with pytest.raises(UsageError, match="cursor"):
        world.index.rows(after=Cursor(cursor))


def test_a_cursor_of_another_order_and_an_unknown_order_are_refused(world: World) -> None:
    written(world, 3)
    with pytest.raises(UsageError, match="another order"):
        world.index.rows(sort="updated", after=world.index.rows(limit=1).after)
    with pytest.raises(UsageError, match="there is no order 'size'"):
        world.index.rows(sort="size")
