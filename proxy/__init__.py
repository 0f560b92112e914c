"""HTTP in, guarded reply out.

A chat request passes through these rooms in order:

    app.py           create_app(config): wiring, the routes as a list
    middleware.py    around every request: errors become OpenAI bodies, one log line
    chat.py          POST /v1/chat/completions
    session.py       recall and remember a conversation
    turn.py          one guarded turn: retrieval.py, draft.py, judging.py
    context.py       what the upstream model sees
    cases.py         what the judges see; json_text.py: of a JSON reply
    reply.py         the response body; respond.py: on its way, in one piece or streamed
    stream.py        the response as server-sent events
    outgoing.py      what an upstream says of its answer, as far as it leaves; logprobs.py: how likely the tokens of a text were

What they use:

    config.py        config.yaml, validated once: settings.py and chatbot_settings.py say what may stand in it
    service.py       what every handler finds: made once by create_app
    chatbot.py       a chatbot, assembled from its settings; thresholds.py: which `accept_below` of its judges holds
    messages.py      the chat request; request_body.py: its bytes
    delivery.py      what a turn works on, and what it comes to
    tool_calls.py    which calls of tools were asked for, and what of them leaves
    live.py          what leaves before a reply is settled; writer.py: what of a draft may
    logprobs.py      the likelihoods of the tokens that are delivered
    conversation.py  what is remembered, and how a conversation is recognised; folding.py: how a text is
    memory.py        where it is kept, generation.py: laid out flat; redis_memory.py: for several processes
    carry.py         what goes on when the configuration is exchanged
    language.py      which language an emergency is answered in
    afterwards.py    what no reply waits for; shadow.py: what the filter would have done
    passthrough.py   a chatbot that only forwards; relayed.py: what that used
    dialect.py       how a client speaks: chat completions, or `responses/`
    embeddings.py    /v1/embeddings, forwarded
    erasure.py       forgetting a conversation everywhere
    openapi.py       /openapi.json
    errors.py        OpenAI error bodies

And rooms of their own:

    responses/       /v1/responses, translated
    tenants/         keys, what they may do, and their limits
    traces/          what happened in a turn, kept in a file or a database, and asked for
    telemetry/       metrics, spans, log lines
    audit/           the hash-chained log of outcomes and changes
"""
