"""A small worker, run as a program: it starts one agent and renews its deadline until the agent ends.

The first argument is the lease time in seconds, the second the command of the agent as JSON. It prints the process ids
of the supervisor and the agent and the folder of its control group, and at the end how the agent ended.
"""

import json
import signal
import sys
from threading import Thread
from time import sleep

from tests.fleet.agents import started
from tildone.fleet.process_tree import boot_seconds
from tildone.fleet.supervision import AgentCommand, SupervisedAgent


def main() -> None:
    """Be the worker."""
    # A worker that is interrupted lets its agents finish.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    lease, fields = float(sys.argv[1]), json.loads(sys.argv[2])
    agent = SupervisedAgent(AgentCommand(**fields), boot_seconds() + lease)
    Thread(target=renew, args=(agent, lease), daemon=True).start()
    print(agent.supervisor_pid, started(agent), agent.cgroup, flush=True)
    print(agent.wait(), flush=True)


def renew(agent: SupervisedAgent, lease: float) -> None:
    while agent.wait(0) is None:
        agent.renew(boot_seconds() + lease)
        sleep(lease / 20)


if __name__ == "__main__":
    main()
