"""The sections that a chatbot may cite, and its citation commands.

In reading order:

* `front_matter.py` splits a markdown file into its YAML front matter and its text.
* `library.py` loads and validates a folder of sections: `load`, `Library`, `Source`.
* `bm25.py` searches sections by words; `selection.py` lets a model select the sections for a question.
* `evidence.py` selects the sections that judges see; `retrieval_eval.py` measures that selection.
* `citations.py` interprets the chatbot's commands and describes their errors; `commands.py` finds them in a text. Pure.
* `spreadsheet.py` escapes the cells of a CSV file, so that spreadsheets do not run them as formulas. Pure.
* `building/` converts documents to sections.
* `prompts/` holds the prompt of `selection.py`.
* `pairs/` builds question-answer pairs from documents, checks them, and imports the reviews of experts.
* `schizophrenia/` is the first knowledge base, one markdown file per section; `gesundheit/` is the German one, with pairs.
"""
