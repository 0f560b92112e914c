"""The only door to language models.

In reading order:

    client.py         Models, the door: complete, structured, forward; `open_models` builds it
    alias.py          one configured model, with hedging, retries and deadlines
    settings.py       the settings of one model alias in config.yaml
    request.py        pure: adds an alias's settings to a request
    answer.py         pure: reads an upstream's answer, streamed or not; thoughts.py cuts the model's thoughts out of it
    structured.py     pure: requests, reads and repairs an answer that must fit a pydantic model
    schema.py         pure: converts a pydantic model to the JSON Schema that OpenAI's strict mode accepts
    usage.py          tokens, cost, and the calls of one turn
    errors.py         the errors, drawn as a tree; refusal.py: pure, reads why an upstream refused a request
    fallback.py       pure: the fallbacks of each alias, in order
    bulkhead.py       limits the running and waiting calls, behind the circuit breaker of breaker.py
    relay.py          forwards requests of an alias that has a bulkhead or a fallback
    engine.py         Engine, a way to reach a model; Forwarded, a relayed answer
    turn_scope.py     the context of a turn that engines can read
    streaming.py      AnswerStream, which carries the text of an answer from the engine to its reader
    assembly.py       pure: joins the chunks of a stream; streamed_calls.py joins its tool calls
    openai_engine.py  any OpenAI-compatible server
    litellm_engine.py every other provider; the only module that imports litellm, on its first request
    model_list.py     lists the models of a server
    extras.py         the command that installs a missing optional library
    script.py         the rules of a scripted model, for demos and tests, in YAML
    scripted.py       the engine that answers by these rules
    recording.py      records answers and replays them; answer_cache.py: a cache of answers on disk
    suggestions.py    pure: suggests the nearest known word for a misspelt key or value
    unique_keys.py    loads YAML and JSON, and refuses duplicate keys
    budget.py         a limit on the total cost of a run's calls
    completion.py     pure: wraps an answer as a chat completion
"""
