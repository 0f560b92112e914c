"""Log probabilities of a text's tokens. Pure.

What an upstream says of that is read and written anew: its tokens may spell what it has thought and not said, and in fields that
nobody knows there may be anything.
"""

from typing import Annotated

from pydantic import BaseModel, Field, ValidationError

from models.engine import Body

Octet = Annotated[int, Field(ge=0, le=255)]


class TokenLogprob(BaseModel):
    """A token and its log probability."""

    token: str
    logprob: float
    bytes: list[Octet] | None = None


class Token(TokenLogprob):
    """A token of a text, with its alternatives."""

    top_logprobs: list[TokenLogprob] = []


class Logprobs(BaseModel):
    """The log probabilities of a choice."""

    content: list[Token]


def matching_tokens(logprobs: object, text: str) -> list[Body] | None:
    """Return the tokens with known fields only; None if together they are not the text.

    Where a character is made of several tokens, only their bytes say what they are: then these count, and `token` is written as
    OpenAI writes it, such as `\\xc3`.
    """
    try:
        read = Logprobs.model_validate(logprobs)
    except ValidationError:
        return None
    tokens = [token.model_dump() for token in read.content]
    raw = [token_bytes(token) for token in tokens]
    if b"".join(raw) != encode(text):
        return None
    return [token | {"token": one.decode(errors="backslashreplace")} for token, one in zip(tokens, raw, strict=True)]


def token_bytes(token: Body) -> bytes:
    """Return the bytes of a token."""
    return encode(token["token"]) if token["bytes"] is None else bytes(token["bytes"])


def encode(text: str) -> bytes:
    return text.encode(errors="surrogatepass")
