"""HTTP in and out. In the order of a request:

    middleware.py     around every request: errors become OpenAI bodies, one log line
    request_body.py   the bytes of a request, read and limited
    dialect.py        how a client speaks: chat completions, or responses/
    chat.py           POST /v1/chat/completions
    run_turn.py       a turn within the service: taken, remembered, traced
    reply.py          the response body; respond.py: on its way, in one piece or streamed
    stream.py         the response as server-sent events
    outgoing.py       what an upstream says of its answer, as far as it leaves
    logprobs.py       the likelihoods of the tokens that are delivered

Other routes:

    passthrough.py    a chatbot that only forwards; forwarded_usage.py: what that used
    embeddings.py     /v1/embeddings, forwarded
    responses/        /v1/responses, translated
    erasure.py        forgetting a conversation everywhere
    openapi.py        /openapi.json

And what they share:

    service.py        what every handler finds: made once by create_app
    handover.py       what goes on when the configuration is exchanged
"""
