"""The parts of `caf init`:

answers.py     the answers about the new chatbot, and their parsers
providers.py   providers of models, and the model settings for each
questions.py   asks for missing options
languages.py   emergency and fallback texts, by language
files.py       renders the files from templates/, and writes all or none
first_turn.py  takes one turn through a temporary proxy
"""
