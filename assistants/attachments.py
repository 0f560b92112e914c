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
"""Maximum length of a link to a picture, in characters."""


class AttachmentError(Exception):
    """Attachments cannot be used. The message tells the user the reason, and quotes no content of the attachment."""


@dataclass(frozen=True)
class FileRules:
    """Which files an assistant accepts in a conversation: names, media types and size limits."""

    names: re.Pattern[str]
    """Matches accepted file names. The pattern must match the whole name, in lower case."""
    expected: str
    """A sentence for the user that lists the accepted names."""
    types: Collection[str]
    """Accepted media types, such as `text/csv`."""
    most_files: int = 20
    most_bytes_each: int = 4_000_000
    most_bytes: int = 12_000_000
    """Maximum total size of all files, in bytes. The base64 form is a third larger, and must fit `server.max_body_bytes`."""
    most_rows: int = 200_000
    """Maximum number of rows in a Parquet file."""
    most_expanded: int = 400_000_000
    """Maximum size of an uncompressed Parquet file, in bytes."""


def read_files(request: AssistantRequest, rules: FileRules) -> dict[str, bytes]:
    """Return the content of a conversation's files by lower-case file name. A newer file replaces an older one of its name.

    Raises:
        AttachmentError: A file in the newest message is invalid. Invalid files in earlier messages are skipped.
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
            if is_new:  # quote only accepted names: any other name is the user's text, and must not become evidence
                refused.append(f"{name if rules.names.fullmatch(name) else 'A file'} was not read. {error}")
    if refused:
        raise AttachmentError("\n".join(refused))
    return files


def read_pictures(request: AssistantRequest, most: int = 4, most_bytes: int = 4_000_000) -> list[Body]:
    """Return the pictures of the newest message as content parts for a model. The proxy does not fetch links.

    Args:
        most: Maximum number of pictures.
        most_bytes: Maximum size of each picture in a data URL, in bytes.

    Raises:
        AttachmentError: There are too many pictures, a picture is too large, or a URL is neither a public https link nor a base64
            data URL of a picture.
    """
    urls = [picture.get("url") for picture, is_new in user_parts(request, "image_url") if is_new]
    if len(urls) > most:
        raise AttachmentError(f"The {len(urls)} pictures were not read: a message may contain at most {most}.")
    for url in urls:
        if isinstance(url, str) and url[:4].lower() == "http":
            _check_link(url)
        else:
            try:
                decode_data_url(url, PICTURES, most_bytes)
            except AttachmentError as error:
                raise AttachmentError(f"The picture was not read. {error}") from None
    return [{"type": "image_url", "image_url": {"url": url}} for url in urls]


def _check_link(url: str) -> None:
    """Raise AttachmentError for a link that the model's server must not fetch.

    Only https links without a password, to a public host name, are allowed.
    """
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        is_public = "." in host and ":" not in host and not host.rpartition(".")[2][:1].isdigit()  # not an IP address
    except ValueError:
        is_public = False
    if not (is_public and parts.scheme == "https" and "@" not in parts.netloc and len(url) <= MOST_LINK) or " " in url:
        raise AttachmentError(
            "The picture was not read. Send it as a data URL, or as an https link with a public host name and no password."
        )


def user_parts(request: AssistantRequest, kind: str) -> Iterator[tuple[Body, bool]]:
    """Yield the attachments in the user's messages, oldest first.

    Args:
        kind: Type of the content parts, such as `file` or `image_url`.

    Yields:
        The content of a part, and whether the part belongs to the newest message.
    """
    # When the proxy asks for a new draft, it appends the refused draft and the reason.
    messages = request.messages[:-2] if request.view.check else request.messages
    last_reply = max((n for n, one in enumerate(messages) if one.get("role") == "assistant"), default=-1)
    for n, message in enumerate(messages):
        parts = message.get("content") if message.get("role") == "user" else None
        for part in parts if isinstance(parts, list) else ():
            if isinstance(part, dict) and part.get("type") == kind:
                value = part.get(kind)
                yield value if isinstance(value, dict) else {}, n > last_reply


def decode_data_url(url: object, types: Collection[str], most_bytes: int) -> bytes:
    """Decode a URL of the form `data:TYPE;base64,...`. The size is checked before decoding.

    Args:
        types: Accepted media types.
        most_bytes: Maximum size of the decoded content, in bytes.

    Raises:
        AttachmentError: The URL is not a base64 data URL, or the content is empty, too large, of another type, or not valid base64.
    """
    head, _, encoded = url.partition(";base64,") if isinstance(url, str) else ("", "", "")
    if not head.startswith("data:") or not encoded:
        raise AttachmentError("Send the content as a base64 data URL, such as data:text/csv;base64,ZGF0ZQ==")
    if head[5:].partition(";")[0].lower() not in types:
        raise AttachmentError(f"The media type is not accepted (expected one of: {', '.join(sorted(types))}).")
    if len(encoded) * 3 // 4 - encoded[-2:].count("=") > most_bytes:
        raise AttachmentError(f"The content is larger than {most_bytes / 1_000_000:g} MB.")
    try:
        return base64.b64decode(encoded, validate=True)
    except ValueError:
        raise AttachmentError("The content is not valid base64.") from None


def _read_file(name: str, data: Any, others: dict[str, bytes], rules: FileRules) -> bytes:
    if not rules.names.fullmatch(name):
        raise AttachmentError(rules.expected)
    raw = decode_data_url(data, rules.types, rules.most_bytes_each)
    if len(others) >= rules.most_files:
        raise AttachmentError(f"A conversation may contain at most {rules.most_files} files.")
    if sum(map(len, others.values())) + len(raw) > rules.most_bytes:
        raise AttachmentError(
            f"The files of a conversation may have at most {rules.most_bytes / 1_000_000:g} MB in total."
        )
    if name.endswith(".parquet"):
        _check_parquet(raw, rules)
    return raw


def _check_parquet(raw: bytes, rules: FileRules) -> None:
    try:
        from pyarrow import ArrowException
        from pyarrow.parquet import ParquetFile
    except ImportError:
        raise AttachmentError("This server cannot read Parquet files: send the file as CSV.") from None
    try:
        with ParquetFile(BytesIO(raw)) as file:
            groups = [file.metadata.row_group(n) for n in range(file.num_row_groups)]
    except (ArrowException, OSError, ValueError):
        raise AttachmentError("The content is not a valid Parquet file.") from None
    chunks = [group.column(n) for group in groups for n in range(group.num_columns)]
    # Parquet may store a repeated text once, so that a file of 5 kB expands to 300 MB. Count the text once per row.
    sizes = [
        one.total_uncompressed_size * (one.num_values if "BYTE_ARRAY" in one.physical_type else 1) for one in chunks
    ]
    if sum(group.num_rows for group in groups) > rules.most_rows or sum(sizes) > rules.most_expanded:
        raise AttachmentError(
            f"The file has more than {rules.most_rows} rows, or is too large after decompression: "
            "split it by year, or send it as CSV."
        )
