"""The browser that tests of pages run in: `python -m tests.web.browser.install` gets one in CI, from the distribution.

Elsewhere nothing is installed behind anyone's back: the tests say how to get a browser, and are skipped.
"""

import os
import shutil
import subprocess
import sys

OTHER_BROWSER = "TILDONE_BROWSER"
"""A variable that names another browser: Chromium, or one derived from it."""

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
COMMANDS = (("apt-get", "update"), ("apt-get", "install", "--yes", "--no-install-recommends", "chromium"))
LIMIT_SECONDS = 600.0
HOW = f"no browser was found: apt-get install chromium, or name one in {OTHER_BROWSER}"


def find_browser() -> str | None:
    """Return the path of a browser; None if there is none."""
    named = os.environ.get(OTHER_BROWSER)
    return shutil.which(named) if named else next(filter(None, map(shutil.which, NAMES)), None)


def main() -> int:
    """Install a browser if there is none. Anything but a browser at the end is an error."""
    if find_browser():
        return 0
    if shutil.which("apt-get") is None:
        print(HOW, file=sys.stderr)
        return 1
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in COMMANDS:
        # As somebody who may not install packages, sudo is tried; it never asks for a password here.
        prefix = () if os.geteuid() == 0 else ("sudo", "-n")
        try:
            done = subprocess.run(
                [*prefix, *command], env=environment, stdin=subprocess.DEVNULL, timeout=LIMIT_SECONDS, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            print(f"{' '.join(command)}: {error}", file=sys.stderr)
            return 1
        if done.returncode:
            print(f"{' '.join(command)} failed: {HOW}", file=sys.stderr)
            return 1
    return 0 if find_browser() else 1


if __name__ == "__main__":
    sys.exit(main())
