"""What is stored and how it is read: events, checks, records, archives, addresses; anything else is refused."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import plans
from tests.plans import COMPLETED, plan_of, unnumbered_plan_of
from tildone.app.answering import caution_of, open_questions
from tildone.base import replace
from tildone.base.json import dump, parse, quoted
from tildone.log.kept import counts_of, filled
from tildone.log.needs import (
    ANSWERED_LIFETIME_MS,
    Need,
    NeedAnswered,
    answered,
    decode_need,
    decode_needs,
    encode_need,
    open_needs,
    without_old,
)
from tildone.log.presence import AT_WORK_MS, Presence, decode_presences, encode_presence, with_presence
from tildone.plan import codec
from tildone.plan.events import (
    Actor,
    AgentUsage,
    Author,
    Bound,
    Call,
    Directive,
    DirectiveSet,
    Event,
    Labelled,
    Ledger,
    Nudged,
    PlanChanged,
    SessionHead,
    StopFingerprint,
    Tripped,
)
from tildone.plan.formats import archive
from tildone.plan.formats.archive import Archive
from tildone.plan.model import Check, Plan, Proof, Result, Task, flat, numbered
from tildone.plan.runs import Lease
from tildone.stores import StoreAddress, parse_address, summary
from tildone.stores.memory import MemoryStore
from tildone.stores.summary import summarize

wild = st.text(st.characters(codec=None), max_size=20) | st.just("\ud800 half a pair \udfff")
ledgers = st.builds(
    Ledger,
    *[st.integers(0, 2**53)] * 3,
    st.lists(st.integers(1, 99)).map(tuple),
    st.lists(wild).map(tuple),
    st.integers(0, 200),
)
facts = st.one_of(
    st.builds(
        PlanChanged,
        plans.plans | plans.numbered_plans | plans.proved_plans,
        st.none() | st.builds(Call, wild, wild),
        st.integers(0, 99),
        st.integers(0, 2**53),
        st.sampled_from(Directive),
        ledgers,
    ),
    st.builds(Nudged, st.integers(1, 20), st.integers(1, 60)),
    st.builds(Nudged, st.integers(0, 20), st.integers(0, 60), of_subagent=st.sampled_from([True])),
    st.builds(Nudged, st.integers(1, 20), st.integers(1, 60), st.builds(StopFingerprint, wild, wild), st.just(0)),
    st.builds(Nudged, st.integers(1, 20), st.integers(1, 60), st.just(StopFingerprint("f")), st.integers(0, 9)),
    st.builds(DirectiveSet, st.sampled_from(Directive)),
    st.builds(DirectiveSet, st.sampled_from(Directive), st.integers(1, 60), st.integers(0, 2**53), ledgers),
    st.builds(Tripped, st.sampled_from(Bound), st.integers(1, 60)),
    st.builds(Labelled, wild, wild),
)
authors = st.builds(Author, wild, wild, wild)
counts = st.none() | st.integers(0, 2**53)
usages = st.builds(AgentUsage, counts, counts, st.none() | st.floats(0, 1e6)).filter(lambda usage: usage.is_known)
events = st.builds(
    Event, wild, st.none() | wild, st.integers(0, 2**53), st.sampled_from(Actor), facts, authors, st.none() | usages
)


@given(events)
def test_an_event_survives_encoding_and_decoding(event: Event) -> None:
    """Whatever its texts contain; the text is one line of ASCII."""
    text = codec.encode(event)

    assert codec.decode(text) == event
    assert text.isascii()
    assert "\n" not in text


@pytest.mark.parametrize(
    "text",
    [
        *("", "{", "[]", "null", '{"v":1}'),
        '{"v":99,"id":"a","parent":null,"at":1,"actor":"agent","fact":"nudged","count":1,"drift":1}',
        '{"v":1,"id":"a","parent":null,"at":1,"actor":"nobody","fact":"nudged","count":1,"drift":1}',
        '{"v":1,"id":"a","parent":null,"at":1,"actor":"agent","fact":"unheard of"}',
        '{"v":1,"id":"a","parent":null,"at":1,"actor":"user","fact":"directive_set"}',
        '{"v":1,"id":"a","parent":null,"at":1,"actor":"agent","fact":"plan_changed","plan":[{"name":1}],"drift":0}',
    ],
)
def test_invalid_events_are_refused(text: str) -> None:
    """Damaged text and newer versions are never guessed at."""
    with pytest.raises(codec.UndecodableEvent, match="not an event"):
        codec.decode(text)


def test_an_older_version_is_upcast_step_by_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each upcast converts one version to the next."""
    renamed = {0: lambda data: {**data, "v": 1, "count": data["n"], "drift": data["n"]}}
    monkeypatch.setattr(codec, "UPCASTS", renamed)

    event = codec.decode('{"v":0,"id":"a","parent":null,"at":5,"actor":"timer","fact":"nudged","n":3}')

    assert event == Event("a", None, 5, Actor.TIMER, Nudged(3, 3))


@pytest.mark.parametrize("text", ["", "{", "[1,]", "NaN", '{"a": Infinity}', "[" * 100_000, "9" * 5000])
def test_parse_refuses_invalid_json(text: str) -> None:
    """Including constants that JSON does not have, deep nesting, and huge numbers."""
    with pytest.raises(ValueError, match=r"."):
        codec.parse_strictly(text)


def test_an_empty_plan_is_an_empty_list_and_an_event_of_before_has_no_author() -> None:
    emptied = Event("a", None, 1, Actor.USER, PlanChanged(Plan()))

    assert '"plan":[]' in codec.encode(emptied)
    assert codec.decode(codec.encode(emptied)) == emptied

    old = '{"v":1,"id":"a","parent":null,"at":5,"actor":"user","fact":"nudged","count":1,"drift":1}'

    assert codec.decode(old).author == Author()


WITH_AUTHOR = Event(
    "a",
    None,
    1,
    Actor.AGENT,
    PlanChanged(flat(Task("x", number=1, from_user=True), Task("y"), Task("z", number=3, source='"é'))),
    Author("Zoë", "claude:1"),
)


def test_an_event_has_its_author_and_a_task_its_origin() -> None:
    """Only what is known is stored."""
    text = codec.encode(WITH_AUTHOR)

    decoded = codec.decode(text)

    assert '"actor":"agent","by":{"name":"Zo\\u00eb","agent":"claude:1"},"fact":' in text
    assert text.count('"from_user":true') == 1
    assert decoded == WITH_AUTHOR
    assert isinstance(decoded.fact, PlanChanged)
    assert [task.from_user for task in decoded.fact.plan.tasks] == [True, False, False]
    assert [task.source for task in decoded.fact.plan.tasks] == ["", "", '"é']
    assert text.count('"source":') == 1
    assert "by" not in codec.parse_strictly(codec.encode(Event("a", None, 1, Actor.TIMER, Nudged(1, 1))))


@pytest.mark.parametrize(
    "by", ["null", "7", '"Ada"', "[]", "{}", '{"name":7,"agent":null,"model":[]}', '{"new":"key"}']
)
def test_an_author_of_another_form_is_unknown(by: str) -> None:
    """A later version may store something else; the event is not lost for it."""
    text = f'{{"v":1,"id":"a","parent":null,"at":5,"actor":"user","by":{by},"fact":"nudged","count":1,"drift":1}}'

    assert codec.decode(text) == Event("a", None, 5, Actor.USER, Nudged(1, 1))


def test_keys_that_a_reader_does_not_know_are_ignored() -> None:
    """Therefore an earlier version reads the events of this one: to it, `by` and `from_user` are such keys."""
    data = codec.parse_strictly(codec.encode(WITH_AUTHOR))
    data["future"] = data["plan"][0]["future"] = data["plan"][0]["tasks"][0]["future"] = {"any": "thing"}

    assert data["v"] == 1
    assert codec.event_from_json(data) == WITH_AUTHOR


CHECK = Check(("make", "test"), "sub", 30, 2, ("src/*",))
PROOF = Proof(
    *(Result.FAILED, ("make",), "f", "a", 2, "why", 12, 34, "ada", "/out.log", "not recorded", "/bin/make", "5e"),
    imported=True,
)
WHOLE = Task("x", COMPLETED, number=3, check=CHECK, proof=PROOF, after=(1, 2), touches=("docs",))


def event(plan: Plan) -> Event:
    return Event("a", None, 1, Actor.USER, PlanChanged(plan))


@pytest.mark.parametrize("by_model", [False, True])
def test_every_field_survives_but_the_end_of_the_output(*, by_model: bool) -> None:
    """Who wrote a check, too: a person by default, as in events of before."""
    check = replace(CHECK, by_model=by_model)
    plan = replace(flat(replace(WHOLE, check=check)), check=check, proof=PROOF, last_number=3)

    decoded = codec.decode(codec.encode(event(plan)))

    assert isinstance(decoded.fact, PlanChanged)
    for owner in (decoded.fact.plan, decoded.fact.plan.tasks[0]):
        assert owner.check == check
        assert owner.check is not None
        assert owner.check.by_model == by_model
        assert owner.proof is not None
        kept = [name for name in Proof.__match_args__ if getattr(owner.proof, name) == getattr(PROOF, name)]
        assert kept == [name for name in Proof.__match_args__ if name != "tail"]
    assert decoded.fact.plan.tasks[0] == replace(WHOLE, check=check)


def test_owners_are_stored_as_ranges() -> None:
    """A number beyond the last one is that of no task, and other text is damage."""
    owners = {1: "claude:a", 2: "claude:a", 3: 'codex:"é', 4: "claude:a", 5: ""}
    plan = numbered(flat(*(Task(str(number), owner=owner) for number, owner in owners.items())))
    text = codec.encode(event(plan))

    assert '"owners":{"claude:a":"1-2,4","codex:\\"\\u00e9":"3"}' in text
    for stored in (text, text.replace('"1-2,4"', '"1-2,4-99999999999"')):
        fact = codec.decode(stored).fact
        assert isinstance(fact, PlanChanged)
        later = {5: "claude:a"} if stored != text else {}
        assert {task.number: task.owner for task in fact.plan.tasks} == owners | later
    for damaged in ('"x"', '"1-x"', '""', "1"):
        with pytest.raises(codec.UndecodableEvent):
            codec.decode(text.replace('"1-2,4"', damaged))


@given(plans.proved_plans)
def test_a_plan_alone_survives_as_data(plan: Plan) -> None:
    assert codec.plan_from_json(codec.plan_to_json(plan)) == plan


def test_only_values_other_than_the_default_are_written() -> None:
    """Byte for byte: copies of a session are compared by their texts."""
    task = Task("x", number=1, check=Check(("make",)), proof=Proof(Result.PASSED, ("make",)))

    assert (
        '{"text":"x","status":"pending","number":1,"check":{"command":["make"]},'
        '"proof":{"result":"passed","command":["make"]}}'
    ) in codec.encode(event(flat(task)))

    assert codec.encode(event(plan_of("a", "b"))) == (
        '{"v":1,"id":"a","parent":null,"at":1,"actor":"user","fact":"plan_changed","plan":[{"name":"","tasks":['
        '{"text":"a","status":"pending","number":1},{"text":"b","status":"pending","number":2}]}],"drift":0,"counted":2}'
    )
    assert codec.plan_to_json(plan_of("a")) == {
        "phases": [{"name": "", "tasks": [{"text": "a", "status": "pending", "number": 1}]}],
        "counted": 1,
    }


@given(plans.proved_plans)
def test_the_summary_knows_whether_anything_has_a_check(plan: Plan) -> None:
    found, imitated = (summarize("h", [codec.encode(event(each))]) for each in (plan, plan_of(summary.CHECK)))

    assert found is not None
    assert imitated is not None
    assert not imitated.checked
    checks = [plan.check, *(task.check for task in plan.tasks)]
    assert found.checked is any(check is not None for check in checks)


NEED = Need("n", "s", "command", "ls", ("once", "no"), 5)
PRESENCE = Presence("claude:1", "s", beat=1_000_000)


@pytest.mark.parametrize(
    "text",
    [None, 7, "", "{", "[]", "{}", '{"agent":"a"}', '{"agent":3,"session":"s"}', '{"agent":"a","session":["s"]}'],
)
def test_what_is_no_record_is_left_out(text: object) -> None:
    assert decode_presences([text, encode_presence(PRESENCE)]) == [PRESENCE]
    assert decode_needs([text, encode_need(NEED)]) == [NEED]


def test_later_fields_are_ignored_and_missing_ones_have_their_defaults() -> None:
    text = '{"id":"n","session":"s","kind":"input","text":"?","colour":"red","options":null}'

    assert decode_need(text) == Need("n", "s", "input", "?")

    assert decode_presences([encode_presence(replace(PRESENCE, cost=float("nan")))]) == [PRESENCE]


@given(st.text(), st.lists(st.text()))
def test_any_text_survives_in_ascii(text: str, options: list[str]) -> None:
    need = Need(text, text, text, text, tuple(options), 1, text, text, text, text, 2)
    presence = Presence(text, text, text, text, text, text, 1, text, 2, 0.5, 3)

    assert decode_need(encode_need(need)) == need
    assert decode_presences([encode_presence(presence)]) == [presence]
    assert encode_need(need).isascii()
    assert encode_presence(presence).isascii()


def test_an_agent_is_at_work_for_ninety_seconds_and_presences_are_ordered_by_agent() -> None:
    assert PRESENCE.at_work(PRESENCE.beat + AT_WORK_MS - 1)
    assert not PRESENCE.at_work(PRESENCE.beat + AT_WORK_MS)

    others = [Presence(name, "s", beat=1_000_000) for name in ("z", "a")]

    assert with_presence(others, PRESENCE) == [*others, PRESENCE]
    assert [each.agent for each in decode_presences(map(encode_presence, [*others, PRESENCE]))] == [
        "a",
        "claude:1",
        "z",
    ]


def test_a_need_is_answered_once_and_old_answers_go() -> None:
    decided = answered(NEED, "no", "Ada", 0)

    assert (decided.answer, decided.answered_by, decided.is_open) == ("no", "Ada", False)
    with pytest.raises(NeedAnswered, match="already answered: 'no'") as refused:
        answered(decided, "once", "Bob", 9)
    assert refused.value.need == decided

    old, recent = (answered(replace(NEED, id=str(at)), "no", "Ada", at) for at in (9, 10))

    kept = without_old([recent, old, NEED], 10 + ANSWERED_LIFETIME_MS)

    assert kept == [NEED, recent]
    assert open_needs([recent, replace(NEED, id="m"), NEED]) == [replace(NEED, id="m"), NEED]


def test_times_are_counted_in_equal_intervals() -> None:
    assert counts_of([0, 9, 10, 99, 100, -1], 0, 100, 10) == [2, 1, 0, 0, 0, 0, 0, 0, 0, 1]
    assert counts_of([5], 5, 5, 2) == [0, 0]
    assert filled([(1, 7)], 3) == [0, 7, 0]


@given(st.lists(st.integers(0, 1000)), st.integers(1, 50))
def test_every_time_between_is_counted_once(times: list[int], buckets: int) -> None:
    assert sum(counts_of(times, 0, 1001, buckets)) == len(times)


def test_a_question_about_a_dangerous_command_says_why() -> None:
    kinds = ("command", "check", "change", "input")

    assert [caution_of(Need("n", "s", kind, "rm -rf build")) for kind in kinds] == [
        *["Careful: it deletes files."] * 2,
        *["", ""],
    ]


def test_the_explanation_of_a_question_of_a_run_is_no_part_of_its_command() -> None:
    store = MemoryStore()
    store.records.ask(Need("n", "s", "command", "rm -rf build", detail="It isn't needed; sudo is"))

    [question] = open_questions(store, [Lease("r", 0, "s")])

    assert (question.text, question.caution) == ("It isn't needed; sudo is\nrm -rf build", "Careful: it deletes files.")


FIRST = Event("a", None, 1, Actor.AGENT, PlanChanged(unnumbered_plan_of("one")))
SECOND = Event("b", "a", 2, Actor.USER, PlanChanged(unnumbered_plan_of("two")))
NUDGE = Event("c", "a", 3, Actor.TIMER, Nudged(1, 1))
ARCHIVE = Archive("s", SessionHead("a", ("b",)), (FIRST, SECOND))
EVENTS = [codec.parse_strictly(codec.encode(event)) for event in ARCHIVE.events]


@st.composite
def archives(draw: st.DrawFn) -> Archive:
    """Sessions of any shape, with any head."""
    ids = draw(st.lists(wild, unique=True, max_size=6))
    events: list[Event] = []
    for name in ids:
        parent = draw(st.none() | st.sampled_from([event.id for event in events])) if events else None
        at, actor = draw(st.integers(0, 2**53)), draw(st.sampled_from(Actor))
        events.append(Event(name, parent, at, actor, draw(facts), draw(authors)))
    heads = st.none() | st.sampled_from(ids) if ids else st.none()
    ahead = draw(st.lists(st.sampled_from(ids), max_size=2)) if ids else []
    return Archive(draw(wild.filter(bool)), SessionHead(draw(heads), tuple(ahead)), tuple(events))


@settings(max_examples=60)
@given(archives())
def test_an_archive_restores_the_whole_session(whole: Archive) -> None:
    """Every event of every branch, the name, and the head; in ASCII. It may be empty."""
    text = archive.write(whole)

    assert archive.read(text) == whole
    assert text.isascii()


def test_the_current_plan_is_included() -> None:
    """The plan at the head, in its stored form."""
    data = codec.parse_strictly(archive.write(ARCHIVE))

    assert archive.is_archive(data)
    assert data["plan"] == [{"name": "", "tasks": [{"text": "one", "status": "pending"}]}]
    assert codec.parse_strictly(archive.write(Archive("s", SessionHead("c"), (FIRST, NUDGE))))["plan"] == data["plan"]
    assert codec.parse_strictly(archive.write(Archive("s", SessionHead(), (FIRST,))))["plan"] == []


def test_a_manual_edit_of_the_plan_is_detected() -> None:
    """The events count, and the person should be told."""
    text = archive.write(ARCHIVE)

    assert archive.read(text.replace('"text":"one"', '"text":"three"', 1)) == Archive(
        "s", ARCHIVE.session_head, ARCHIVE.events, edited=True
    )
    assert not archive.read("".join(text.splitlines()[:4] + text.splitlines()[5:])).edited


REFUSED = {
    "another format": ({"format": "other"}, "not a session"),
    "another version": ({"version": 2}, "the archive has version 2; this tildone reads version 1"),
    "no name": ({"session": ""}, "the fields session, place and events"),
    "a name of the wrong type": ({"session": 5}, "the fields session, place and events"),
    "events that are not a list": ({"events": {}}, "the fields session, place and events"),
    "a head of the wrong type": ({"place": {"head": 1, "ahead": []}}, "the fields session, place and events"),
    "a redo stack of the wrong type": ({"place": {"head": None, "ahead": [1]}}, "the fields session, place and events"),
    "an unknown head": ({"place": {"head": "z", "ahead": []}}, "the head is an event that is not in the archive"),
    "an unknown event to redo": (
        {"place": {"head": "a", "ahead": ["z"]}},
        "the head is an event that is not in the archive",
    ),
    "a child before its parent": ({"events": EVENTS[::-1]}, "is missing or comes after it"),
    "an event twice": ({"events": EVENTS * 2}, "occurs twice"),
    "an invalid event": ({"events": [1]}, "not an event"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_malformed_archive_is_refused(case: str) -> None:
    """The error says why."""
    change, why = REFUSED[case]
    text = codec.dump(codec.parse_strictly(archive.write(ARCHIVE)) | change)

    with pytest.raises(ValueError, match=why):
        archive.read(text)


@pytest.mark.parametrize(
    ("field", "content"),
    [
        *(("at", at) for at in ("5", [1], -1, 1.5, 2**63, None)),
        *(("id", 1), ("parent", 1), ("drift", [1]), ("drift", True)),
        ("plan", [{"name": "", "tasks": [{"text": 5, "status": "pending"}]}]),
        ("plan", [{"name": "", "tasks": [{"text": "a", "status": "pending", "notes": [1]}]}]),
        ("plan", [{"name": "", "tasks": [{"text": "a", "status": "pending", "number": [1]}]}]),
    ],
)
def test_an_event_that_a_store_cannot_represent_is_refused(field: str, content: object) -> None:
    """Each field has its type; numbers are integers, not negative, and fit into 64 bits."""
    data = codec.parse_strictly(archive.write(ARCHIVE))
    data["events"][0][field] = content

    with pytest.raises(ValueError, match="not an event"):
        archive.read(codec.dump(data))


@given(st.text() | st.text(st.sampled_from('{}[]":,formatildone session1'), max_size=40))
def test_any_other_text_is_refused(text: str) -> None:
    """With a ValueError and no other exception."""
    with pytest.raises(ValueError, match=r"\w"):
        archive.read(text)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@given(VALUES, st.sampled_from(["", " ", "\r\n\t"]))
def test_the_output_of_json_is_parsed(value: object, space: str) -> None:
    assert parse(f"{space}{json.dumps(value)}{space}") == value


@given(st.text())
def test_quoted_text_is_parsed_by_json(text: str) -> None:
    """Including unpaired surrogates."""
    assert json.loads(quoted(text)) == text
    assert quoted(text).isascii()
    assert quoted("\ud800") == '"\\ud800"'


@pytest.mark.parametrize(
    "text",
    ["", " ", "{", "[1,]", '{"a" 1}', '"open', "1 2", "nul", "{} x", "[" * 100_000, "1" * 5000, '"\\x"', "\ufeff{}"],
)
def test_invalid_json_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="this is not JSON"):
        parse(text)


def test_a_value_is_written_like_json_does() -> None:
    """In ASCII and without white space."""
    values: list[object] = ["a \ud83d ü", {"a": [1, 2.5, None, True], "b": {"c": ()}}, [], 7]
    for value in values:
        assert dump(value) == json.dumps(value, separators=(",", ":"))


def test_nan_and_infinity_become_none_and_a_value_of_another_type_is_not_written() -> None:
    """Some coding agents write them for a missing number."""
    with pytest.raises(TypeError, match="set is not a JSON type"):
        dump({"a": {1}})
    assert parse('{"a": NaN, "b": -Infinity}') == {"a": None, "b": None}


def test_an_address_is_a_scheme_and_a_location() -> None:
    """A URL has no path. A single letter before a colon is a drive, not a scheme."""
    paths = ("plans.db", "/home/me/a:b.db", "./notes:2024.db", "C:\\plans.db", "", "//server/share/plans.db")
    known = {path: (StoreAddress("", path), path) for path in paths} | {
        "jsonl:sessions": (StoreAddress("jsonl", "sessions"), "sessions"),
        "jsonl:": (StoreAddress("jsonl", ""), ""),
        "postgresql://host/plans": (StoreAddress("postgresql", "//host/plans"), None),
        "git+ssh://host/x": (StoreAddress("git+ssh", "//host/x"), None),
    }

    assert {text: (parse_address(text), parse_address(text).path) for text in known} == known


def test_a_redacted_address_has_no_password_and_no_options() -> None:
    redacted = {
        "postgresql://me:s3cret@host:5433/plans?sslmode=require": "postgresql://me@host:5433/plans",
        "postgresql://me:s3@cret@host/plans": "postgresql://me@host/plans",
        "postgresql://host/plans?password=s3cret": "postgresql://host/plans",
        "jsonl:/sessions": "jsonl:/sessions",
        "plans@home.db": "plans@home.db",
    }

    assert {text: parse_address(text).redacted for text in redacted} == redacted


@given(st.text())
def test_every_text_is_an_address_and_is_restored_unchanged(text: str) -> None:
    assert str(parse_address(text)) == text
