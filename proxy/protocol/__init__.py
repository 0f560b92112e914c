"""Types that all parts of the proxy may import:

messages.py     the chat request; canonical.py: texts in comparable form
user_texts.py   what the user says in a request that is not validated yet
lenient_json.py the words in a body that is no JSON
errors.py       the errors that clients see, as a tree, and their OpenAI bodies; model_errors.py: failed model calls as such;
                missing_routes.py: what to use instead of routes that are not here
"""
