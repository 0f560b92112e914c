"""/v1/responses: OpenAI's Responses API. Requests are translated into chat requests, and completions into responses.

route.py    the handlers
request.py  validates the request; translation.py: translates it into a chat request
reply.py    translates a chat completion into a response object
stream.py   translates the chunks of a chat completion into the events of a response
store.py    stores responses, which later requests can continue; redis_store.py: for several processes
"""
