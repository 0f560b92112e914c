"""Chatbots that run inside the proxy, and the interface for writing your own.

* `assistant.py` defines the interface. `registry.py` finds an assistant by name, and `engine.py` runs it for a model alias.
* `embedded.py` is the default chatbot. Without a model, it answers from its sources, and drifts when a user nudges it.
  `view.py` parses the conversation, `extract.py` answers from sections, and `improvise.py` drifts on the subjects in `areas.py`.
* `attachments.py` reads files and pictures from requests. `message_store.py` stores data for the messages of a conversation.
* `schizophrenia.md` is a role for a chatbot: a system prompt for questions about schizophrenia.
"""
