"""The page of the fleet in a browser: on a desk and on a phone, live, from the keyboard, and with hostile texts."""

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.web.browser.running import Start, Visit, Visitor, quick
from tests.web.browser.test_history import findings
from tests.web.fleets import DONE, FleetStore, fill_fleet, fill_night
from tildone.log.settings import FleetSettings
from tildone.plan.runs import LeaseRequest, LeaseState, WorkOutcome

PHONE, NARROW = (390, 844), (320, 700)
MARKUP = "<img src=x onerror=window.hacked=1>"
REVERSED = "\u202egnp.exe"
MIN_TARGET = 44


@pytest.fixture
def fleet(tmp_path: Path) -> FleetStore:
    return FleetStore(str(tmp_path / "plans.db"))


See = Callable[..., Visitor]


@pytest.fixture
def see(fleet: FleetStore, board: Start, visit: Visit) -> See:
    """Open the page of the fleet, or another one, of a board with some options."""
    return lambda *options, path="/fleet", **more: visit(board(Path(fleet.address), *options), path=path, **more)


def small_targets(page: Page) -> list[str]:
    """The buttons and links of the page that are smaller than a thumb needs."""
    found = page.locator("main").evaluate(
        """(main, least) => [...main.querySelectorAll("button, a")].filter((each) => {
            const box = each.getBoundingClientRect();
            return box.width && (box.height < least || box.width < 24);
        }).map((each) => each.outerHTML.slice(0, 120))""",
        MIN_TARGET,
    )
    return list(found)


@quick
def test_a_question_is_answered_on_a_phone(fleet: FleetStore, see: See) -> None:
    fleet.beat("build-01")
    fleet.add("billing-api")
    fleet.ask(fleet.take("billing-api"), "question", "Merge the two migrations, or keep both?")
    visitor = see(size=PHONE, has_touch=True)
    page = visitor.page
    visitor.is_live()
    expect(page.locator(".bottom a", has_text="Fleet")).to_have_attribute("aria-current", "page")
    expect(page.locator(".waits .need")).to_contain_text("Merge the two migrations, or keep both?")
    assert small_targets(page) == []
    assert findings(page, "fleet") == []

    page.get_by_role("button", name="Answer").tap()
    page.get_by_role("textbox", name="Your answer").fill("Keep both")
    page.get_by_role("button", name="Send").tap()

    expect(page.locator(".waits .need")).to_have_count(0)
    expect(page.locator(".runs .fleet-row")).to_contain_text("Queued")
    [(_, answer, _)] = fleet.answers("billing-api")
    assert answer == "Keep both"


def test_a_command_is_allowed_in_the_list_of_all_that_needs_a_person_a_dangerous_one_with_a_second_click(
    fleet: FleetStore, see: See
) -> None:
    for run, command in (("safe", "git push origin v2.4.0"), ("dangerous", "git push --force")):
        fleet.add(run)
        fleet.ask(fleet.take(run), "command", command, waits=False)
    page = see(path="/").page
    why = "Careful: it rewrites the history of a repository."
    expect(page.get_by_role("heading", level=1)).to_have_text("2 sessions need you")
    expect(page.locator(".need", has_text="origin")).not_to_contain_text("Careful")

    page.locator(".need", has_text="origin").get_by_role("button", name="Allow").click()
    expect(page.locator(".need")).to_have_count(1)
    expect(page.locator(".need")).to_contain_text(why)
    page.get_by_role("button", name="Allow").click()
    expect(page.get_by_role("dialog")).to_contain_text(why)
    page.get_by_role("button", name="Cancel").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    assert [[answer for _, answer, _ in fleet.answers(run)] for run in ("safe", "dangerous")] == [["yes"], []]
    page.get_by_role("button", name="Allow").click()
    page.get_by_role("dialog").get_by_role("button", name="Allow").click()

    expect(page.locator(".need")).to_have_count(0)
    assert [answer for _, answer, _ in fleet.answers("dangerous")] == ["yes"]


def test_what_happens_to_runs_and_workers_appears_by_itself(fleet: FleetStore, see: See) -> None:
    short = FleetSettings(lease=9_000, heartbeat=3_000, margin=500, reaper=500, renewal=500)
    fleet.use(lambda _, leases: leases.configure(short))
    session = fleet.add("importer", "da..", "Task")
    visitor = see()
    page = visitor.page
    visitor.is_live()
    expect(page.locator(".workers")).to_contain_text(["", "No workers yet"])
    expect(page.locator(".runs .fleet-row")).to_contain_text("Queued")
    asked = len(visitor.requests)

    fleet.beat("build-01", slots=2)
    expect(page.locator(".workers .fleet-row")).to_contain_text("build-01")
    lease = fleet.take("importer", "build-01")
    expect(page.locator(".runs .fleet-row")).to_contain_text("Working")
    expect(page.get_by_role("img", name="1 of 2 in use")).to_be_visible()
    fleet.marked(session, "Task", DONE)
    expect(page.get_by_role("img", name="2 of 4 closed")).to_be_visible()
    # No further sign of life, and nobody renews the lease.
    expect(page.locator(".workers .fleet-row")).to_contain_text("lost")
    expect(page.locator(".workers .fleet-row")).to_contain_text("1 to take over")
    expect(page.locator(".runs .fleet-row")).to_contain_text("Worker lost")
    fleet.close(lease, WorkOutcome.DONE)
    expect(page.locator(".runs .fleet-row")).to_contain_text("Done")

    later = [each for each in visitor.requests[asked:] if "/api/live" not in each]
    assert all("/api/fleet" in each for each in later)
    assert len(later) < 20


@quick
def test_a_run_is_cancelled_only_after_a_confirmation(fleet: FleetStore, see: See) -> None:
    fleet.beat("build-01")
    fleet.add("importer")
    page = see().page

    def choose_cancel() -> None:
        page.get_by_role("button", name="Change importer").click()
        page.get_by_role("menuitem", name="Cancel…").click()
        expect(page.get_by_role("dialog")).to_contain_text("Cancel importer?")

    choose_cancel()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    assert fleet.lease("importer").is_queued
    choose_cancel()
    page.get_by_role("button", name="Cancel the run").click()
    expect(page.locator(".runs .fleet-row")).to_contain_text("Cancelled")
    assert fleet.lease("importer").state is LeaseState.CANCELLED
    page.get_by_role("button", name="Change importer").click()
    page.get_by_role("menuitem", name="Retry").click()
    expect(page.locator(".runs .fleet-row")).to_contain_text("Queued")
    page.get_by_role("button", name="Drain build-01").click()
    page.get_by_role("button", name="Drain the worker").click()
    expect(page.locator(".workers .fleet-row")).to_contain_text("draining")
    [worker] = fleet.use(lambda _, leases: leases.workers())
    assert worker.request is LeaseRequest.DRAIN


def test_all_runs_are_paused_after_a_confirmation_and_resumed(fleet: FleetStore, see: See) -> None:
    fleet.beat("build-01")
    fleet.add("importer")
    fleet.add("docs")
    page = see().page

    page.get_by_role("button", name="Pause all").click()
    expect(page.get_by_role("dialog")).to_contain_text("2 runs will rest")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    assert [fleet.lease(run).is_queued for run in ("importer", "docs")] == [True, True]
    page.get_by_role("button", name="Pause all").click()
    page.get_by_role("button", name="Pause all runs").click()
    expect(page.locator(".runs .fleet-row", has_text="Paused")).to_have_count(2)
    assert [fleet.lease(run).state for run in ("importer", "docs")] == [LeaseState.PAUSED] * 2

    page.get_by_role("button", name="Resume all").click()
    expect(page.locator(".runs .fleet-row", has_text="Queued")).to_have_count(2)
    assert [fleet.lease(run).is_queued for run in ("importer", "docs")] == [True, True]


def test_workers_that_were_lost_long_ago_are_not_shown(fleet: FleetStore, see: See) -> None:
    for host, hours in (("yesterday", 20), ("last-week", 24 * 7)):
        fleet.was_seen(host, hours * 3_600_000)
    fleet.beat("build-01")
    page = see().page

    expect(page.locator(".workers .fleet-row")).to_have_count(2)
    expect(page.locator(".workers .fleet-row").last).to_contain_text("yesterday")
    expect(page.locator("ul.workers")).not_to_contain_text("last-week")


def test_a_board_that_is_read_only_shows_all_of_it_and_offers_nothing(fleet: FleetStore, see: See) -> None:
    fleet.beat("build-01")
    fleet.add("release")
    fleet.ask(fleet.take("release"), "command", "git push origin v2.4.0")
    page = see("--read-only").page

    expect(page.locator(".waits .need")).to_contain_text("git push origin v2.4.0")
    expect(page.locator(".runs .fleet-row")).to_contain_text("Needs you")
    expect(page.locator(".workers .fleet-row")).to_contain_text("build-01")
    expect(page.locator("main button")).to_have_count(0)


def test_hostile_texts_stay_texts(fleet: FleetStore, see: See) -> None:
    fleet.beat(MARKUP, MARKUP, version=MARKUP)
    fleet.add("hostile", "da.", f"{MARKUP} {REVERSED}", agent=MARKUP, model=MARKUP)
    fleet.ask(fleet.take("hostile", MARKUP), "command", f"{MARKUP}\n{REVERSED}", waits=False)
    visitor = see()
    page = visitor.page

    expect(page.locator(".waits pre")).to_have_text(f"{MARKUP}\n<U+202E>gnp.exe")
    expect(page.locator(".workers .fleet-row")).to_contain_text(MARKUP)
    expect(page.locator(".runs .fleet-row")).to_contain_text("<U+202E>gnp.exe")
    page.get_by_role("button", name="Drain").click()
    expect(page.get_by_role("dialog")).to_contain_text(MARKUP)
    assert page.locator("img").count() == 0
    assert page.evaluate("window.hacked") is None
    assert "\u202e" not in page.locator("body").inner_text()


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_axe_finds_nothing_and_nothing_is_wider_than_the_page(fleet: FleetStore, see: See, theme: str) -> None:
    fill_fleet(fleet.address)
    visitor = see(theme=theme)
    page = visitor.page
    expect(page.locator(".runs .fleet-row")).to_have_count(11)
    expect(page.locator(".waits .need")).to_have_count(3)
    found = findings(page, "desk")
    page.get_by_role("button", name="Change importer").click()
    found += findings(page, "menu")
    page.keyboard.press("Escape")
    for width, height in (PHONE, NARROW, (1000, 800)):
        page.set_viewport_size({"width": width, "height": height})
        found += findings(page, f"{width} px")
        assert page.evaluate("document.documentElement.scrollWidth") <= width

    assert found == []


def test_the_runs_that_need_a_person_are_those_that_say_so(fleet: FleetStore, see: See) -> None:
    """One of them is held by a worker, the other one by nobody."""
    fill_fleet(fleet.address)
    page = see(path="/fleet?state=waiting").page

    expect(page.locator(".chips [aria-current]")).to_have_text("Needs you2")
    expect(page.locator(".runs .fleet-row .pill")).to_have_text(["Needs you", "Needs you"])
    expect(page.locator(".tiles")).to_contain_text("4working3need you")
    page.locator(".chips a", has_text="Working").click()
    expect(page.locator(".runs .fleet-row .pill")).to_have_text(["Working"] * 4)
    page.go_back()
    expect(page.locator(".runs .fleet-row")).to_have_count(2)


def test_the_fleet_from_the_keyboard(fleet: FleetStore, see: See) -> None:
    fill_fleet(fleet.address)
    visitor = see(path="/")
    page = visitor.page
    visitor.is_live()
    expect(page.locator(".top nav a", has_text="Fleet")).to_have_text("Fleet3")
    page.keyboard.press("g")
    page.keyboard.press("f")
    expect(page.get_by_role("heading", level=1)).to_have_text("Fleet")
    expect(page.locator(".runs .fleet-row")).to_have_count(11)
    focused = page.locator(":focus")

    page.keyboard.press("n")
    expect(focused).to_contain_text("Merge the two migrations")
    page.keyboard.press("n")
    expect(focused).to_contain_text("git push origin v2.4.0")
    page.keyboard.press("d")
    expect(page.get_by_role("dialog")).to_contain_text("Answer with one key?")
    page.keyboard.press("Enter")
    expect(page.locator(".waits .need")).to_have_count(2)
    assert [answer for _, answer, _ in fleet.answers("release-2.4")] == ["no"]
    for key in "jjjk":
        page.keyboard.press(key)
    expect(focused).to_have_text("billing-api")
    page.keyboard.press("Tab")
    expect(focused).to_have_attribute("aria-label", "Change billing-api")
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    expect(page.locator(".toast")).to_contain_text("Asked to rest: billing-api")
    # The row is drawn again, and keeps the focus.
    expect(page.locator(".fleet-row", has_text="billing-api").first).to_contain_text("Paused")
    expect(focused).to_have_attribute("aria-label", "Change billing-api")
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("billing-api")


def test_without_a_fleet_there_is_no_way_to_its_page_which_says_how_to_get_one(fleet: FleetStore, see: See) -> None:
    visitor = see(path="/")
    page = visitor.page
    visitor.is_live()
    expect(page.get_by_role("link", name="Stats").first).to_be_visible()
    expect(page.get_by_role("link", name="Fleet")).to_have_count(0)
    visitor.go("/fleet")
    expect(page.locator(".empty")).to_contain_text("No workers yet")
    expect(page.locator(".empty")).to_contain_text("tildone fleet work")
    fleet.beat("build-01")
    expect(page.locator(".workers .fleet-row")).to_contain_text("build-01")
    expect(page.get_by_role("link", name="Fleet").first).to_be_visible()


def test_a_page_that_is_not_live_says_so_and_keeps_what_it_shows(fleet: FleetStore, see: See) -> None:
    fleet.beat("build-01")
    fleet.add("importer")
    visitor = see()
    page = visitor.page
    visitor.is_live()
    expect(page.locator(".runs .fleet-row")).to_have_count(1)

    visitor.board.stop()

    expect(page.locator(".live")).to_contain_text("Not live since")
    expect(page.locator(".runs .fleet-row")).to_contain_text("importer")
    page.get_by_role("button", name="Change importer").click()
    page.get_by_role("menuitem", name="Pause").click()
    expect(page.locator(".toast")).to_contain_text("The board does not answer")


def test_a_run_leads_to_its_session_and_back(fleet: FleetStore, see: See) -> None:
    fleet.add("importer")
    page = see().page
    page.get_by_role("link", name="importer").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("importer")
    page.go_back()
    expect(page.get_by_role("heading", level=1)).to_have_text("Fleet")
    page.go_forward()
    expect(page.get_by_role("heading", level=1)).to_have_text("importer")


def test_hundreds_of_runs_come_in_pages(fleet: FleetStore, see: See) -> None:
    for number in range(70):
        fleet.add(f"run-{number:03}")
    fleet.request("run-005", LeaseRequest.PAUSE)
    page = see().page
    expect(page.locator(".runs .fleet-row")).to_have_count(60)
    page.get_by_role("button", name="Show more").click()
    expect(page.locator(".runs .fleet-row")).to_have_count(70)
    expect(page.get_by_role("button", name="Show more")).to_have_count(0)
    page.locator(".fleet .chips a", has_text="Paused").click()
    expect(page.locator(".runs .fleet-row")).to_have_count(1)
    expect(page.locator(".runs .fleet-row")).to_contain_text("run-005")
    assert page.url.endswith("/fleet?state=paused")


def test_the_results_of_a_night_are_read_and_answered_in_one_place(fleet: FleetStore, see: See) -> None:
    fill_night(fleet.address)
    fleet.add("hostile", doing=MARKUP)
    fleet.close(fleet.take("hostile"), WorkOutcome.FAILED, f"{MARKUP}\n{REVERSED}")
    visitor = see(path="/results")
    page = visitor.page
    visitor.is_live()
    expect(page.locator(".head")).to_contain_text("4 need you, 3 done")
    failed = page.locator(".result", has_text="cli-completions")
    expect(failed).to_contain_text("E AssertionError: 'zsh' has no completion for --since")
    assert findings(page, "results") == []

    page.get_by_role("button", name="Transcript: importer").click()
    expect(page.get_by_role("dialog")).to_contain_text("tildone fleet transcript importer")
    page.get_by_role("button", name="Close").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    assert page.evaluate("window.hacked") is None

    failed.get_by_role("button", name="Retry").click()
    expect(page.locator(".panel", has_text="Queued").locator(".result")).to_contain_text("cli-completions")
    page.get_by_role("button", name="Leave it out").click()
    expect(page.locator(".head")).to_contain_text("2 need you, 3 done, 2 queued")
    assert [answer for _, answer, _ in fleet.answers("importer")] == ["discard"]
    page.locator(".result", has_text="hostile").get_by_role("button", name="Give up").click()
    page.get_by_role("dialog").get_by_role("button", name="Give up").click()
    expect(page.locator(".panel", has_text="Over").locator(".result")).to_contain_text("hostile")

    done = page.locator(".result", has_text="mobile-sync")
    done.get_by_role("button", name="Diff").click()
    expect(page.get_by_role("dialog")).to_contain_text("Its repository is not on the machine of the board.")
    expect(page.get_by_role("dialog")).to_contain_text("diff bbbbbbbbbbbb..tildone/mobile-sync")
    page.keyboard.press("Escape")
    done.get_by_role("button", name="Merge").click()
    expect(page.get_by_role("dialog")).to_contain_text("merge tildone/mobile-sync")


def test_the_results_fit_a_phone(fleet: FleetStore, see: See) -> None:
    fill_night(fleet.address)
    visitor = see(path="/results", size=PHONE, has_touch=True)
    page = visitor.page
    visitor.is_live()
    expect(page.locator(".result")).to_have_count(4)

    assert small_targets(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_names_of_runs_do_not_overlap_on_a_desk(fleet: FleetStore, see: See) -> None:
    fleet.beat("a-build-machine-with-a-long-name-01.example.org")
    for name in ("a-very-long-name-of-a-run-20261119-0300-abcdef", "AnotherNameWithoutAnyPlaceWhereItCouldBeBroken"):
        fleet.add(name)
        fleet.take(name, "a-build-machine-with-a-long-name-01.example.org")
    page = see(size=(1280, 800)).page
    expect(page.locator(".runs .fleet-row")).to_have_count(2)

    wide = "rows => rows.filter((each) => each.scrollWidth > each.clientWidth + 1).map((each) => each.outerHTML)"
    assert page.locator(".fleet-row .cell").evaluate_all(wide) == []
