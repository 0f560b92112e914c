"""What a scripted model says.

    models:
      demo:
        engine: scripted
        script:
          - "The first answer."                    # a bare text answers one request, in order
          - when: "stop taking"                    # case is ignored; words are looked for in the last user message
            reply: "[[cite: medication]]\nPlease talk to your doctor first."
          - when: "/friend|lonely/"                # between slashes: a regular expression
            within: prompt                         # look in all messages, role and case included
            reply: {verdict: reject, reason: "plays a friend"}     # an object is sent as JSON text
          - when: "slow"
            delay_s: 2
            reply: "At last."
          - when: "broken"
            fail: 503                              # a status, or timeout, disconnect, garbled
            times: 2                               # this rule answers two requests, then is passed over
          - reply: "Anything else."                # without `when`: matches every request

The first rule that matches and is not used up answers. A request that nothing matches is refused (404,
`no_scripted_answer`). A rule cannot see for which step it is asked: give each judge its own alias, or tell them apart
by a phrase of their prompt.

`script: answers.yaml` reads such a list from a file, `script: {replay: log.jsonl}` answers as recorded (recording.py).
"""

import re
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

Failure = Literal["timeout", "disconnect", "garbled"]


class Rule(BaseModel):
    """When to say what."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    when: str | None = None
    """Words, or a regular expression between slashes; None matches every request."""
    within: Literal["last_user", "prompt"] = "last_user"
    """Where `when` is looked for: the last user message, or all messages together."""
    reply: str | dict[str, Any] | None = None
    """The answer. An object with `choices` is a whole response, with `tool_calls` a message, any other JSON text."""
    fail: int | Failure | None = None
    """Fail in place of a reply: an HTTP status or a kind of breakdown."""
    delay_s: float = Field(default=0, ge=0)
    """Seconds to wait before."""
    times: int | None = Field(default=None, ge=1)
    """How many requests this rule answers; None is any number."""

    @model_validator(mode="after")
    def _says_one_thing(self) -> "Rule":
        if (self.reply is None) == (self.fail is None):
            raise ValueError("a rule has either `reply` (a text or an object) or `fail` (503, timeout, ...)")
        if isinstance(self.fail, int) and not 300 <= self.fail <= 599:
            raise ValueError(f"fail: {self.fail} is no failing HTTP status; give one from 300 to 599")
        if (pattern := self.pattern) is not None:
            try:
                re.compile(pattern)
            except re.error as error:
                raise ValueError(f"when: {self.when!r} is no regular expression: {error}") from None
        return self

    @property
    def pattern(self) -> str | None:
        """`when` as a regular expression."""
        if self.when is None:
            return None
        if len(self.when) > 1 and self.when[0] == self.when[-1] == "/":
            return self.when[1:-1]
        return re.escape(self.when)


class Replay(BaseModel):
    """Answer as recorded."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    replay: Path
    """A JSONL file of recorded exchanges."""


Script = list[str | Rule] | Replay | Path
