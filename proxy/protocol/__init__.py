"""Types and texts that all parts of the proxy may import:

messages.py     the chat request; canonical.py: texts in comparable form
user_texts.py   the user's texts in a request that is not validated yet
lenient_json.py the words in a body that is not valid JSON
json_text.py    a JSON reply as text for judges; invisible.py: removes invisible characters that could carry a text
task_prompt.py  a chat application's prompt for a title, tags or follow-ups, and an answer in its form
errors.py       the error classes that clients see, and their OpenAI bodies; model_errors.py: maps failed model calls to them;
                missing_routes.py: advice for routes that the proxy does not have
"""
