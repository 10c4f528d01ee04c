"""What is read from a model's text: whatever JSON it holds comes back, and nothing else ever goes wrong."""

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.errors import LLMOutputError
from mnemic.ingest.reply import MAX_CHARS, MAX_DEPTH, UnreadableError, items_of, parse_json, read_reply

BEES = {"facts": ["Keeps bees"]}
JSON = json.dumps(BEES)

# What no store can hold is replaced while parsing, so it does not come back as it was.
TEXT = st.text(
    st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20
) | st.sampled_from(
    [
        "</think>",
        "<think>",
        "```",
        "```json\n[1]",
        "it's",
        'say "hi"',
        "a\\",
        "},]",
        ", 'x'",
        "{",
        "\ufeff",
        "住在北京 🐝",
    ]
)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT
CONTAINERS = st.recursive(
    st.lists(SCALARS, max_size=3) | st.dictionaries(TEXT, SCALARS, max_size=3),
    lambda inner: st.lists(inner | SCALARS, max_size=3) | st.dictionaries(TEXT, inner | SCALARS, max_size=3),
    max_leaves=8,
)
CHATTER = st.sampled_from(
    [
        "",
        "Sure! ",
        "Here is {name} [see above]: ",
        "I'd say:\n",
        "好的：",
        "It's done [sic] {ok}.\n",
        "1, 2 and 3: ",
    ]
)
THOUGHT = st.sampled_from(
    [
        "",
        '<think>{"facts": ["Keeps wasps"]}</think>\n',
        'maybe {"facts": ["Keeps wasps"]}?</think>\n\n',
        "<thinking>a [b] ```json\n[1]\n``` {</thinking>",
        "\ufeff<think>\n</think>\n",
    ]
)
FENCES = st.sampled_from(
    [("", ""), ("```json\n", "\n```"), ("```\n", "\n```"), ("``` ", " ```\n"), ("```JSON\r\n", "\r\n```")]
)


def dump(value: Any, *, ascii_only: bool, indent: int | None) -> str:
    return json.dumps(value, ensure_ascii=ascii_only, indent=indent)


@st.composite
def loosely_written(draw: st.DrawFn, value: Any) -> str:
    """A value as models write it: commas at the end, single quotes, keys without quotes, Python's words."""

    def string(text: str) -> str:
        if draw(st.booleans()):
            return json.dumps(text, ensure_ascii=draw(st.booleans()))
        inner = json.dumps(text, ensure_ascii=False)[1:-1].replace('\\"', '"').replace("'", "\\'")
        return f"'{inner}'"

    def write(inner: Any) -> str:
        space = draw(st.sampled_from(["", " ", "\n  "]))
        if isinstance(inner, dict):
            members = [f"{key(name)}{space}: {write(each)}" for name, each in inner.items()]
            return (
                "{"
                + space
                + f",{space}".join(members)
                + (draw(st.sampled_from(["", ","])) if members else "")
                + "}"
            )
        if isinstance(inner, list):
            items = [write(each) for each in inner]
            return (
                "["
                + f"{space},".join(items)
                + (draw(st.sampled_from(["", ", "])) if items else "")
                + space
                + "]"
            )
        if isinstance(inner, str):
            return string(inner)
        return (
            draw(st.sampled_from([json.dumps(inner), repr(inner)]))
            if not isinstance(inner, float)
            else json.dumps(inner)
        )

    def key(name: str) -> str:
        return name if name.isidentifier() and draw(st.booleans()) else string(name)

    return write(value)


@given(
    CONTAINERS | SCALARS, st.booleans(), st.sampled_from([None, 2]), st.sampled_from(["", "\ufeff", " \n"])
)
def test_every_json_value_comes_back(value: Any, ascii_only: bool, indent: int | None, around: str) -> None:
    assert parse_json(around + dump(value, ascii_only=ascii_only, indent=indent) + around) == value


@given(CONTAINERS, st.booleans(), st.sampled_from([None, 2]), THOUGHT, CHATTER, FENCES, CHATTER)
def test_objects_and_lists_come_back_from_every_wrapping(
    value: Any,
    ascii_only: bool,
    indent: int | None,
    thought: str,
    before: str,
    fence: tuple[str, str],
    after: str,
) -> None:
    written = dump(value, ascii_only=ascii_only, indent=indent)
    assert parse_json(thought + before + fence[0] + written + fence[1] + after) == value


@given(SCALARS, CHATTER, FENCES.filter(lambda fence: fence[0] != ""), CHATTER)
def test_scalars_come_back_from_a_fence(value: Any, before: str, fence: tuple[str, str], after: str) -> None:
    assert parse_json(before + fence[0] + json.dumps(value) + fence[1] + after) == value


@given(
    CONTAINERS.flatmap(lambda value: st.tuples(st.just(value), loosely_written(value))),
    THOUGHT,
    CHATTER,
    FENCES,
)
def test_what_is_written_loosely_comes_back(
    written: tuple[Any, str], thought: str, before: str, fence: tuple[str, str]
) -> None:
    value, text = written
    assert parse_json(thought + before + fence[0] + text + fence[1]) == value


PIECES = [
    "{",
    "}",
    "[",
    "]",
    '"',
    "'",
    ",",
    ":",
    "```",
    "```json\n",
    "<think>",
    "</think>",
    "\\",
    "a",
    "1",
    "-",
    "\n",
    JSON,
]


@given(st.text() | st.lists(st.sampled_from(PIECES)).map("".join))
def test_nothing_but_the_typed_error_is_raised(text: str) -> None:
    try:
        parse_json(text)
    except LLMOutputError as error:
        assert error.raw == text
        assert error.message


@given(CONTAINERS, st.data())
def test_what_was_cut_is_an_error_and_never_a_part_of_it(value: Any, data: st.DataObject) -> None:
    written = json.dumps(value)
    end = data.draw(st.integers(0, len(written) - 1))
    with pytest.raises(LLMOutputError):
        parse_json("Here it is:\n" + written[:end])


@pytest.mark.parametrize(
    "text",
    [
        f"```json\n{JSON}\n```",
        f"Sure! {JSON} Hope it helps.",
        f'<think>{{"facts":["Keeps wasps"]}}</think>{JSON}',
        f'{{"facts":["Keeps wasps"]}} no, wait</think>{JSON}',
        '["Keeps bees"]',
        '{"facts": ["Keeps bees",],}',
        f"\ufeff{JSON}",
        "{'facts': ['Keeps bees']}",
        "{facts: [{fact: 'Keeps bees'}]}",
        '[{"fact": "Keeps bees"}]',
        '{"facts": {"text": "Keeps bees"}}',
        '{"memory": "Keeps bees"}',
        f"As in [1], I found:\n```json\n{JSON}\n```",
        f'{{"type": "object", "properties": {{"facts": {{"type": "array"}}}}}}\n{JSON}',
    ],
)
def test_the_same_fact_in_all_its_forms(text: str) -> None:
    assert read_reply(text, lambda value: items_of(value, "facts")) == [{"text": "Keeps bees"}]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "empty"),
        (" \ufeff\n", "empty"),
        ("I found nothing to remember.", "no JSON"),
        ('{"facts": ["Keeps b', "cut off"),
        ('{"facts": [{"text": "Keeps bees"}, {"te', "cut off"),
        ("<think>The user keeps bees, so " + JSON, "before its reasoning"),
        ('{"facts": [{"text": "Keeps bees"}] oops}', "broken"),
        ('{"type": "object", "properties": {"facts": {"type": "array"}}}', 'list "facts"'),
        ('{"answer": 7}', 'list "facts"'),
        ('{"facts": [{"text": "a"}, 7]}', "Item 2"),
        ('{"facts": [{"text": "Keeps "bees""}]}', "broken"),
        ("[" * (MAX_DEPTH + 2) + "]" * (MAX_DEPTH + 2), "nested"),
        ("[" * 200_000, "nested"),
        ('{"a":' * 100_000, "nested"),
        (f"[{'9' * 5000}]", "5000 digits"),
        ("[1e999]", "too large"),
        ("[NaN]", "no JSON"),
        (" " * (MAX_CHARS + 1), "characters"),
        ('"Keeps bees"', 'list "facts"'),
    ],
)
def test_what_cannot_be_read_says_why(text: str, told: str) -> None:
    with pytest.raises(LLMOutputError, match=told) as caught:
        read_reply(text, lambda value: items_of(value, "facts"))
    assert caught.value.raw == text


def test_what_no_store_can_hold_is_replaced() -> None:
    assert parse_json('["a\\u0000b", "\\ud83d", "\\ud83d\\udc1d", "\ud83d"]') == [
        "a b",
        "\ufffd",
        "🐝",
        "\ufffd",
    ]


def test_an_apostrophe_inside_single_quotes_does_not_end_them() -> None:
    assert parse_json("{'text': 'John's dog isn't ill', 'who': 'it's me'}") == {
        "text": "John's dog isn't ill",
        "who": "it's me",
    }


@pytest.mark.parametrize(
    "piece", ["[1 x]", '{"a', "['a", '```"a', "<think>", "</think>", "{a}", '{"a":1}', "\\", "'", "[", "```"]
)
def test_time_grows_with_the_length_only(piece: str) -> None:
    def seconds(length: int) -> float:
        text = piece * (length // len(piece))
        began = time.process_time()
        with pytest.raises((LLMOutputError, UnreadableError)):
            read_reply(text, lambda value: items_of(value, "facts"))
        return time.process_time() - began

    short = min(seconds(25_000) for _ in range(3))
    assert seconds(400_000) < 16 * 6 * short + 0.5
