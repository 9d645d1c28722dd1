"""Kilo Code in the terminal, which is made from opencode and loads its plugins. Observed in the running program."""

from functools import partial

from tildone.agents.integrations import Integration
from tildone.agents.integrations.opencode import INTEGRATION as OPENCODE
from tildone.agents.integrations.opencode import configure, user_folder

INTEGRATION = Integration(
    name="kilo",
    title="Kilo Code",
    tried="7.7.7",
    listing=OPENCODE.listing,
    folder=partial(user_folder, name="kilo"),
    configure=partial(configure, name="kilo"),
    after_install="An agent in `kilo run` has the plan but is not held to it: that ends at the first stop.",
    hooks=OPENCODE.hooks,
    list_tools=OPENCODE.list_tools,
)
