"""Files of conversations, questions and labelled replies, with which judges and chatbots are measured.

* `scenario.py`: `Scenario` (a reply or user message with its expected verdicts), and `Family` (a group of scenarios).
* `scenario_files.py`: reads and writes scenarios as YAML (a family per file) or JSONL (a scenario per line).
* `exchange.py`: converts rows of tables to scenarios and back; `tables.py` reads and writes the table formats.
* `checkpoint.py`: a saved conversation.
* `questions.py`: ordinary questions, whose replies a filter should leave unchanged.
* `own_questions.py`: your own questions for `caf compare`, with your expectations.
* `files.py`: reads and writes YAML files. Error messages name the file and the field.
* `judges/*.yaml` holds the shipped scenarios for the judges, `knowledge_bases/` the small knowledge bases that some of them cite,
  `checkpoints/*.yaml` the conversations from which samples branch, `benign/*.yaml` the ordinary questions.
"""
