"""HTTP in, guarded reply out.

A chat request passes through these rooms in order:

    app.py           create_app(config): wiring, the routes as a list
    middleware.py    around every request: errors become OpenAI bodies, one log line
    chat.py          POST /v1/chat/completions
    session.py       recall and remember a conversation
    turn.py          one guarded turn: retrieval.py, draft.py, judging.py
    context.py       what the upstream model sees
    cases.py         what the judges see
    reply.py         the response body
    stream.py        the response as server-sent events

What they use:

    config.py        config.yaml, validated once
    chatbot.py       a chatbot, assembled from its settings
    access.py        who is asking, and what they may do
    messages.py      the chat request
    delivery.py      what a turn works on, and what it comes to
    afterwards.py    what no reply waits for
    conversation.py  what is remembered, and how a conversation is recognised
    memory.py        where it is kept
    passthrough.py   a chatbot that only forwards
    errors.py        OpenAI error bodies
    metrics.py, logs.py, trace.py, trace_store.py
    trace_labels.py  what a person says of a traced turn
"""
