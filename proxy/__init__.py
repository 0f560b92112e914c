"""The proxy: it receives chat requests over HTTP, and returns replies that judges have checked.

The parts in calling order. Each part imports only the parts below it (tests/test_architecture.py enforces this):

    serving/     runs the application: connections, reload, worker processes
    app.py       create_app(config): wiring and the list of routes
    api/         HTTP in and out: chat completions, responses, embeddings, errors, server-sent events, openapi
    turn/        one guarded turn: retrieval, draft, hard checks, judging, completion, early streaming
    state/       conversation state: its content, its keys, its stores
    auth/        API keys, their permissions and limits
    traces/      records of turns in a file or a database, and queries over them
    telemetry/   metrics, spans, log lines
    audit/       the hash-chained log of outcomes and changes
    protocol/    shared by all parts: the request's messages, the error tree
    config/      the schema and validation of config.yaml
"""
