"""What a chatbot may say, and how it says where that comes from.

In reading order:

* `front_matter.py` splits a markdown file into its YAML front matter and its text.
* `library.py` loads a folder of sections and validates it at the door: `load`, `Library`, `Source`.
* `bm25.py` finds sections by their words; `selection.py` has a model pick those that a question needs.
* `evidence.py` finds what judges see: by the draft, by the question, by quotes; `retrieval_eval.py` measures it.
* `citations.py` says what the chatbot's commands mean and what is wrong with them; `commands.py` finds them. Pure.
* `spreadsheet.py` keeps spreadsheets from calculating the cells of a CSV file. Pure.
* `building/` makes sections of documents.
* `prompts/` holds the static instructions for the model-backed selection.
* `pairs/` makes question-answer pairs of documents, checks them, and has experts review them.
* `schizophrenia/` is the first knowledge base, one markdown file per section; `gesundheit/` is the German one, with pairs.
"""
