"""Log probabilities of a text's tokens. Pure.

An upstream's logprobs are parsed and written again with known fields only. Its tokens may spell hidden reasoning, and unknown
fields may contain anything.
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
    """Return the tokens with known fields only; None if, joined, they are not the text.

    If a character consists of several tokens, only their bytes identify it. Such a `token` is written as OpenAI writes it,
    such as `\\xc3`.
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
