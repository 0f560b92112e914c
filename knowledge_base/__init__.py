"""Knowledge bases: the sections that a chatbot may cite, the search for sections, and the chatbot's citation commands.

In reading order:

* `front_matter.py` splits a markdown file into YAML front matter and text.
* `library.py` loads and validates a folder of sections: `load`, `Library`, `Source`.
* `bm25.py` searches sections with BM25; `selection.py` asks a model to select the sections for a question.
* `evidence.py` selects the sections that judges see; `retrieval_eval.py` measures how often these hold the answer.
* `commands.py` finds the chatbot's commands in a text; `citations.py` interprets them and reports errors. Pure.
* `spreadsheet.py` escapes CSV cells, so that spreadsheets do not run them as formulas. Pure.
* `building/` converts documents to sections.
* `prompts/` holds the prompt of `selection.py`.
* `pairs/` builds question-answer pairs from documents, checks them, and imports the reviews of experts.
* `schizophrenia/` is an English knowledge base with one markdown file per section; `gesundheit/` is a German one with pairs.
"""
