"""What a chatbot may say, and how it says where that comes from.

In reading order:

* `front_matter.py` splits a markdown file into its YAML front matter and its text.
* `library.py` loads a folder of sections and validates it at the door: `load`, `Library`, `Source`.
* `selection.py` picks the sections a question needs: `Lexical` without a model, `select` with one.
* `citations.py` says what the chatbot's commands mean and what is wrong with them; `commands.py` finds them. Pure.
* `prompts/` holds the static instructions for the model-backed selection.
* `schizophrenia/` is the first knowledge base, one markdown file per section.
"""
