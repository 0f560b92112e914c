"""The `caf` command, one file per command or group of commands.

* `main.py` is the entry point and lists the commands.
* `init.py` sets up a new chatbot; `starter/` has its questions, files and templates.
* `serve.py`, `chat.py`, `check.py`, `key.py`, `trace.py`, `audit.py` and `schema.py` hold the commands of their names.
* `upstream.py` wraps a chatbot of another server for `caf serve --upstream`.
* `compare.py` asks your own questions with the filter on and off.
* `judging/` holds the commands of `caf judges`, `drifting/` those of `caf drift`, `rate.py` those of `caf rate`.
* `knowledge_base.py` holds the commands of `caf kb`; `kb_import.py` imports documents, `kb_eval.py` reads and prints evaluations.
* `kb_pairs.py` holds the commands of `caf kb` for question-answer pairs; `kb_build.py` holds their calls to models.
* `check_files.py` checks the files of `caf check FILE`; `file_kind.py` recognises the kind of a file.
* `scenario.py` makes scenarios from traced turns; `exchange.py` converts between tables and scenarios.
* `assistant.py` lists the tasks of an assistant.
* `conversation.py` is the client side of a chat: its requests and replies.
* `trace_output.py` prints tables of turns; `story.py` describes one turn.
* `extras.py` tells the user which extra to install when an optional library is missing.
* `terminal.py` holds shared parts: exit codes, error messages, the configuration's path. `drawing.py` has tables and progress bars.

The module of a command is imported when the command is called, so `caf --help` loads none of them. Optional libraries are imported
inside the command, so its help works without them.
"""
