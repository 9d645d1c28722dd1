"""Signing in without the link: with a token of one's own, or because a proxy names the person."""

import re

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.web.boards import Place
from tests.web.boards import board as serving
from tests.web.browser.running import quick
from tests.web.browser.test_accessibility import findings
from tildone.plan.model import Task
from tildone.plan.ops import Append

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
    store = place.store()
    try:
        newest = next(store.history(place.settings().session))
    finally:
        store.close()
    return newest.author.name


@quick
def test_a_person_signs_in_with_a_token(chromium: Browser, planned: Place) -> None:
    token = planned.run("board", "token", "add", "Mara").stdout.split()[-1]
    with serving(planned) as running:
        context = chromium.new_context()
        page = context.new_page()
        page.goto(f"{running.url}/")
        page.get_by_role("link", name="Sign in").click()
        field = page.get_by_label("Token")
        expect(field).to_have_attribute("type", "password")
        assert findings(page, "sign-in") == []
        field.fill("x" * len(token))
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("link", name="Try again")).to_be_visible()
        page.get_by_role("link", name="Try again").click()

        page.get_by_label("Token").fill(token)
        page.keyboard.press("Enter")

        expect(page).to_have_url(f"{running.url}/")
        expect(page.get_by_title("Mara")).to_have_text("M")
        author = start_first(page, planned)
        context.close()

    assert author == "Mara"


@quick
def test_a_proxy_signs_a_person_in_without_a_question(chromium: Browser, planned: Place) -> None:
    """The browser sends the header in place of the proxy."""
    with serving(planned, *PROXY) as running:
        context = chromium.new_context(extra_http_headers={"X-Forwarded-User": "Grace Hopper"})
        page = context.new_page()
        page.goto(f"{running.url}/")

        expect(page.get_by_title("Grace Hopper")).to_have_text("GH")
        expect(page).to_have_url(re.compile(r"/$"))
        author = start_first(page, planned)
        context.close()

    assert author == "Grace Hopper"


def test_whom_the_proxy_does_not_name_is_told_so(chromium: Browser, planned: Place) -> None:
    with serving(planned, *PROXY) as running:
        context = chromium.new_context()
        page = context.new_page()
        page.goto(f"{running.url}/")

        expect(page).to_have_url(f"{running.url}/in")
        expect(page.get_by_role("link", name="Try again")).to_be_visible()
        expect(page.get_by_label("Token")).to_have_count(0)
        context.close()
