"""A hook that holds a client back the first time it wants to stop: `python stop_hook.py FOLDER`.

What it was told is kept in the folder, one JSON object a line.
"""

import json
import sys
from pathlib import Path

REASON = "There is something left to do."


def main(folder: str) -> None:
    """Answer in the words that every client's hooks understand."""
    heard = Path(folder, "heard.jsonl")
    told = json.load(sys.stdin)
    first = not heard.exists()
    with heard.open("a", encoding="utf-8") as file:
        file.write(f"{json.dumps(told)}\n")
    if first:
        verdict = "deny" if told["hook_event_name"] == "AfterAgent" else "block"
        print(json.dumps({"decision": verdict, "reason": REASON}))


if __name__ == "__main__":
    main(sys.argv[1])
