"""HTTP in and out. In the order of a request:

    middleware.py     around every request: errors become OpenAI bodies, one log line
    cors.py           web pages of other origins: preflights, and headers of every answer
    request_body.py   the bytes of a request, read and limited
    dialect.py        the form of request and reply: chat completions, or responses/
    chat.py           POST /v1/chat/completions
    turn_estimate.py  what a turn may use, for the limits of its key
    run_turn.py       runs a turn, stores its state, records its trace
    respond.py        sends a reply, in one piece or streamed
    completion.py     the response body
    stream.py         the response as server-sent events
    outgoing.py       fields of an upstream's answer that are passed on
    logprobs.py       log probabilities of the delivered tokens

Other routes:

    passthrough.py    a chatbot that only forwards; forwarded_usage.py: its usage
    embeddings.py     /v1/embeddings, forwarded
    responses/        /v1/responses, translated
    erasure.py        DELETE /admin/conversations/{id}
    status.py         /v1/models, /healthz, /readyz, /metrics
    openapi.py        /openapi.json

And what they share:

    service.py        the objects that handlers share, made once by create_app
    handover.py       what is kept when the configuration is exchanged
"""
