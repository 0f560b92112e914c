"""What config.yaml may say, validated once:

config.py               the file as a whole
settings.py             its sections
chatbot_settings.py     one chatbot; judge_settings.py: one judge
language_codes.py       the keys of texts by language
local_judges.py         how good local judges are, and on whose replies they decide
blueprint.py            chatbots with their prompts, judges and knowledge bases, read and checked
removed_settings.py     settings of earlier versions, which are ignored and named

What it may say of a model alias is in models/settings.py.
"""
