"""Conversations between their turns:

conversation.py           the state of one, and the keys it is found by
recall.py                 how a request finds its state
conversation_store.py     where its states are stored: the protocol, and the store of one process
redis_conversations.py    the same for several processes
"""
