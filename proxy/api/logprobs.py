"""Selects the log probabilities of the tokens of a text. Pure.

The logprobs of an upstream are parsed, and written again with known fields only. Their tokens may spell hidden reasoning, and
unknown fields may contain anything.
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
    """Return the tokens in an upstream's logprobs, with known fields only. Return None if the joined tokens are not the text.

    If a character consists of several tokens, only their bytes identify the character. Such a token is written as OpenAI writes
    it, for example `\\xc3`.
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
