"""HTTP in and out. In the order of a request:

    middleware.py     wraps every request: errors become OpenAI bodies, one log line
    cors.py           requests of web pages from other origins: preflights and headers
    request_body.py   reads the bytes of a request, within limits
    dialect.py        the form of request and reply: chat completions, or responses/
    chat.py           POST /v1/chat/completions
    turn_estimate.py  estimated usage of a turn, for the limits of its key
    run_turn.py       runs a turn, stores its state, records its trace
    respond.py        sends a reply, in one piece or streamed
    completion.py     the response body
    stream.py         the response as server-sent events
    outgoing.py       fields of an upstream's answer that are forwarded
    logprobs.py       log probabilities of the delivered tokens

Other routes:

    passthrough.py    a chatbot that only forwards requests; forwarded_usage.py: their usage
    embeddings.py     /v1/embeddings, forwarded
    responses/        /v1/responses, translated
    erasure.py        DELETE /admin/conversations/{id}
    status.py         /v1/models, /healthz, /readyz, /metrics
    openapi.py        /openapi.json

Shared by the routes:

    service.py        the objects that handlers share, created once by create_app
    handover.py       keeps state when the configuration is reloaded
"""
