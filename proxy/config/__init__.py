"""What config.yaml may say, validated once:

config.py               the file as a whole
settings.py             its sections
chatbot_settings.py     one chatbot; judge_settings.py: one judge
language_codes.py       the keys of texts by language
blueprint.py            chatbots with their prompts, judges and knowledge bases, read and checked
thresholds.py           which `accept_below` of its judges holds; threshold_writer.py: writes them into a file

What it may say of a model alias is in models/settings.py.
"""
