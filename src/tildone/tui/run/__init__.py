"""`tildone run` in full screen: the conversation, the plan, questions, and an editor that never waits for the model.

`app` is the application. `backend` is what it is given by the program that starts it. `ui` is the host's interface to
the person; `questions` are what it asks, which `question_panel` draws. `composer` is the editor, `completion` what it
completes. `status_lines` are the lines around the conversation.
"""
