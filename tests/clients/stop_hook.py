"""A stop hook that makes a client continue the first time it stops: `python stop_hook.py FOLDER`.

The events that it receives are appended to `events.jsonl` in the folder.
"""

import json
import sys
from pathlib import Path

REASON = "There is something left to do."


def main(folder: str) -> None:
    events = Path(folder, "events.jsonl")
    event = json.load(sys.stdin)
    first = not events.exists()
    with events.open("a", encoding="utf-8") as file:
        file.write(f"{json.dumps(event)}\n")
    if first:
        verdict = "deny" if event["hook_event_name"] == "AfterAgent" else "block"
        print(json.dumps({"decision": verdict, "reason": REASON}))


if __name__ == "__main__":
    main(sys.argv[1])
