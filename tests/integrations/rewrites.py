"""What coding agents and people do to settings files, as functions of their text.

The rewrites of Codex, Claude Code, Gemini CLI and opencode imitate the real programs; `tests/clients/test_settings.py`
compares them. The others are assumed to write JSON anew.
"""

import json
import re
import tomllib
from copy import deepcopy
from typing import Any

from tildone.agents.install import jsonc, toml
from tildone.agents.install.toml import scan, table_lines

SCHEMA = '"$schema": "https://opencode.ai/config.json"'


def codex_add(text: str, name: str) -> str:
    """`codex mcp add NAME -- npx NAME`."""
    return _codex_servers(text, lambda servers: servers | {name: {"command": "npx", "args": [name]}})


def codex_remove(text: str, name: str) -> str:
    """`codex mcp remove NAME`."""
    return _codex_servers(text, lambda servers: {key: item for key, item in servers.items() if key != name})


def _codex_servers(text: str, change: Any) -> str:
    """All servers are written anew where the first one was, without their comments and with plain line ends."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    text = text if text.endswith("\n") or not text else f"{text}\n"
    before = tomllib.loads(text).get("mcp_servers", {})
    after = change(before)
    if after == before:
        return text
    statements = [each for each in scan(text) if each.path[0] == "mcp_servers"]
    at = _with_comments_above(text, statements[0].start) if statements else len(text)
    for statement in reversed(statements):
        start = _with_comments_above(text, statement.start)
        text = text[:start] + text[statement.end :]
    lines = "".join("\n" + "\n".join(table_lines(["mcp_servers", name], after[name])) + "\n" for name in after)
    first = text[:at] + (lines if text[:at] else lines.removeprefix("\n")) + text[at:]
    assert tomllib.loads(first).get("mcp_servers", {}) == after
    return first


def _with_comments_above(text: str, at: int) -> int:
    while at:
        begin = text.rfind("\n", 0, at - 1) + 1
        if text[begin:at].strip() and not text[begin:at].startswith("#"):
            break
        at = begin
    return at


def codex_start(text: str, name: str) -> str:
    """A start at which the person trusts a folder and the hooks: Codex adds tables at the end."""
    if f'[projects."/{name}"]' in text:
        return text
    newline = "\r\n" if "\r\n" in text else "\n"
    text = text if text.endswith("\n") or not text.removeprefix("\ufeff") else text + newline
    added = f'\n[projects."/{name}"]\ntrust_level = "trusted"\n'
    added += f'\n[hooks.state."/{name}.toml:stop:0:0"]\ntrusted_hash = "sha256:{name}"\n'
    return text + added.replace("\n", newline)


def json_add(text: str, path: str, name: str) -> str:
    """A server is added, and the file is written anew."""
    data = _data(text)
    servers = data.setdefault(path, {})
    servers[name] = {"type": "stdio", "command": "npx", "args": [name], "env": {}}
    return _serialized(text, data)


def json_remove(text: str, path: str, name: str) -> str:
    data = _data(text)
    data.get(path, {}).pop(name, None)
    return _serialized(text, data)


def json_start(text: str, name: str) -> str:
    """A start that counts itself in the file, and writes it anew."""
    data = _data(text)
    data["numStartups"] = data.get("numStartups", 0) + 1
    data.setdefault("seen", {})[name] = True
    return _serialized(text, data)


def opencode_start(text: str, _name: str) -> str:
    """The first start adds the schema, in place."""
    return text if "$schema" in text else re.sub(r"^\s*\{", f"{{\n  {SCHEMA},", text.removeprefix("\ufeff"), count=1)


def _data(text: str) -> dict[str, Any]:
    data: dict[str, Any] = deepcopy(jsonc.get(text, ())) if text.strip("\ufeff \r\n\t") else {}
    return data


def _serialized(text: str, data: dict[str, Any]) -> str:
    """Gemini CLI keeps comments, of which this keeps the one at the top."""
    top = re.match(r"\ufeff?(//[^\n]*\n)", text)
    return (top[1] if top else "") + json.dumps(data, indent=2, ensure_ascii=False)


def comment_above(text: str, anchor: str, comment: str, newline: str) -> str:
    """A person's comment on a line of its own, above a line of theirs; at the top if there is no such line."""
    mark = "\ufeff" if text.startswith("\ufeff") else ""
    body = text.removeprefix("\ufeff")
    found = re.search(rf"^[ \t]*{re.escape(anchor)}", body, re.MULTILINE) if anchor else None
    at = found.start() if found else 0
    return f"{mark}{body[:at]}{comment}{newline}{body[at:]}"


def to_crlf(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\n", "\r\n")


def to_lf(text: str) -> str:
    return text.replace("\r\n", "\n")


def appended(text: str, lines: str, newline: str) -> str:
    """Lines that a person adds at the end."""
    gap = "" if text.endswith("\n") or not text.removeprefix("\ufeff") else newline
    return text + gap + lines.replace("\n", newline)


def moved(text: str, block: str, before: str) -> str:
    """A block of lines that a person moves in front of another line; unchanged if either is missing.

    A text with line ends of both kinds is left alone.
    """
    newline = "\r\n" if "\r\n" in text else "\n"
    plain = to_lf(text)
    if plain.replace("\n", newline) != text:
        return text
    if plain.count(block) != 1 or plain.count(before) != 1 or before in block:
        return text
    rest = plain.replace(block, "")
    return rest.replace(before, block + before).replace("\n", newline)


def our_blocks(text: str) -> list[str]:
    """Our tables in a TOML file, each with the blank line above it."""
    plain = to_lf(text.removeprefix("\ufeff"))
    blocks = re.findall(r"\n\[mcp_servers\.tildone\]\n(?:[a-z].*\n)+", plain)
    return [
        *blocks,
        *re.findall(
            r"\n\[\[hooks\.\w+\]\]\n\[\[hooks\.\w+\.hooks\]\]\n(?:[a-z].*\n)*?.*tildone.*\n(?:[a-z].*\n)*", plain
        ),
    ]


def marked(text: str, program: str) -> str:
    """What an earlier version of tildone made of a `config.toml`."""
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = [*table_lines(["mcp_servers", "tildone"], {"command": program, "args": ["mcp"]}), ""]
    for event in ("Stop", "SessionStart"):
        hook = {"type": "command", "command": f"{program} hook codex", "timeout": 10}
        lines += [*table_lines(["hooks", event], {"hooks": [hook]}, 2), ""]
    joined = bool(text) and not text.endswith("\n")
    lead = "\n\n# >>> tildone, joined\n" if joined else "\n# >>> tildone\n" if text else "# >>> tildone\n"
    block = lead + "\n".join(lines).strip() + "\n# <<< tildone\n"
    return text + block.replace("\n", newline)


def values(file: str, text: str | None) -> Any:
    """The values in a file, without empty tables, objects and arrays."""
    if text is None:
        return {}
    return _filled(toml.parse(text) if file.endswith(".toml") else _data(text)) or {}


def _filled(data: Any) -> Any:
    if isinstance(data, dict):
        kept = {key: _filled(item) for key, item in data.items()}
        return {key: item for key, item in kept.items() if item not in (None, {}, [])}
    return [_filled(item) for item in data] if isinstance(data, list) else data
