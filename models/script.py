"""The format of a script: the rules by which a model with `engine: scripted` answers.

    models:
      demo:
        engine: scripted
        script:
          - "The first answer."                    # a plain text answers one request, in order
          - when: "stop taking"                    # matches if the last user message contains it, ignoring case
            reply: "[[cite: medication]]\nPlease talk to your doctor first."
          - when: "/friend|lonely/"                # between slashes: a regular expression
            within: prompt                         # search all messages, as "ROLE: TEXT" lines
            reply: {verdict: reject, reason: "plays a friend"}     # an object is sent as JSON text
          - when: "slow"
            delay_s: 2
            reply: "At last."
          - when: "broken"
            fail: 503                              # a status, or timeout, disconnect, garbled
            times: 2                               # this rule answers two requests, then is skipped
          - reply: "Anything else."                # without `when`: matches every request

The first rule answers that matches the request and has not reached its limit `times`. A request that matches no rule is refused
(404, `no_scripted_answer`). Rules do not know which judge sends a request. So give each judge its own alias, or match a phrase
of its prompt.

`script: answers.yaml` reads such a list of rules from a file. `script: {replay: log.jsonl}` replays a recording (recording.py).
"""

import re
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

Failure = Literal["timeout", "disconnect", "garbled"]


class Rule(BaseModel):
    """One rule of a script: which requests it matches, and how it answers them."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    when: str | None = None
    """Text to search for, ignoring case, or a regular expression between slashes. None matches every request."""
    within: Literal["last_user", "prompt"] = "last_user"
    """Where to search for `when`: in the last user message, or in all messages (`prompt`)."""
    reply: str | dict[str, Any] | None = None
    """The answer: a text; a complete response (with `choices`); a message (with `tool_calls`); any other object, sent as JSON."""
    fail: int | Failure | None = None
    """The failure to simulate instead of a reply: an HTTP status, `timeout`, `disconnect` or `garbled`."""
    delay_s: float = Field(default=0, ge=0)
    """Seconds to wait before the answer."""
    times: int | None = Field(default=None, ge=1)
    """Maximum number of requests that this rule answers. None: no limit."""

    @model_validator(mode="after")
    def _says_one_thing(self) -> "Rule":
        if (self.reply is None) == (self.fail is None):
            raise ValueError("a rule needs exactly one of `reply` (a text or an object) and `fail` (503, timeout, ...)")
        if isinstance(self.fail, int) and not 300 <= self.fail <= 599:
            raise ValueError(f"fail: {self.fail}: expected an HTTP status from 300 to 599")
        if (pattern := self.pattern) is not None:
            try:
                re.compile(pattern)
            except re.error as error:
                raise ValueError(f"when: {self.when!r}: invalid regular expression: {error}") from None
        return self

    @property
    def pattern(self) -> str | None:
        """`when` as a regular expression; None if the rule matches every request."""
        if self.when is None:
            return None
        if len(self.when) > 1 and self.when[0] == self.when[-1] == "/":
            return self.when[1:-1]
        return re.escape(self.when)


class Replay(BaseModel):
    """A script that replays the answers of a recording."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    replay: Path
    """Path of the recording, a JSONL file with one exchange per line."""


Script = list[str | Rule] | Replay | Path
