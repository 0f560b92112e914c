"""Files and pictures in messages, as content parts (OpenAI's `file` and `image_url`).

Clients resend a conversation with its attachments, so an assistant reads them from each request and stores none.
"""

import base64
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from io import BytesIO
from typing import Any
from urllib.parse import urlsplit

from assistants.assistant import AssistantRequest
from models.engine import Body

PICTURES = ("image/gif", "image/jpeg", "image/png", "image/webp")
MOST_LINK = 2_000
"""Most characters of a link."""


class AttachmentError(Exception):
    """Attachments cannot be used. The message gives the reason to the user, without content of the attachment."""


@dataclass(frozen=True)
class FileRules:
    """The accepted files of a conversation."""

    names: re.Pattern[str]
    """Accepted names in small letters, as a whole."""
    expected: str
    """Accepted names in a sentence for the user."""
    types: Collection[str]
    """Accepted media types."""
    most_files: int = 20
    most_bytes_each: int = 4_000_000
    most_bytes: int = 12_000_000
    """Most bytes of all files. `server.max_body_bytes` applies first, to base64, which is a third larger."""
    most_rows: int = 200_000
    """Most rows of a Parquet file."""
    most_expanded: int = 400_000_000
    """Most bytes of a Parquet file in memory."""


def read_files(request: AssistantRequest, rules: FileRules) -> dict[str, bytes]:
    """Return the files of a conversation by name, in small letters. The newest file of a name counts.

    Raises:
        AttachmentError: A file of the newest message is refused. Refused files of earlier messages are skipped.
    """
    files: dict[str, bytes] = {}
    refused = []
    for file, is_new in user_parts(request, "file"):
        name = str(file.get("filename")).lower()
        try:
            files[name] = _read_file(
                name, file.get("file_data"), {one: files[one] for one in files if one != name}, rules
            )
        except AttachmentError as error:
            if is_new:  # another name is free text, which must not become evidence
                refused.append(f"{name if rules.names.fullmatch(name) else 'A file'} was not read. {error}")
    if refused:
        raise AttachmentError("\n".join(refused))
    return files


def read_pictures(request: AssistantRequest, most: int = 4, most_bytes: int = 4_000_000) -> list[Body]:
    """Return the pictures of the newest message, as parts of a message to a model. The proxy does not fetch links.

    Raises:
        AttachmentError: There are too many, one is too large, or not an https link or base64 data URL of a picture.
    """
    urls = [picture.get("url") for picture, is_new in user_parts(request, "image_url") if is_new]
    if len(urls) > most:
        raise AttachmentError(f"The pictures were not looked at: a message has {most} at most.")
    for url in urls:
        if isinstance(url, str) and url[:4].lower() == "http":
            _check_link(url)
        else:
            try:
                decode_data_url(url, PICTURES, most_bytes)
            except AttachmentError as error:
                raise AttachmentError(f"The picture was not looked at. {error}") from None
    return [{"type": "image_url", "image_url": {"url": url}} for url in urls]


def _check_link(url: str) -> None:
    """Refuse a link that the model's server must not fetch: not https, with a password, or to an address that is not public."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        is_public = "." in host and ":" not in host and not host.rpartition(".")[2][:1].isdigit()  # not an IP address
    except ValueError:
        is_public = False
    if not (is_public and parts.scheme == "https" and "@" not in parts.netloc and len(url) <= MOST_LINK) or " " in url:
        raise AttachmentError("The picture was not looked at. A link must be a public https address of a host name.")


def user_parts(request: AssistantRequest, kind: str) -> Iterator[tuple[Body, bool]]:
    """Yield the content of parts of a type in the user's messages, oldest first, and whether it is in the newest message."""
    # A redraft ends with the refused draft and the reason.
    messages = request.messages[:-2] if request.view.check else request.messages
    last_reply = max((n for n, one in enumerate(messages) if one.get("role") == "assistant"), default=-1)
    for n, message in enumerate(messages):
        parts = message.get("content") if message.get("role") == "user" else None
        for part in parts if isinstance(parts, list) else ():
            if isinstance(part, dict) and part.get("type") == kind:
                value = part.get(kind)
                yield value if isinstance(value, dict) else {}, n > last_reply


def decode_data_url(url: object, types: Collection[str], most_bytes: int) -> bytes:
    """Decode `data:TYPE;base64,...`. The size is checked before decoding.

    Raises:
        AttachmentError: The URL is not a data URL, or its content has another type, is too large, empty or broken.
    """
    head, _, encoded = url.partition(";base64,") if isinstance(url, str) else ("", "", "")
    if not head.startswith("data:") or not encoded:
        raise AttachmentError("It must be a base64 data URL, such as data:text/csv;base64,ZGF0ZQ==")
    if head[5:].partition(";")[0].lower() not in types:
        raise AttachmentError(f"Its type is not taken (expected {', '.join(sorted(types))}).")
    if len(encoded) * 3 // 4 - encoded[-2:].count("=") > most_bytes:
        raise AttachmentError(f"It has more than {most_bytes / 1_000_000:g} MB.")
    try:
        return base64.b64decode(encoded, validate=True)
    except ValueError:
        raise AttachmentError("Its base64 is broken.") from None


def _read_file(name: str, data: Any, others: dict[str, bytes], rules: FileRules) -> bytes:
    if not rules.names.fullmatch(name):
        raise AttachmentError(rules.expected)
    raw = decode_data_url(data, rules.types, rules.most_bytes_each)
    if len(others) >= rules.most_files:
        raise AttachmentError(f"A conversation has {rules.most_files} files at most.")
    if sum(map(len, others.values())) + len(raw) > rules.most_bytes:
        raise AttachmentError(f"The files of a conversation have {rules.most_bytes / 1_000_000:g} MB at most.")
    if name.endswith(".parquet"):
        _check_parquet(raw, rules)
    return raw


def _check_parquet(raw: bytes, rules: FileRules) -> None:
    try:
        from pyarrow import ArrowException
        from pyarrow.parquet import ParquetFile
    except ImportError:
        raise AttachmentError("Parquet is not read here: send it as CSV.") from None
    try:
        with ParquetFile(BytesIO(raw)) as file:
            groups = [file.metadata.row_group(n) for n in range(file.num_row_groups)]
    except (ArrowException, OSError, ValueError):
        raise AttachmentError("It is not a Parquet file.") from None
    chunks = [group.column(n) for group in groups for n in range(group.num_columns)]
    # A text may be stored once for all rows: 5 kB hold 300 MB.
    sizes = [
        one.total_uncompressed_size * (one.num_values if "BYTE_ARRAY" in one.physical_type else 1) for one in chunks
    ]
    if sum(group.num_rows for group in groups) > rules.most_rows or sum(sizes) > rules.most_expanded:
        raise AttachmentError(
            f"It has more than {rules.most_rows} rows, or long texts in many rows: split it by year, or send it as CSV."
        )
