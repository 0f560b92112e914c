"""The questions, templates and file writing of `caf init`:

answers.py     the answers about the new chatbot, and the functions that parse them
providers.py   the model providers on offer, and the model settings for each of them
questions.py   the interview: asks for every option that is missing from the command line
languages.py   emergency contacts and fallback messages, by language
files.py       renders the files from templates/, and writes either all of them or none
first_turn.py  sends a first question through a temporary proxy
"""
