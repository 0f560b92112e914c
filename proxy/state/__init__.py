"""The state of conversations between turns:

conversation.py           the state of a conversation, and its keys
conversation_store.py     the store's protocol, the store of one process, and the look-up of a request's state
danger_marks.py           marks of messages that mention danger, to recognise them in a program's quotes
delivered_calls.py        delivered tool calls: the upstream's ids, and the fields that its model needs back
redis_conversations.py    the store for several processes
"""
