"""Pure: reads HTML. Scripts, menus, banners and what is hidden are left out; everything else of the main text stays."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from bs4 import BeautifulSoup, Tag
from bs4.element import NavigableString, PageElement, PreformattedString
from justhtml import JustHTML
from markdownify import MarkdownConverter

from knowledge_base.building.document import Block, Document, DocumentError, heading

_HEADING = re.compile(r"h[1-6]")
_NO_TEXT = (
    "script style noscript template iframe object svg canvas audio video button select input textarea head".split()
)
_NAVIGATION = "nav, [role=navigation], [role=banner], [role=contentinfo], [role=search], [role=dialog]"
_BANNER = "[id*=cookie i], [class*=cookie i], [id*=consent i], [class*=consent i]"
_LONGEST_BANNER = 100
"""Words; whatever has more is no cookie banner, whatever it is called."""
_WHOLE = {"p", "ul", "ol", "dl", "table", "pre", "blockquote", "address"}
"""What is one block, unless there is a heading in it."""
_CONTAINERS = _WHOLE | set(
    "html body main article section div header footer aside nav form fieldset figure figcaption details summary center "
    "hgroup search dialog menu td th tr tbody thead tfoot caption li dd dt hr".split()
)
_DEEPEST = 120
"""Elements within elements; what reads them calls itself for each."""
_TARGET = re.compile(r"(?:https?://|mailto:|tel:)", re.IGNORECASE)


def read_html(content: bytes | str) -> Document:
    """Read a page.

    Raises:
        DocumentError: it is made by its scripts, or is nested too deeply.
    """
    soup = _parse(content)
    title = " ".join(soup.title.get_text().split()) if soup.title else ""
    has_scripts = soup.find("script") is not None
    _remove(soup.find_all(_NO_TEXT))
    root, menus = _main_part(soup)
    left_out = [text for one in menus if (text := " ".join(one.get_text(" ").split()))]
    _remove(menus)
    blocks = _read_blocks(root)
    if not blocks and has_scripts:
        raise DocumentError(
            "has no text of its own: its scripts write it in a browser. Open it there and print it to a PDF"
        )
    document = Document(blocks, title or None)
    if left_out:
        words = " ".join(left_out).split()
        excerpt = " ".join(words[:12]) + (" ..." if len(words) > 12 else "")
        document.notes.append(f"left out {len(words)} words of menus and banners: {excerpt}")
    return document


def read_fragment(content: str) -> list[Block]:
    """Read HTML that stands within a document, all of whose text belongs to it."""
    soup = _parse(content)
    _remove(soup.find_all(_NO_TEXT))
    _remove(filter(_is_hidden, soup.find_all(True)))
    return _read_blocks(soup)


def _main_part(soup: BeautifulSoup) -> tuple[Tag, list[Tag]]:
    """Return where the main text stands, and what of it, and around it, is none."""
    _remove(filter(_is_hidden, soup.find_all(True)))
    mains = soup.select("main, [role=main]")
    menus = [one for one in soup.select(_BANNER) if len(one.get_text(" ").split()) <= _LONGEST_BANNER]
    if len(mains) == 1:
        root = mains[0]
        inside = [*root.select(_NAVIGATION), *(one for one in menus if root in one.parents)]
        # A page's own header may hold its title.
        above = list(root.parents)
        outside = [one for one in soup.find_all(True) if one not in above and one.parent in above]
        return root, [*inside, *(one for one in outside if one is not root)]
    root = soup.body or soup
    menus += soup.select(_NAVIGATION)
    menus += [
        one
        for one in soup.find_all(["header", "footer"])
        if not one.find_parent(["article", "main", "section"]) and not one.find("h1")
    ]
    menus += [one for one in root.find_all(["ul", "ol", "div", "table", "p"]) if _is_menu(one)]
    return root, [one for one in menus if one is not root and not any(other in menus for other in one.parents)]


def _is_hidden(element: Tag) -> bool:
    style = re.sub(r"\s", "", str(element.get("style") or "")).lower()
    hidden = element.has_attr("hidden") or element.get("aria-hidden") == "true"
    return hidden or "display:none" in style or "visibility:hidden" in style


def _is_menu(element: Tag) -> bool:
    """Tell whether an element is little but links, none of them a sentence."""
    links = [link.get_text(" ").strip() for link in element.find_all("a", href=True)]
    text = " ".join(element.get_text(" ").split())
    return (
        len(links) >= 3
        and sum(map(len, links)) >= 0.8 * len(text)
        and not any(link.endswith((".", "!", "?")) or len(link.split()) > 6 for link in links)
        and element.find(_HEADING) is None
    )


def _remove(elements: Iterable[Tag]) -> None:
    for element in list(elements):
        if not element.decomposed:
            element.decompose()


def _read_blocks(root: Tag) -> list[Block]:
    return [block for block in _walk(root) if block.text]


def _parse(content: bytes | str) -> BeautifulSoup:
    """Return the elements as a browser has them, whatever end tags are missing; the other parsers lose text there."""
    level: list[Any] = [page := JustHTML(content, sanitize=False).root]
    for _ in range(_DEEPEST):
        level = [child for element in level for child in element.children or ()]
    if level:
        raise DocumentError("is nested too deeply; save its text as plain text")
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
    """Return what stands between two blocks as markdown."""
    if all(isinstance(one, NavigableString) and not one.strip() for one in elements):
        return Block("")
    together = Tag(name="div")
    together.extend(elements)
    return Block(_TO_MARKDOWN.convert_soup(together).strip())


class _ToMarkdown(MarkdownConverter):
    """Markdown for readers: emphasis, lists, tables; links whose target says something; of images the words."""

    def convert_a(self, element: Any, text: str, parent_tags: set[str]) -> str:
        if not _TARGET.match(element.get("href") or "") or not text.strip():
            return text
        target = element["href"].strip()
        return text if text.strip() in target else f"[{text}]({target})"

    def convert_img(self, element: Any, text: str, parent_tags: set[str]) -> str:
        return element.get("alt") or ""

    def convert_sup(self, element: Any, text: str, parent_tags: set[str]) -> str:
        return f"^{text}" if text and not text.startswith("[") else text  # 10 mg with a note 1 is not 10 mg1

    def escape(self, text: str, parent_tags: set[str]) -> str:
        return text.replace("|", "\\|") if parent_tags & {"td", "th"} else text


_TO_MARKDOWN = _ToMarkdown(
    heading_style="ATX", bullets="-", escape_asterisks=False, escape_underscores=False, escape_misc=False,
    table_infer_header=True,
)  # fmt: skip
