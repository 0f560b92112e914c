"""Sends requests to language models. No other package calls a model.

In reading order:

    client.py         Models, the public interface: complete, structured, forward; `open_models` builds it
    alias.py          one configured model, with hedging, retries and deadlines
    settings.py       the settings of one model alias in config.yaml
    request.py        pure: adds the settings of an alias to a request
    answer.py         pure: normalizes an upstream's answer, streamed or not; thoughts.py removes the model's thoughts
    structured.py     pure: structured output: requests JSON for a pydantic model, parses the answer, asks for a repair
    schema.py         pure: converts a pydantic model to the JSON Schema that OpenAI's strict mode accepts
    usage.py          token usage, costs, and the ledger of one turn's calls
    errors.py         the tree of errors; refusal.py: pure, reads the code and field of an upstream's refusal
    fallback.py       pure: resolves the `fallback` lists of the aliases
    bulkhead.py       limits the concurrent and queued calls of an alias; breaker.py is its circuit breaker
    relay.py          forwards requests of an alias that has a bulkhead or a fallback
    engine.py         Engine, the interface of all backends; Forwarded, a relayed answer
    turn_scope.py     context variables: the current turn, for engines that need it
    streaming.py      AnswerStream, which carries the text of an answer from the engine to its reader
    assembly.py       pure: builds a chat completion from streamed chunks; streamed_calls.py does so for tool calls
    openai_engine.py  any OpenAI-compatible server
    litellm_engine.py every provider of litellm, which no other module imports
    model_list.py     lists the models of a server
    extras.py         returns the shell command that installs a missing optional dependency
    script.py         the YAML format of a scripted model, for demos and tests
    scripted.py       the engine that answers from such a script
    recording.py      records answers and replays them; answer_cache.py: a cache of answers on disk
    validation_errors.py  pure: describes invalid data, and suggests the nearest known word for a misspelt one
    unique_keys.py    loads YAML and JSON, and refuses duplicate keys
    budget.py         limits the total cost of the calls of a run
    completion.py     pure: wraps an answer as a chat completion
"""
