"""Reads HTML. Navigation, templates and elements that `--leave-out` selects are omitted and counted; all other text stays. Pure."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from bs4 import BeautifulSoup, Tag
from bs4.element import NavigableString, PageElement, PreformattedString, TemplateString
from justhtml import JustHTML
from markdownify import MarkdownConverter
from soupsieve import SelectorSyntaxError

from knowledge_base.building.document import Block, Document, DocumentError, heading, note_words

_HEADING = re.compile(r"h[1-6]")
_NO_TEXT = ["script", "style", "head"]
_LEFT_OUT = ("nav", "[role=navigation]", "template")
_HIDDEN = re.compile(r"display:none|visibility:hidden")
_APART = "button select option textarea text title desc object iframe noscript".split()
"""Inline elements whose text a browser visually separates from the surrounding text."""
_WHOLE = {"p", "ul", "ol", "dl", "table", "pre", "blockquote", "address"}
"""Elements that become one block of the document, unless they contain a heading."""
_CONTAINERS = _WHOLE | set(
    "html body main article section div header footer aside nav form fieldset figure figcaption details summary center "
    "hgroup search dialog menu td th tr tbody thead tfoot caption li dd dt hr".split()
)
_DEEPEST = 120
"""Maximum levels of nesting. The reader recurses once per level."""
_TARGET = re.compile(r"(?:https?://|mailto:|tel:)", re.IGNORECASE)


def read_html(content: bytes | str, leave_out: Sequence[str] = ()) -> Document:
    """Read an HTML page.

    Args:
        leave_out: CSS selectors of further elements to omit, besides navigation.

    Raises:
        DocumentError: the page needs JavaScript to show text, is nested too deeply, or a selector is invalid.
    """
    soup = _parse(content)
    title = " ".join(soup.title.get_text().split()) if soup.title else ""
    has_scripts = soup.find("script") is not None
    _remove(soup.find_all(_NO_TEXT))
    left_out = _outermost(one for selector in (*_LEFT_OUT, *leave_out) for one in _select(soup, selector))
    notes = note_words("left out as navigation, or by --leave-out", map(_words, left_out))
    _remove(left_out)
    notes += note_words(
        "hidden on the page, and kept", map(_words, _outermost(filter(_is_hidden, soup.find_all(True))))
    )
    if has_scripts and not any(
        text.strip() and not text.find_parent("noscript") for text in soup.find_all(string=True)
    ):
        raise DocumentError("the page has no text without its scripts; open it in a browser and print it to a PDF")
    return Document(_read_blocks(soup.body or soup), title or None, notes)


def read_fragment(content: str) -> list[Block]:
    """Read HTML within another document, such as markdown. Navigation is not omitted."""
    soup = _parse(content)
    _remove(soup.find_all(_NO_TEXT))
    return _read_blocks(soup)


def _select(soup: BeautifulSoup, selector: str) -> Sequence[Tag]:
    try:
        return soup.select(selector)
    except SelectorSyntaxError as error:
        reason = str(error).partition("\n")[0]
        raise DocumentError(f"invalid --leave-out {selector!r}: expected a CSS selector ({reason})") from None


def _outermost(elements: Iterable[Tag]) -> list[Tag]:
    """Return the elements without those that are inside another given element."""
    by_id = {id(one): one for one in elements}
    return [one for one in by_id.values() if not any(id(other) in by_id for other in one.parents)]


def _words(element: Tag) -> str:
    return element.get_text(" ", types=(NavigableString, TemplateString))


def _is_hidden(element: Tag) -> bool:
    style = re.sub(r"\s", "", str(element.get("style") or "")).lower()
    return element.has_attr("hidden") or element.get("aria-hidden") == "true" or _HIDDEN.search(style) is not None


def _remove(elements: Iterable[Tag]) -> None:
    for element in list(elements):
        if not element.decomposed:
            element.decompose()


def _read_blocks(root: Tag) -> list[Block]:
    for one in root.find_all(_APART):
        one.insert_before(" ")
        one.insert_after(" ")
    return [block for block in _walk(root) if block.text]


def _parse(content: bytes | str) -> BeautifulSoup:
    """Parse HTML as a browser does. JustHTML repairs missing end tags, where other parsers lose text."""
    level: list[Any] = [page := JustHTML(content, sanitize=False).root]
    for _ in range(_DEEPEST):
        level = [child for element in level for child in element.children or ()]
    if level:
        raise DocumentError(f"the page is nested too deeply (more than {_DEEPEST} levels); save its text as plain text")
    return BeautifulSoup(page.to_html(pretty=False), "html.parser")


def _walk(container: Tag) -> Iterator[Block]:
    inline: list[PageElement] = []
    for child in list(container.children):
        if isinstance(child, Tag) and (_HEADING.fullmatch(child.name) or _is_block(child)):
            yield _block(inline)
            inline = []
            yield from _walk_block(child)
        elif not isinstance(child, PreformattedString):
            inline.append(child)
    yield _block(inline)


def _walk_block(element: Tag) -> Iterator[Block]:
    if _HEADING.fullmatch(element.name):
        level = 0 if "title" in (element.get("class") or ()) else int(element.name[1])
        yield heading(element.get_text(" ") if element.find("br") else element.get_text(), level)
    elif element.name in _WHOLE and element.find(_HEADING) is None:
        yield _block([element])
    else:
        yield from _walk(element)


def _is_block(element: Tag) -> bool:
    return element.name in _CONTAINERS or element.find([*_CONTAINERS, _HEADING]) is not None


def _block(elements: Sequence[PageElement]) -> Block:
    """Convert consecutive elements to one block of markdown."""
    if all(isinstance(one, NavigableString) and not one.strip() for one in elements):
        return Block("")
    together = Tag(name="div")
    together.extend(elements)
    for inner in reversed(together.select("table table")):  # markdown cannot nest tables
        rows = ([" ".join(_words(cell).split()) for cell in row.find_all(["td", "th"])] for row in inner.find_all("tr"))
        caption = [" ".join(_words(one).split()) for one in inner.find_all("caption")]
        inner.replace_with(f" {'; '.join([*caption, *(', '.join(filter(None, row)) for row in rows)])} ")
    return Block(_TO_MARKDOWN.convert_soup(together).strip())


class _ToMarkdown(MarkdownConverter):
    """Converts HTML to markdown with emphasis, lists, tables, links to external targets, and alternative texts of images."""

    def convert_a(self, element: Any, text: str, parent_tags: set[str]) -> str:
        if not _TARGET.match(element.get("href") or "") or not text.strip():
            return text
        target = element["href"].strip()
        return text if text.strip() in target else f"[{text}]({target})"

    def convert_img(self, element: Any, text: str, parent_tags: set[str]) -> str:
        return element.get("alt") or ""

    def convert_sup(self, element: Any, text: str, parent_tags: set[str]) -> str:
        return f"^{text}" if text and not text.startswith("[") else text  # so that 10 mg with note 1 is not 10 mg1

    def escape(self, text: str, parent_tags: set[str]) -> str:
        return text.replace("|", "\\|") if parent_tags & {"td", "th"} else text


_TO_MARKDOWN = _ToMarkdown(
    heading_style="ATX", bullets="-", escape_asterisks=False, escape_underscores=False, escape_misc=False,
    table_infer_header=True,
)  # fmt: skip
