"""Types and texts that all parts of the proxy may import:

messages.py     validates the chat request; canonical.py: normalises texts for comparison
user_texts.py   finds the user's texts in a request that is not validated yet
lenient_json.py reads the words in a body that is not valid JSON
json_text.py    converts a JSON reply to text for judges; invisible.py: removes invisible characters that could carry a text
task_prompt.py  recognises the prompts by which chat applications request a title, tags or follow-ups
errors.py       the error classes that clients see, and their OpenAI bodies; model_errors.py: maps failed model calls to them;
                missing_routes.py: advice for routes that the proxy does not have
"""
