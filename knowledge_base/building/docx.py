"""Reads Word documents (.docx) by converting them to HTML. Pure."""

import zipfile
from collections import Counter
from io import BytesIO
from typing import Any

import mammoth
from bs4 import BeautifulSoup, Tag
from bs4.element import NavigableString

from knowledge_base.building.document import Document, DocumentError, note_words
from knowledge_base.building.docx_text import WordText, words_in
from knowledge_base.building.html import read_fragment

LARGEST_UNPACKED = 200 * 2**20
"""Maximum unpacked bytes of a document. A malicious archive can unpack to a thousand times its size."""
_DEEPEST = 20
"""Maximum number of conversions. Each unwraps one level of the elements that mammoth does not support."""
_STYLES = "p[style-name='Title'] => h1.title:fresh\np[style-name='Subtitle'] => p:fresh"


def read_docx(content: bytes) -> Document:
    """Read a Word document. Pictures become their alternative text; footnotes follow the paragraph that refers to them.

    Raises:
        DocumentError: the file is not a Word document, is damaged, or is too large when unpacked.
    """
    try:
        with zipfile.ZipFile(BytesIO(content)) as archive:
            unpacked = sum(part.file_size for part in archive.infolist())
            is_document = "word/document.xml" in archive.namelist()
    except (zipfile.BadZipFile, OverflowError, ValueError):
        raise DocumentError(
            "the file is damaged: its ZIP archive cannot be opened; save it again from the word processor"
        ) from None
    if not is_document:
        raise DocumentError(
            "the file is not a Word document, despite its name; save it as .docx from the word processor"
        )
    if unpacked > LARGEST_UNPACKED:
        raise DocumentError(
            f"the document unpacks to {unpacked / 2**20:,.0f} MB, more than the limit of {LARGEST_UNPACKED / 2**20:,.0f} MB; "
            "remove its pictures or split it"
        )
    parts = WordText(content)
    converted = _convert(parts)
    for _ in range(_DEEPEST):
        if not parts.unwrap([message.message for message in converted.messages]):
            break
        converted = _convert(parts)
    soup = BeautifulSoup(converted.value, "html.parser")
    _place_footnotes(soup)
    blocks = read_fragment(str(soup))
    missing = Counter(parts.words) - Counter(words_in(_plain(soup)))
    notes = [
        *note_words("left out of the text", missing.elements()),
        *note_words("left out of headers, footers, comments, diagrams and charts", parts.beside),
    ]
    return Document(blocks, None, notes)


def _convert(parts: WordText) -> Any:
    images = mammoth.images.img_element(lambda image: {"src": ""})
    return mammoth.convert_to_html(BytesIO(parts.as_bytes()), style_map=_STYLES, convert_image=images)


def _plain(soup: BeautifulSoup) -> str:
    """Return the text of an HTML document, with a space after each block or line."""
    ends = ("p", "li", "td", "th", "br", "h1", "h2", "h3", "h4", "h5", "h6")
    parts = (
        " " if isinstance(one, Tag) and one.name in ends else str(one) if isinstance(one, NavigableString) else ""
        for one in soup.descendants
    )
    return "".join(parts)


def _place_footnotes(soup: BeautifulSoup) -> None:
    """Move footnotes from the end of the document to the paragraph that refers to them."""
    for reference in soup.select("sup > a[id*=note-ref-]"):
        note = soup.find(id=str(reference.get("href") or "").removeprefix("#"))
        place: Any = reference.find_parent(["table", "ul", "ol"]) or reference.find_parent("p")
        if not isinstance(note, Tag) or place is None or note in reference.parents:
            continue
        text = note.get_text(" ").replace("↑", "").strip()
        paragraph = soup.new_tag("p")
        paragraph.string = f"{reference.get_text()} {text}"
        earlier = [one for one in place.find_next_siblings(limit=20) if one.get("data-footnote")]
        paragraph["data-footnote"] = "1"
        (earlier[-1] if earlier and earlier[0] is place.find_next_sibling() else place).insert_after(paragraph)
        note.decompose()
