"""Conversations between their turns:

conversation.py           the state of one, and the keys it is found by
conversation_store.py     where its states are stored (the protocol, and the store of one process), and how a request finds its own
heard.py                  marks of messages in which danger was heard, to know them again where a program quotes them
redis_conversations.py    the same for several processes
"""
