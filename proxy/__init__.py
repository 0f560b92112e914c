"""HTTP in, guarded reply out.

The rooms, from the door inwards; each knows only those below it (tests/test_architecture.py):

    serving/     the application on an address: connections, reload, several processes
    app.py       create_app(config): wiring, the routes as a list
    api/         HTTP in and out: chat completions, responses, embeddings, errors, server-sent events, openapi
    turn/        one guarded turn: retrieval, draft, checks, judging, completing, what may leave before a verdict
    state/       conversations: what is remembered, how it is recognised, where it is kept
    auth/        keys, what they may do, and their limits
    traces/      what happened in a turn, kept in a file or a database, and asked for
    telemetry/   metrics, spans, log lines
    audit/       the hash-chained log of outcomes and changes
    protocol/    what everybody may know: the request's messages, the error tree
    config/      what config.yaml may say, validated once
"""
