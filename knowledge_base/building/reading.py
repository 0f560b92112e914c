"""Reads a document from a file of any supported format."""

from collections.abc import Callable, Sequence
from pathlib import Path

from knowledge_base.building.document import Document, DocumentError
from knowledge_base.building.html import read_html
from knowledge_base.building.markdown import read_markdown, read_plain_text

PLAIN = (".md", ".markdown", ".txt", ".html", ".htm")
"""Formats that need no library of the extra `import`."""
LARGEST = 50 * 2**20
"""Maximum bytes of a file."""
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
    """Read a document.

    Args:
        leave_out: CSS selectors of elements to leave out of HTML, besides navigation.

    Raises:
        DocumentError: it cannot be read; the message gives the reason and the remedy.
    """
    ending = path.suffix.lower()
    if path.is_dir():
        raise DocumentError("is a folder; name its files, as in FOLDER/*.docx")
    if ending not in _READERS and ending not in _HTML:
        raise DocumentError(f"has an unsupported format: expected {_FORMATS}; save it in one of these formats")
    try:
        if (size := path.stat().st_size) > LARGEST:
            raise DocumentError(f"has {size / 2**20:,.0f} MB, more than {LARGEST / 2**20:,.0f}; split it")
        content = path.read_bytes()
    except OSError as error:
        raise DocumentError(f"cannot be read: {error.strerror}") from None
    if not content.strip():
        raise DocumentError("is empty")
    _check_signature(content, ending)
    try:
        document = read_html(content, leave_out) if ending in _HTML else _READERS[ending](content)
    except DocumentError:
        raise
    except Exception as error:  # on a damaged file, a library may raise any exception
        raise DocumentError(
            f"is damaged and cannot be read ({type(error).__name__}: {error}). Save it again"
        ) from error
    if not any(block.text.strip() for block in document.blocks):
        raise DocumentError("holds no text")
    return document


def _check_signature(content: bytes, ending: str) -> None:
    """Check that the first bytes of a file fit its name."""
    start = content[:1024]
    for signature, (kind, right) in _SIGNATURES.items():
        if start.startswith(signature) and ending != right:
            advice = f"name it {right}" if right else "save it as .docx, without a password"
            raise DocumentError(f"is named {ending} but is {kind}; {advice}")
    for signature, (_, right) in _SIGNATURES.items():
        if ending == right and signature not in start:
            raise DocumentError(f"is named {ending} but has another format; rename it, or save it again as {ending}")


def _decode(content: bytes) -> str:
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return content.decode("utf-16")
    if b"\0" in content:
        raise DocumentError("holds binary data instead of text; give it the file name extension of its format")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise DocumentError(f"is not UTF-8 (line {line}); save it as UTF-8") from None


def _read_pdf(content: bytes) -> Document:
    from knowledge_base.building.pdf import read_pdf  # its libraries are an extra

    return read_pdf(content)


def _read_docx(content: bytes) -> Document:
    from knowledge_base.building.docx import read_docx

    return read_docx(content)
