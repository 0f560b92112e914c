"""Reads a document from a file: markdown, HTML, PDF, Word or plain text."""

from collections.abc import Callable, Sequence
from pathlib import Path

from knowledge_base.building.document import Document, DocumentError
from knowledge_base.building.html import read_html
from knowledge_base.building.markdown import read_markdown, read_plain_text

PLAIN = (".md", ".markdown", ".txt", ".html", ".htm")
"""File name extensions of the formats that need no library of the extra `import`."""
LARGEST = 50 * 2**20
"""Maximum size of a file in bytes."""
_READERS: dict[str, Callable[[bytes], Document]] = {
    ".md": lambda content: read_markdown(_decode(content)),
    ".markdown": lambda content: read_markdown(_decode(content)),
    ".txt": lambda content: read_plain_text(_decode(content)),
    ".pdf": lambda content: _read_pdf(content),
    ".docx": lambda content: _read_docx(content),
}
_HTML = (".html", ".htm")
_FORMATS = "markdown (.md), HTML (.html), PDF (.pdf), Word (.docx) and plain text (.txt)"
_SIGNATURES = {
    b"%PDF-": ("a PDF", ".pdf"),
    b"PK\x03\x04": ("an archive such as a Word document", ".docx"),
    b"\xd0\xcf\x11\xe0": ("an old or encrypted Office document", ""),
    b"{\\rtf": ("a rich text document", ""),
}


def read_document(path: Path, leave_out: Sequence[str] = ()) -> Document:
    """Read a document in the format that its file name extension indicates.

    Args:
        leave_out: CSS selectors of elements to omit from HTML, besides navigation.

    Raises:
        DocumentError: the document cannot be read. The message gives the reason and the remedy.
    """
    ending = path.suffix.lower()
    if path.is_dir():
        raise DocumentError("this is a folder, not a document; name its files, as in FOLDER/*.docx")
    if ending not in _READERS and ending not in _HTML:
        raise DocumentError(f"unsupported format {ending!r}: expected {_FORMATS}; save it in one of these formats")
    try:
        if (size := path.stat().st_size) > LARGEST:
            raise DocumentError(
                f"the file has {size / 2**20:,.0f} MB, more than the limit of {LARGEST / 2**20:,.0f} MB; split it"
            )
        content = path.read_bytes()
    except OSError as error:
        raise DocumentError(f"the file cannot be read ({error.strerror}); check the path and its permissions") from None
    if not content.strip():
        raise DocumentError("the file is empty; check that it is the right file")
    _check_signature(content, ending)
    try:
        document = read_html(content, leave_out) if ending in _HTML else _READERS[ending](content)
    except DocumentError:
        raise
    except Exception as error:  # on a damaged file, a library may raise any exception
        raise DocumentError(
            f"the file is damaged and cannot be read ({type(error).__name__}: {error}); save it again"
        ) from error
    if not any(block.text.strip() for block in document.blocks):
        raise DocumentError("the document holds no text; check that it is the right file")
    return document


def _check_signature(content: bytes, ending: str) -> None:
    """Check that the first bytes of a file fit its file name extension.

    Raises:
        DocumentError: The file has another format.
    """
    start = content[:1024]
    for signature, (kind, right) in _SIGNATURES.items():
        if start.startswith(signature) and ending != right:
            advice = f"name it {right}" if right else "save it as .docx, without a password"
            raise DocumentError(f"the file is named {ending} but is {kind}; {advice}")
    for signature, (_, right) in _SIGNATURES.items():
        if ending == right and signature not in start:
            raise DocumentError(
                f"the file is named {ending} but has another format; rename it, or save it again as {ending}"
            )


def _decode(content: bytes) -> str:
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return content.decode("utf-16")
    if b"\0" in content:
        raise DocumentError("the file holds binary data instead of text; give it the file name extension of its format")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise DocumentError(f"line {line}: the file is not UTF-8; save it as UTF-8") from None


def _read_pdf(content: bytes) -> Document:
    from knowledge_base.building.pdf import read_pdf  # its libraries are an extra

    return read_pdf(content)


def _read_docx(content: bytes) -> Document:
    from knowledge_base.building.docx import read_docx

    return read_docx(content)
