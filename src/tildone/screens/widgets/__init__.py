"""The terminal UI: the sessions of a store and their plans, live and editable. It needs the extra `tui` (Textual).

The list of sessions comes from `tildone.app`; `reading` reads one session in detail, `editing` changes plans.
`session_rows` and `plan_rows` turn what was read into lines, which the widgets draw; `app` is the application.
"""
