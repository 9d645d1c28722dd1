"""Text of others is shown as text, pages of others get nothing, and people sign in with a token or by a proxy."""

import re
import threading
from collections.abc import Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.web.boards import Place
from tests.web.boards import board as serving
from tests.web.browser.plans import Placed, small_store
from tests.web.browser.running import Start, Visit, Visitor, quick
from tests.web.browser.test_history import findings
from tests.web.sample_data import Story
from tildone.app.opening import store_at
from tildone.plan.model import Phase, Plan, Status, Task
from tildone.plan.ops import Append

MARKUP = "<img src=x onerror='window.ran=1'><script>window.ran=1</script><svg onload='window.ran=1'>"
HOSTILE = [
    MARKUP,
    "\x1b[31mred\x1b[0m\x1b]8;;http://evil.example\x07link",
    "right \u202eot tfel\u202c \u2066isolated",
    "zero\u200bwidth\u200djoined\ufeff\u2060\U000e0041",
    "javascript:window.ran=1 data:text/html,<script>window.ran=1</script>",
    "line\nbreak\r\nand\ttab\u2028separator",
    "\u0300" * 400 + "zalgo",
    "word" * 25_000,
    "'\"`${window.ran=1}{{7*7}}</textarea></bdi>",
]
NAME = "/home/mk/<b onclick='window.ran=1'>bold</b>\u202egnitteg"


def hostile_store(folder: Path) -> Path:
    """A store in which every field that others write is hostile."""
    path = folder / "plans.db"
    store = store_at(str(path))
    story = Story(store, NAME, host="<i>host", machine=MARKUP)
    statuses = [*Status] * 2
    tasks = tuple(
        Task(text, status, (text, MARKUP), source=MARKUP) for text, status in zip(HOSTILE, statuses, strict=False)
    )
    story.at(9).change(Plan((Phase(MARKUP, tasks), Phase("\u202ephase\x1b[2J", (Task("last"),)))))
    story.at(3).mark("last", Status.IN_PROGRESS, note=MARKUP, by=MARKUP)
    story.works(MARKUP, minutes=2)
    for text in HOSTILE:
        story.ask("command", text, "once", MARKUP, minutes=1, detail=text)
    story.ask("input", MARKUP, minutes=1)
    store.close()
    return path


def nothing_ran(page: Page) -> None:
    assert page.evaluate("window.ran") is None
    assert page.locator("img, script:not([type=module]), #app b[onclick], iframe, object, embed").count() == 0


def nothing_leaves_its_place(page: Page) -> None:
    """No sideways scrolling, and no invisible or reordering character as itself."""
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    shown = page.evaluate("document.body.innerText")
    assert not {"\u202e", "\u200b", "\u2066", "\x1b", "\ufeff", "\U000e0041"} & set(shown)


def to_the_cards(page: Page) -> None:
    """The questions fill more than two screens: cards that far down are not in the document."""
    expect(page.locator(".need")).to_have_count(len(HOSTILE) + 1)
    page.evaluate("scrollTo(0, document.body.scrollHeight)")


@pytest.fixture
def hostile(tmp_path: Path, board: Start, visit: Visit) -> Visitor:
    return visit(board(hostile_store(tmp_path)))


@quick
def test_hostile_text_in_the_overview_is_text_and_a_command_is_shown_whole(hostile: Visitor) -> None:
    """What a person allows must not end beyond a fold."""
    expect(hostile.page.locator(".need pre", has_text="wordword")).to_have_text("word" * 25_000)
    to_the_cards(hostile.page)
    expect(hostile.page.locator(".card")).to_have_count(1)

    nothing_ran(hostile.page)
    nothing_leaves_its_place(hostile.page)
    expect(hostile.page.locator(".need").first).to_contain_text("<script>window.ran=1</script>")


@quick
@pytest.mark.parametrize("size", [(1440, 900), pytest.param((390, 844), marks=pytest.mark.slow)])
def test_hostile_text_in_a_session_its_log_and_its_statistics_is_text(hostile: Visitor, size: tuple[int, int]) -> None:
    width, height = size
    hostile.page.set_viewport_size({"width": width, "height": height})
    to_the_cards(hostile.page)
    hostile.page.locator(".grid a").click()
    expect(hostile.page.locator("li.task")).to_have_count(len(HOSTILE) + 1)

    nothing_ran(hostile.page)
    nothing_leaves_its_place(hostile.page)
    expect(hostile.page.locator("li.task").first).to_contain_text(MARKUP)
    folded = hostile.page.locator("li.task", has_text="wordword")
    expect(folded.get_by_role("button", name="show all 100,000").first).to_be_visible()
    folded.locator(".words").get_by_role("button").click()
    expect(folded.locator(".words")).to_have_text("word" * 25_000)
    nothing_leaves_its_place(hostile.page)
    address = hostile.page.url.removeprefix(hostile.board.address)
    for page in ("log", "stats"):
        hostile.go(f"{address}/{page}")
        expect(hostile.page.locator(".panel").first).to_be_visible()
        nothing_ran(hostile.page)
        nothing_leaves_its_place(hostile.page)


def test_what_a_person_types_is_stored_as_it_is(tmp_path: Path, board: Start, visit: Visit) -> None:
    path = small_store(tmp_path, "first")
    visitor = visit(board(path))
    visitor.open_session("small")
    visitor.enter("Add a task", MARKUP)
    expect(visitor.page.locator("li.task")).to_have_count(2)

    nothing_ran(visitor.page)
    assert Placed(path).texts()[1] == MARKUP


@pytest.fixture
def other_site() -> Iterator[str]:
    """A page on another port of the same host: browsers send it our cookies."""

    class Site(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(b"<!doctype html><title>evil</title>")

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Site)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    thread.join()
    server.server_close()


TRY_ALL = Path(__file__).with_name("other_site.js").read_text(encoding="utf-8")
"""What a page on another port tries; it returns what it got."""


@quick
def test_a_page_on_another_port_gets_nothing_and_its_form_changes_nothing(
    tmp_path: Path, board: Start, visit: Visit, other_site: str
) -> None:
    path = small_store(tmp_path, "first")
    visitor = visit(board(path))
    visitor.open_session("small")
    visitor.is_live()
    key = visitor.page.url.rpartition("/")[2]
    evil = visitor.context.new_page()
    evil.goto(other_site)

    got = evil.evaluate(TRY_ALL, visitor.board.address)
    assert set(got.values()) == {"refused"}, got
    evil.evaluate(
        """(action) => { const form = document.createElement("form"); form.method = "post"; form.enctype = "text/plain";
        form.action = action; const field = document.createElement("input");
        field.name = '{"ops":[{"op":"remove","at":[0]}],"x":"'; field.value = '"}'; form.append(field);
        document.body.append(form); form.submit(); }""",
        f"{visitor.board.address}/api/s/{key}/ops",
    )
    evil.wait_for_load_state()

    expect(evil.locator("body")).to_contain_text("error")
    assert Placed(path).texts() == ["first"]


PROXY = ("--user-header", "X-Forwarded-User", "--trusted-proxy", "127.0.0.1")


@pytest.fixture
def planned(place: Place) -> Place:
    """A project with one open task."""
    place.session().change([Append((Task("first"),))])
    return place


def start_first(page: Page, place: Place) -> str:
    """Start the task in the page; return who did it, as the log has it."""
    page.get_by_role("link", name="project", exact=True).last.click()
    sign = page.locator("li.task", has_text="first").locator(".signal")
    sign.click()
    expect(page.locator(".toast")).to_contain_text("Started: first")
    with closing(place.store()) as store:
        return next(store.history(place.settings().session)).author.name


@quick
def test_a_person_signs_in_with_a_token(chromium: Browser, planned: Place) -> None:
    token = planned.run("board", "token", "add", "Mara").stdout.split()[-1]
    with serving(planned) as running:
        context = chromium.new_context()
        page = context.new_page()
        page.goto(f"{running.url}/stats")
        # One way in, and the page that was asked for comes after it.
        expect(page.get_by_role("heading")).to_have_text(["Sign in"])
        expect(page.locator(".cmd")).to_have_count(1)
        field = page.get_by_label("Token")
        expect(field).to_have_attribute("type", "password")
        assert findings(page, "sign-in") == []
        field.fill("x" * len(token))
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("link", name="Try again")).to_be_visible()
        expect(page.locator(".cmd")).to_have_text(["tildone board"])
        page.reload()

        page.get_by_label("Token").fill(token)
        page.keyboard.press("Enter")

        expect(page).to_have_url(f"{running.url}/stats")
        expect(page.locator(".tiles")).to_be_visible()
        page.goto(f"{running.url}/")
        expect(page.get_by_title("Mara")).to_have_text("M")
        author = start_first(page, planned)
        context.close()

    assert author == "Mara"


@quick
def test_a_proxy_signs_a_person_in_without_a_question_and_whom_it_does_not_name_is_told_so(
    chromium: Browser, planned: Place
) -> None:
    """The browser sends the header in place of the proxy."""
    with serving(planned, *PROXY) as running:
        page = chromium.new_page()
        page.goto(f"{running.url}/")
        expect(page).to_have_url(f"{running.url}/in")
        expect(page.get_by_role("link", name="Try again")).to_be_visible()
        expect(page.get_by_label("Token")).to_have_count(0)
        expect(page.get_by_role("heading")).to_have_text("The proxy does not say who you are.")
        page.goto(f"{running.url}/")
        expect(page.get_by_text("The proxy in front of this board signs you in.")).to_be_visible()
        page.close()
        context = chromium.new_context(extra_http_headers={"X-Forwarded-User": "Grace Hopper"})
        page = context.new_page()
        page.goto(f"{running.url}/")

        expect(page.get_by_title("Grace Hopper")).to_have_text("GH")
        expect(page).to_have_url(re.compile(r"/$"))
        author = start_first(page, planned)
        context.close()

    assert author == "Grace Hopper"
