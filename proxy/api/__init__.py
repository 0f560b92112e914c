"""The HTTP API of the proxy. Modules in the order in which a chat request passes them:

    middleware.py     wraps every request: errors become OpenAI bodies, and each request is logged in one line
    cors.py           requests of web pages from other origins: preflights and headers
    request_body.py   reads the bytes of a request, within limits
    dialect.py        the form of request and reply: chat completions, or responses/
    chat.py           POST /v1/chat/completions
    turn_estimate.py  estimates the usage of a turn, for the limits of its key
    run_turn.py       runs a turn, stores its state, records its trace
    respond.py        sends a reply, in one piece or streamed
    completion.py     builds the response body
    stream.py         encodes the response as server-sent events
    outgoing.py       selects the fields of an upstream's answer that are forwarded
    logprobs.py       selects the log probabilities of the delivered tokens

Other routes:

    passthrough.py    requests of passthrough chatbots, which are forwarded; forwarded_usage.py: the usage of these requests
    embeddings.py     /v1/embeddings, which is forwarded
    responses/        /v1/responses, which is translated to a chat request
    erasure.py        DELETE /admin/conversations/{id}
    status.py         /v1/models, /healthz, /readyz, /metrics
    openapi.py        /openapi.json

Shared by the routes:

    service.py        the objects that handlers share, created once by create_app
    handover.py       keeps state when the configuration is reloaded
"""
