"""The only door to language models.

In reading order:

    client.py         Models, the door: complete, structured, forward; `open_models` builds it
    alias.py          one configured model, with hedging, retries and deadlines
    settings.py       what config.yaml says of one model alias
    request.py        pure: what the settings add to a request
    answer.py         pure: how an upstream's answer is read, streamed or not; thoughts.py: what is cut out of its text
    structured.py     pure: how an answer that must fit a pydantic model is asked for, read and repaired
    schema.py         pure: a pydantic model as the JSON Schema that OpenAI's strict mode takes
    usage.py          tokens, cost, and the calls of one turn
    errors.py         what can go wrong, drawn as a tree; refusal.py: pure, what an upstream says of a request it refuses
    fallback.py       pure: which aliases stand in for which
    bulkhead.py       how many calls run and wait at once, behind the circuit breaker of breaker.py
    relay.py          forwarding where an alias has a bulkhead or a fallback
    engine.py         Engine, a way to reach a model; Forwarded, a relayed answer
    turn_scope.py     what engines know of the turn that a call belongs to
    streaming.py      AnswerStream, which carries the text of an answer from the engine to its reader
    assembly.py       reads a stream of chunks and joins them; streamed_calls.py: its tool calls. Pure.
    openai_engine.py  any OpenAI-compatible server
    litellm_engine.py every other provider; the only module that imports litellm, when it is used
    script.py         what a scripted model says: rules for demos and tests, in YAML
    scripted.py       the engine that says it
    recording.py      recorded answers, replayed; answer_cache.py: a cache of answers on disk
    unique_keys.py    YAML and JSON of files, without duplicate keys
    budget.py         what the calls of a run may cost together
    completion.py     pure: an answer as the chat completion that a server would have sent
"""
