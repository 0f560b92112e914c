"""/v1/responses: OpenAI's Responses API, translated into a chat request and back.

route.py    the handlers
request.py  validates the request; translation.py: makes it a chat request
reply.py    makes a chat completion a response object
stream.py   makes the chunks of a chat completion events
store.py    stored responses, which later requests continue; redis_store.py: for several processes
"""
