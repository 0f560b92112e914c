"""What config.yaml may say, validated once:

config.py               the file as a whole
settings.py             its sections
chatbot_settings.py     one chatbot; judge_settings.py: one judge
blueprint.py            chatbots with their prompts, judges and knowledge bases, read and checked
thresholds.py           which `accept_below` of its judges holds
"""
