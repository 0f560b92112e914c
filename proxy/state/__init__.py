"""Conversations between their turns:

conversation.py           the state of one, and the keys it is found by
conversation_store.py     where its states are stored (the protocol, and the store of one process), and how a request finds its own
danger_marks.py           marks of messages that told of danger, to recognise them where a program quotes them
delivered_calls.py        tool calls: their ids at the upstream, and what its model wants back with them
redis_conversations.py    the same for several processes
"""
