"""Chatbots to put behind the proxy, and their roles.

* `embedded.py` is the default: a stand-in that answers from its sources and drifts when nudged, without any model.
  `view.py` reads what it sees, `extract.py` answers from sections, `improvise.py` drifts, on the subjects of `areas.py`.
* `assistant.py` is what an assistant is; `registry.py` finds it by name, `engine.py` makes it the engine of a model alias.
* `attachments.py` reads files and pictures of a request; `message_store.py` keeps something for a conversation's messages.
* `schizophrenia.md` is the role of the first guarded chatbot.
"""
