"""How likely the tokens of a text were. Pure.

What an upstream says of that is read and written anew: its tokens may spell what it has thought and not said, and in fields that
nobody knows there may be anything.
"""

from typing import Annotated

from pydantic import BaseModel, Field, ValidationError

from models.client import Body

Octet = Annotated[int, Field(ge=0, le=255)]


class Likely(BaseModel):
    """A token, and how likely it was."""

    token: str
    logprob: float
    bytes: list[Octet] | None = None


class Token(Likely):
    """A token of a text, and what else might have stood in its place."""

    top_logprobs: list[Likely] = []


class Logprobs(BaseModel):
    """What a choice says of the tokens of its text."""

    content: list[Token]


def spelling(logprobs: object, text: str) -> list[Body] | None:
    """Return the tokens that spell a text, with known fields only; None where they do not spell it.

    Where a character is made of several tokens, only their bytes say what they are: then these count, and `token` is written as
    OpenAI writes it, such as `\\xc3`.
    """
    try:
        read = Logprobs.model_validate(logprobs)
    except ValidationError:
        return None
    tokens = [token.model_dump() for token in read.content]
    raw = [spelled(token) for token in tokens]
    if b"".join(raw) != encoded(text):
        return None
    return [token | {"token": one.decode(errors="backslashreplace")} for token, one in zip(tokens, raw, strict=True)]


def spelled(token: Body) -> bytes:
    """Return what a token stands for."""
    return encoded(token["token"]) if token["bytes"] is None else bytes(token["bytes"])


def encoded(text: str) -> bytes:
    return text.encode(errors="surrogatepass")
