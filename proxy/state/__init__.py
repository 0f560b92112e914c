"""Conversations between their turns:

conversation.py           what is remembered of one, and how it is recognised
recall.py                 how a request finds its state
conversation_store.py     where its states are stored: the protocol, and the store of one process
redis_conversations.py    the same for several processes
"""
