"""What `caf init` needs besides its options:

answers.py     what is known of the new chatbot, and how each answer is read
providers.py   where a model may be, and what a configuration then says of it
questions.py   asks for what no option says
languages.py   the texts for somebody in danger, by language
files.py       the files, made of templates/ and written all or not at all
first_turn.py  one turn through a proxy that runs for it alone
"""
