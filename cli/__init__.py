"""The `caf` command, one file per group of verbs.

* `main.py` is the entry point and lists the verbs.
* `init.py` makes a chatbot of one's own; `starter/` has its questions, files and templates.
* `serve.py`, `chat.py`, `check.py`, `key.py`, `trace.py`, `audit.py` and `schema.py` hold them.
* `upstream.py` wraps a chatbot of another server for `caf serve --upstream`.
* `compare.py` asks your own questions with the filter on and off.
* `judging/` holds the verbs of `caf judges`, `drifting/` those of `caf drift`, `rate.py` those of `caf rate`.
* `knowledge_base.py` holds the verbs of `caf kb`, `kb_import.py` what an import does, `kb_eval.py` what an evaluation prints.
* `kb_pairs.py` holds the verbs of `caf kb` on question-answer pairs, `kb_build.py` what of them asks a model.
* `check_files.py` checks the files of `caf check FILE`; `file_kind.py` recognises what a file is.
* `scenario.py` makes scenarios of traced turns, `exchange.py` of tables, and tables of scenarios.
* `assistant.py` lists what an assistant can do.
* `conversation.py` is the client side of a chat: what is sent, what comes back.
* `trace_output.py` prints tables of turns; `story.py` makes the lines of the story of one.
* `extras.py` says what to install when a library is missing that serving does not need.
* `terminal.py` has what all share: exit codes, error messages, the configuration's path; `drawing.py` has tables and progress bars.

A verb's module is imported when the verb is called, so that `caf --help` loads none of them. What belongs to an extra is imported
inside the verb, whose help works without it.
"""
