"""`tildone trust PLAN.md`: let the checks that a Markdown plan carries run, after showing them.

What is approved is each command that was shown, in its folder of this project: another command in the file later is
proposed again. The content that was shown is kept, so that exactly its checks can be taken back, whatever became of the
file.
"""

from __future__ import annotations

import os

from tildone.app.opening import check_approvals
from tildone.app.who import PersonAct
from tildone.cli.opening import open_for_moving, settings_for, working_folder
from tildone.cli.output.consent import person_agrees
from tildone.cli.output.data import put_data
from tildone.cli.output.screen import put
from tildone.cli.plan.approve import show_check
from tildone.cli.plan.check_progress import put_warnings, session_checks
from tildone.cli.plan.check_targets import checks_of
from tildone.config import data_folder
from tildone.config.project_file import read_regular
from tildone.config.trust import revoke, set_trusted, trusted_content
from tildone.core.numbers import numbered
from tildone.errors import NotFound, Refused, TildoneError
from tildone.formats.detection import MARKDOWN, PlanFile, detect_format, parse_file, reason
from tildone.kit.formatting import format_count
from tildone.log.check_codec import check_to_json
from tildone.typing import TYPE_CHECKING
from tildone.views.proofs import check_text
from tildone.views.sanitize import printable

if TYPE_CHECKING:
    from tildone.checks.approvals import Approvals
    from tildone.cli.parsing.table import ParsedArgs
    from tildone.cli.plan.check_targets import NamedCheck
    from tildone.core.check import Check


def trust_plan(args: ParsedArgs, name: str) -> int:
    """Show the checks in a Markdown plan, and approve them if the person agrees."""
    path, data, settings = _absolute(name), data_folder(os.environ), settings_for(args)
    approvals = check_approvals(settings)
    before = trusted_content(data, path)
    if args.has("revoke"):
        return _revoke(args, data, path, approvals)
    content = _content(name, path)
    checks = _checks(name, content)
    dropped = [check for check in _checks_or_none(name, before) if check not in [each.check for each in checks]]
    new = [each for each in checks if not approvals.is_allowed(each.check)]
    if not args.has("json"):
        _show(name, checks, new, changed=before not in (None, content))
    changed = bool(new) or (before is not None and bool(dropped))
    if changed:
        question = f"Let {'this command' if len(new) == 1 else 'these commands'} run as {_noun(new)}?"
        if new and not person_agrees(args, settings, PersonAct.TRUST, question):
            put("Nothing was changed.")
            return 1
        if new:
            session = open_for_moving(args)
            with session_checks(args, session) as running:
                put_warnings(running.approve(session, [each.check for each in new])[1])
        _record(data, path, content, approvals, dropped)
    _report(args, path, name, checks, dropped, changed=changed)
    return 0


def _noun(new: list[NamedCheck]) -> str:
    return "a check" if len(new) == 1 else "checks"


def _show(name: str, checks: list[NamedCheck], new: list[NamedCheck], *, changed: bool) -> None:
    since = " has changed since it was trusted; it" if changed else ""
    if not checks:
        put(f"{printable(name)}{since} has no checks.")
        return
    put(f"{printable(name)}{since} has {format_count(len(checks), 'check')}:")
    for each in checks:
        show_check(each, "" if each in new else " (approved)")


def _record(data: str, path: str, content: bytes, approvals: Approvals, dropped: list[Check]) -> None:
    for check in dropped:
        approvals.revoke(check)
    try:
        set_trusted(data, path, content)
    except OSError as error:
        raise TildoneError(f"could not write to {data}: {error.strerror}") from error


def _report(
    args: ParsedArgs, path: str, name: str, checks: list[NamedCheck], dropped: list[Check], *, changed: bool
) -> None:
    if args.has("json"):
        listed = [{"number": each.number or None, "check": check_to_json(each.check)} for each in checks]
        put_data(file=path, trusted=bool(checks), changed=changed, checks=listed)
        return
    for check in dropped:
        put(f"No longer approved, because it is not in the file: {printable(check_text(check))}")
    if changed and checks:
        put(f"Trusted. To take it back: tildone trust {printable(name)} --revoke")
    else:
        put("Already trusted." if checks else "There is nothing to approve.")


def _revoke(args: ParsedArgs, data: str, path: str, approvals: Approvals) -> int:
    checks = _checks_or_none(path, trusted_content(data, path))
    for check in checks:
        approvals.revoke(check)
    changed = revoke(data, path)
    if args.has("json"):
        put_data(file=path, trusted=False, changed=changed)
        return 0
    put(f"{'No longer trusted' if changed else 'Not trusted'}: {printable(path)}")
    for check in checks:
        put(f"  {printable(check_text(check))}{' is still allowed by check_allow' * approvals.is_allowed(check)}")
    return 0


def _absolute(name: str) -> str:
    return os.path.realpath(os.path.join(working_folder(), name))


def _content(name: str, path: str) -> bytes:
    """Return the content of a file.

    Raises:
        NotFound: there is no such file.
        Refused: it is no regular file, or is too large.
    """
    if not os.path.exists(path):
        raise NotFound(f"there is no {printable(name)}")
    problems: list[str] = []
    content = read_regular(path, problems)
    if content is None:
        raise Refused(printable(problems[0]))
    return content


def _checks(name: str, content: bytes) -> list[NamedCheck]:
    """Return the checks in a Markdown plan.

    Raises:
        Refused: it is not Markdown, or cannot be read.
    """
    try:
        text = content.decode("utf-8-sig")
        if detect_format(name, text) != MARKDOWN:
            raise Refused(f"{printable(name)} is not a Markdown plan; only such a file carries checks to trust")
        file = parse_file(name, MARKDOWN, text)
    except (ValueError, RecursionError) as error:
        raise Refused(f"could not read {printable(name)} as {MARKDOWN}: {reason(error)}") from error
    return checks_of(numbered(file.plan)) if isinstance(file, PlanFile) else []


def _checks_or_none(name: str, content: bytes | None) -> list[Check]:
    return [] if content is None else [each.check for each in _checks(name, content)]
