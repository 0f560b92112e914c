"""Conversations and replies kept as files, to start from or to judge.

* `scenario.py`: a reply with the verdicts it should get, and its family; `scenario_files.py`: YAML files and JSONL rows of them.
* `exchange.py`: rows of other people's tables as scenarios, and ours as theirs; `tables.py` reads and writes the formats.
* `checkpoint.py`: a saved conversation.
* `questions.py`: ordinary questions, to which a filter should leave the replies as they are.
* `own_questions.py`: your own questions for `caf compare`, with what you expect of the replies.
* `files.py`: reading and writing them, faults name file and field.
* `judges/*.yaml` holds the scenarios that our judges are measured on, `knowledge_bases/` the small ones that some of them cite,
  `checkpoints/*.yaml` the conversations that samples branch from, `benign/*.yaml` the ordinary questions.
"""
