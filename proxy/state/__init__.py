"""Conversations between their turns:

conversation.py           what is remembered of one, and how it is recognised
conversation_store.py     where it is kept, for one process; generation.py: laid out flat
redis_conversations.py    the same for several processes
"""
