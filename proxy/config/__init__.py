"""The schema of config.yaml, validated once:

config.py               the whole file
settings.py             its sections
chatbot_settings.py     one chatbot; judge_settings.py: one judge
language_codes.py       the language codes used as keys of texts
local_judges.py         the accuracy of local judges, and the chatbots on whose replies they decide
blueprint.py            chatbots with their prompts, judges and knowledge bases, read and checked
removed_settings.py     settings of earlier versions, which are ignored and reported

models/settings.py has the settings of a model alias.
"""
