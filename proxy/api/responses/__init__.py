"""/v1/responses: OpenAI's newer form of a chat, translated into a chat request and back.

route.py    the handler
request.py  the request, validated; translation.py: as a chat request
reply.py    a chat completion, as a response object
stream.py   the chunks of a chat completion, as events
store.py    responses that later requests continue; redis_store.py: for several processes
"""
