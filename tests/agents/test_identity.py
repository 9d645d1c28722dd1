"""The identity of an agent and its text form, which other processes and older versions read."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tildone.stores.agents import MAX_CONVERSATION_ID_CHARS, AgentId, agent_id, digest


def test_the_text_form_is_fixed() -> None:
    """Records, notes and session names that earlier versions wrote contain it."""
    for identity, text in (
        (AgentId("claude", "5f0c"), "claude:5f0c"),
        (AgentId("claude", "a:b"), "claude:a:b"),
        (AgentId("gemini", pid=7), "gemini:pid:7"),
        (AgentId("gemini"), "gemini:pid:0"),
        (AgentId(pid=7), "pid:7"),
        (AgentId(conversation="http"), "http"),
        (AgentId("claude", "pid:07"), "claude:pid:07"),
        (AgentId("claude", "pid:x"), "claude:pid:x"),
    ):
        assert (str(identity), AgentId.parse(text)) == (text, identity), identity


@given(st.text(max_size=20))
def test_every_text_that_parses_is_the_text_of_what_it_parses_to(text: str) -> None:
    try:
        identity = AgentId.parse(text)
    except ValueError:
        return
    assert str(identity) == text


@given(st.sampled_from(("claude", "codex", "opencode")), st.text(max_size=250), st.integers(0, 2**31))
def test_an_identity_survives_its_text_form(integration: str, conversation: str, pid: int) -> None:
    identity = agent_id(integration, conversation, pid)

    assert AgentId.parse(str(identity)) == identity


def test_a_text_without_an_agent_is_refused() -> None:
    for text in ("", ":", "claude:", ":x"):
        with pytest.raises(ValueError, match="not an agent id"):
            AgentId.parse(text)


def test_a_conversation_identifies_an_agent_before_its_process_does() -> None:
    assert agent_id("claude", "a", 7) == AgentId("claude", "a")
    assert agent_id("claude", "", 7) == AgentId("claude", pid=7)


def test_a_long_conversation_id_is_replaced_by_its_digest() -> None:
    longest = "x" * MAX_CONVERSATION_ID_CHARS

    assert agent_id("claude", longest, 0).conversation == longest
    assert agent_id("claude", f"{longest}x", 0).conversation == digest(f"{longest}x")


def test_an_agent_is_anonymous_as_long_as_only_its_process_is_known() -> None:
    known, by_process, unknown = AgentId("claude", "a"), AgentId("claude", pid=7), AgentId("claude")

    assert [one.is_anonymous for one in (known, by_process, unknown)] == [False, True, True]
    assert [one.is_unknown for one in (known, by_process, unknown)] == [False, False, True]
    assert [one.is_process(7) for one in (known, by_process, unknown)] == [False, True, False]
