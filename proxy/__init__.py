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
    afterwards.py    what no reply waits for; shadow.py: what the filter would have done
    conversation.py  what is remembered, and how a conversation is recognised
    memory.py        where it is kept
    passthrough.py   a chatbot that only forwards
    dialect.py       how a client speaks: chat completions, or
    responses.py     /v1/responses: responses_request.py, responses_reply.py, responses_stream.py, responses_store.py
    embeddings.py    /v1/embeddings, forwarded
    openapi.py       /openapi.json
    errors.py        OpenAI error bodies
    metrics.py       what Prometheus is told; worker_metrics.py: of several processes
    tracing.py       whether OpenTelemetry is asked for; telemetry.py: its spans
    logs.py          our log lines; library_logs.py: what libraries would print
    erasure.py       forgetting a conversation everywhere
    trace.py, trace_store.py
    trace_place.py   where traces are: trace_file.py (SQLite), trace_database.py and trace_schema.py (PostgreSQL)
    trace_query.py   what is asked of them
    trace_labels.py  what a person says of a traced turn
    audited.py       what the audit log is told
    audit.py         writes it; audit_chain.py: its lines; audit_folder.py: reads and checks it
"""
