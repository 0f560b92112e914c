"""What everybody may know:

messages.py     the chat request; canonical.py: a text as it is compared
errors.py       the errors that clients see, as a tree, and their OpenAI bodies
"""
