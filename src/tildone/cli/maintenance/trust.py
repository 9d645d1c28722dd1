"""`tildone trust`: let the settings file of a project apply, or the checks of a Markdown plan run, after showing them.

Of a plan, what is approved is each command that was shown, in its folder of this project: another command in the file
later is proposed again. The content that was shown is kept, so that exactly its checks can be taken back, whatever
became of the file.
"""

import os

from tildone.app import settings_file
from tildone.app.opening import check_approvals
from tildone.app.settings import PROJECT_FILE, data_folder, load_valid, project_root
from tildone.app.trust import Approvals
from tildone.app.values import EXTENSIONS
from tildone.app.who import PersonAct
from tildone.base import NotFound, Refused
from tildone.cli.opening import open_for_moving, settings_for, working_folder
from tildone.cli.output import put
from tildone.cli.output.prompts import person_agrees, put_data, put_done
from tildone.cli.plan.check_progress import put_warnings, session_checks
from tildone.cli.plan.checks import NamedCheck, checks_of, show_check
from tildone.cli.table import ParsedArgs
from tildone.plan import codec
from tildone.plan.check_codec import check_to_json
from tildone.plan.formats.detection import MARKDOWN, PlanFile, detect_format, parse_file, reason
from tildone.plan.model import Check, numbered
from tildone.plan.text.amounts import format_count
from tildone.plan.text.proofs import check_text
from tildone.plan.text.safe import printable
from tildone.stores import parse_address


def run(args: ParsedArgs) -> int:
    """Show what the project's settings file sets, or the checks in a plan, and trust it if the person agrees."""
    path = os.path.join(project_root(working_folder()), PROJECT_FILE)
    if args.positional and os.path.abspath(args.positional[0]) != path:
        return trust_plan(args, args.positional[0])
    data = data_folder(os.environ)
    if args.has("revoke"):
        for name in settings_file.files_of(settings_file.read_project_file(path, data).settings.get(EXTENSIONS, [])):
            settings_file.revoke(data, name)
        return _put_revoked(args, path, changed=settings_file.revoke(data, path))
    if not os.path.lexists(path):
        raise NotFound(f"there is no {path}")
    file = settings_file.read_project_file(path, data)
    if file.content is None or file.problems:
        raise Refused(f"{printable(file.problems[0])}; correct it first")
    if not args.has("json"):
        _show_settings(file, changed=not file.trusted and settings_file.trusted_content(data, path) is not None)
    read = {
        name: settings_file.read_regular(name, []) for name in settings_file.files_of(file.settings.get(EXTENSIONS, []))
    }
    contents = {name: content for name, content in read.items() if content is not None}
    new = [name for name, content in contents.items() if not settings_file.is_trusted(data, name, content)]
    if not args.has("json"):
        for name in contents:
            put(f"  {printable(name)} is run by tildone run{'' if name in new else ' (trusted)'}")
    trusted = file.trusted and not new
    if not trusted:
        settings, _ = load_valid({}, os.environ, working_folder())
        question = f"Trust {'these files' if contents else 'this file'} with exactly this content?"
        if not person_agrees(args, settings, PersonAct.TRUST, question):
            put("Nothing was changed.")
            return 1
        for name, content in {path: file.content, **contents}.items():
            settings_file.set_trusted(data, name, content)
    text = "Already trusted." if trusted else "Trusted. To take it back: tildone trust --revoke"
    return put_done(args, text, file=path, trusted=True, changed=not trusted, settings=_settings_data(file))


def _put_revoked(args: ParsedArgs, path: str, *, changed: bool) -> int:
    text = f"{'No longer trusted' if changed else 'Not trusted'}: {printable(path)}"
    return put_done(args, text, file=path, trusted=False, changed=changed)


def _show_settings(file: settings_file.ProjectFile, *, changed: bool) -> None:
    put(f"{printable(file.path)}{' has changed since it was trusted; it' if changed else ''} sets:")
    anyway = {} if file.trusted else settings_file.applicable(file, {})
    for name, setting in _settings_data(file).items():
        note = "  (applies without trust)" if name in anyway else ""
        put(f"  {printable(f'{name} = {codec.dump(setting)}')}{note}")
    if not file.settings:
        put("  nothing")


def _settings_data(file: settings_file.ProjectFile) -> dict[str, object]:
    """The settings, without the password in the address of a store."""
    return {
        name: parse_address(setting).redacted if name == "store" else setting for name, setting in file.settings.items()
    }


def trust_plan(args: ParsedArgs, name: str) -> int:
    path = os.path.realpath(os.path.join(working_folder(), name))
    data, settings = data_folder(os.environ), settings_for(args)
    approvals = check_approvals(settings)
    before = settings_file.trusted_content(data, path)
    if args.has("revoke"):
        return _revoke_plan(args, data, path, approvals)
    content = _content(name, path)
    checks = _checks(name, content)
    dropped = [check for check in _checks_or_none(name, before) if check not in [each.check for each in checks]]
    new = [each for each in checks if not approvals.is_allowed(each.check)]
    if not args.has("json"):
        _show(name, checks, new, changed=before not in (None, content))
    changed = bool(new) or (before is not None and bool(dropped))
    if changed:
        question = f"Let {'this command run as a check' if len(new) == 1 else 'these commands run as checks'}?"
        if new and not person_agrees(args, settings, PersonAct.TRUST, question):
            put("Nothing was changed.")
            return 1
        if new:
            session = open_for_moving(args)
            with session_checks(args, session) as running:
                put_warnings(running.approve(session, [each.check for each in new])[1])
        for check in dropped:
            approvals.revoke(check)
        settings_file.set_trusted(data, path, content)
    if args.has("json"):
        listed = [{"number": each.number or None, "check": check_to_json(each.check)} for each in checks]
        put_data(file=path, trusted=bool(checks), changed=changed, checks=listed)
        return 0
    for check in dropped:
        put(f"No longer approved, because it is not in the file: {printable(check_text(check))}")
    if changed and checks:
        put(f"Trusted. To take it back: tildone trust {printable(name)} --revoke")
    else:
        put("Already trusted." if checks else "There is nothing to approve.")
    return 0


def _show(name: str, checks: list[NamedCheck], new: list[NamedCheck], *, changed: bool) -> None:
    since = " has changed since it was trusted; it" if changed else ""
    if not checks:
        put(f"{printable(name)}{since} has no checks.")
        return
    put(f"{printable(name)}{since} has {format_count(len(checks), 'check')}:")
    for each in checks:
        show_check(each, "" if each in new else " (approved)")


def _revoke_plan(args: ParsedArgs, data: str, path: str, approvals: Approvals) -> int:
    checks = _checks_or_none(path, settings_file.trusted_content(data, path))
    for check in checks:
        approvals.revoke(check)
    _put_revoked(args, path, changed=settings_file.revoke(data, path))
    for check in () if args.has("json") else checks:
        put(f"  {printable(check_text(check))}{' is still allowed by check_allow' * approvals.is_allowed(check)}")
    return 0


def _content(name: str, path: str) -> bytes:
    if not os.path.exists(path):
        raise NotFound(f"there is no {printable(name)}")
    problems: list[str] = []
    content = settings_file.read_regular(path, problems)
    if content is None:
        raise Refused(printable(problems[0]))
    return content


def _checks(name: str, content: bytes) -> list[NamedCheck]:
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
