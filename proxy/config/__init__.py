"""The schema and validation of config.yaml:

config.py               the whole file
settings.py             its sections, except models and chatbots
chatbot_settings.py     the settings of one chatbot; judge_settings.py: of one judge
language_codes.py       the language codes used as keys of texts
local_judges.py         which chatbots rely on local judges, and a warning about the accuracy of local judges
blueprint.py            loads and checks the prompts, judges and knowledge base of each chatbot
removed_settings.py     drops settings of earlier versions, with a notice for each

models/settings.py has the settings of a model alias.
"""
