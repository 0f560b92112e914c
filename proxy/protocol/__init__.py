"""Types and texts that all parts of the proxy may import:

messages.py     the chat request; canonical.py: texts in comparable form
user_texts.py   what the user says in a request that is not validated yet
lenient_json.py the words in a body that is no JSON
json_text.py    what a JSON reply says; invisible.py: invisible characters that could carry a text
task_prompt.py  a chat application's prompt for a title, tags or follow-ups, and an answer in its form
errors.py       the errors that clients see, as a tree, and their OpenAI bodies; model_errors.py: failed model calls as such;
                missing_routes.py: what to use instead of routes that are not here
"""
