"""Gemini CLI: `gemini -p`, with our tools and hooks in the settings of a home folder that is made for the fleet.

Settings of the machine are no place for them: Gemini CLI passes over a file there that does not belong to root. The
home folder of the fleet has the person's settings with our entries, and links to all else, such as the credentials.
"""

import os

from tildone.agents.install import jsonc
from tildone.base import Refused
from tildone.base.files import read_text, write_text
from tildone.base.private import make_private_folder
from tildone.fleet.agent_reports import gemini_report
from tildone.fleet.drivers.launch import AgentContext, AgentLaunch, added_to, agent_environment, agents_folder

HOME_VARIABLE = "GEMINI_CLI_HOME"
FOLDER, SETTINGS = ".gemini", "settings.json"
OWN = (SETTINGS, "tmp", "history", "projects.json")
"""What the home folder of the fleet has of its own: settings, and the conversations of its agents."""


def launch(context: AgentContext) -> AgentLaunch:
    """Return how Gemini CLI is started. Without a person, it refuses whatever is not allowed.

    Raises Refused if the repository has settings, whose commands Gemini CLI runs, and the worker does not allow every
    one, OSError if the settings cannot be written.
    """
    if not context.allows_anything and os.path.exists(os.path.join(context.folder, FOLDER, SETTINGS)):
        raise Refused(f"Gemini CLI runs what the repository's {FOLDER}/{SETTINGS} names, and --allow '*' is not given")
    arguments = ["gemini", "--skip-trust", "--output-format", "stream-json", "-p", context.prompt]
    if context.allows_anything:
        arguments += ["--approval-mode", "yolo"]
    else:
        arguments += ["--approval-mode", "auto_edit"]
        arguments += [f"--allowed-tools=run_shell_command({pattern.rstrip(' *')})" for pattern in context.allow]
    arguments += context.model_option
    environ = agent_environment(context, ("google",)) | {HOME_VARIABLE: _home(context)}
    return AgentLaunch(tuple(arguments), environ, report=gemini_report)


def _home(context: AgentContext) -> str:
    """Make the home folder of the fleet's agents up to date, and return it."""
    person = os.path.join(context.environ.get(HOME_VARIABLE) or context.environ.get("HOME", ""), FOLDER)
    home = os.path.join(agents_folder(context), "gemini")
    folder = os.path.join(home, FOLDER)
    make_private_folder(folder)
    for name in os.listdir(person) if os.path.isdir(person) else ():
        link = os.path.join(folder, name)
        if name not in OWN and not os.path.lexists(link):
            os.symlink(os.path.join(person, name), link)
    path = os.path.join(folder, SETTINGS)
    text = added_to(read_text(os.path.join(person, SETTINGS)), context, "gemini")
    text = jsonc.put(text, ("hooksConfig", "enabled"), True)  # noqa: FBT003  a member of JSON
    if read_text(path) != text:
        write_text(path, text)
    return home
