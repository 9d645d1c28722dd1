"""What hooks tell a model, how the plan follows its native list, and when it is held, as stories."""

import pytest

from tests.hooks.agent import HookedAgent
from tests.hooks.stories import replay, stories

STORIES = {title: story for page in ("news.md", "mirror.md", "gate.md") for title, story in stories(page).items()}


@pytest.mark.parametrize("title", STORIES)
def test_a_story_goes_as_it_is_told(agent: HookedAgent, title: str) -> None:
    replay(agent, STORIES[title])
