"""Rewrites a Word document so that the library mammoth reads all of its text, and lists its words. Pure.

mammoth skips unsupported elements with all text in them, such as equations, fields, text boxes and runs with a direction.
"""

import re
import zipfile
from collections.abc import Iterator
from io import BytesIO
from xml.etree import ElementTree as ET
from xml.etree.ElementTree import Element

READ = re.compile(r"word/(?:document|footnotes|endnotes)\.xml")
"""Names of the files in the archive whose text becomes sections."""
_BESIDE = re.compile(r"word/(?:(?:header|footer|comments)\d*|diagrams/data\d*|charts/chart\d*)\.xml")
"""Names of the files in the archive whose text is left out of the sections and counted in a note."""
_PASSED_OVER = re.compile(r"An unrecognised element was ignored: (?:.*[:}])?(\S+)")
_NO_TEXT = {"del", "moveFrom", "delText", "instrText", "rPr", "pPr", "Fallback"}
"""Elements to ignore: deleted or moved text, field codes, properties, and fallbacks for another element."""
_BREAKS = {"tab", "br", "cr"}
_BETWEEN = {"num": "(", "den": ")/(", "sup": "^", "sub": "_", "deg": "root "}
"""By element of an equation, the text to write before the element when the equation is written on one line."""


def local(element: Element) -> str:
    """Return an element's name without its namespace."""
    return str(element.tag).rpartition("}")[2]


def words_in(text: str) -> list[str]:
    """Return the words of a text, to check that no word is lost."""
    return re.findall(r"\w+", text)


class WordText:
    """A Word document, rewritten for mammoth: equations, text boxes and alternatives have a form that mammoth reads."""

    def __init__(self, content: bytes) -> None:
        with zipfile.ZipFile(BytesIO(content)) as archive:
            self._parts = {name: archive.read(name) for name in archive.namelist()}
        self._roots = {name: ET.fromstring(data) for name, data in self._parts.items() if READ.fullmatch(name)}
        for root in self._roots.values():
            _choose_alternatives(root)
            _lay_out_equations(root)
        self.words = [word for root in self._roots.values() for text in _texts(root) for word in words_in(text)]
        """Words of the text that becomes sections, in order."""
        self.beside = [
            text
            for name, data in self._parts.items()
            if _BESIDE.fullmatch(name)
            for text in _texts(ET.fromstring(data))
        ]
        """Texts of headers, footers, comments, diagrams and charts, which do not become sections."""
        for root in self._roots.values():
            _move_text_boxes(root)

    def as_bytes(self) -> bytes:
        """Return the rewritten document as the content of a .docx file."""
        file = BytesIO()
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, data in self._parts.items():
                archive.writestr(name, ET.tostring(self._roots[name]) if name in self._roots else data)
        return file.getvalue()

    def unwrap(self, messages: list[str]) -> bool:
        """Replace each element that mammoth skipped with its children. Return whether the document changed.

        Args:
            messages: warnings of mammoth, which name the skipped elements.
        """
        names = {match[1] for message in messages if (match := _PASSED_OVER.match(message))}
        unwrapped = False
        for root in self._roots.values():
            for parent, child in _pairs(root):
                if local(child) in names and any(_texts(child)):
                    _replace(parent, child, list(child))
                    unwrapped = True
        return unwrapped


def _pairs(root: Element) -> list[tuple[Element, Element]]:
    """Return all pairs (parent, child), innermost first. The order allows a caller to replace children while iterating."""
    return [(parent, child) for parent in root.iter() for child in parent][::-1]


def _replace(parent: Element, child: Element, others: list[Element]) -> None:
    at = list(parent).index(child)
    parent[at : at + 1] = others


def _texts(root: Element) -> Iterator[str]:
    """Yield the text of each paragraph below an element. Nested paragraphs are yielded separately."""
    pending: list[str] = []
    for element in root:
        if local(element) in _NO_TEXT:
            continue
        if local(element) in ("t", "v") and element.text:
            pending.append(element.text)
        elif local(element) in _BREAKS:
            pending.append(" ")
        elif local(element) == "p" or any(local(one) == "p" for one in element.iter()):
            yield from _texts(element)
        else:
            pending += _texts(element)
    if pending:
        yield "".join(pending)


def _choose_alternatives(root: Element) -> None:
    """Replace elements with two alternative forms: keep the fallback, which mammoth reads, unless it lacks words."""
    for parent, child in _pairs(root):
        if local(child) == "AlternateContent":
            forms = {local(one): one for one in reversed(list(child))}  # reversed, so that the first choice wins
            choice, fallback = (forms.get(name, Element(name)) for name in ("Choice", "Fallback"))
            missing = set(words_in(" ".join(_texts(choice)))) - set(words_in(" ".join(_texts(fallback))))
            _replace(parent, child, list(choice if missing else fallback))


def _lay_out_equations(root: Element) -> None:
    """Replace each equation with one run of text."""
    for parent, child in _pairs(root):
        if local(child) == "oMath":
            namespace = root.tag.rpartition("}")[0] + "}"
            run = Element(f"{namespace}r")
            ET.SubElement(run, f"{namespace}t").text = f" {' '.join(_equation(child).split())} "
            _replace(parent, child, [run])


def _equation(element: Element) -> str:
    inner = (element.text or "") if local(element) == "t" else "".join(map(_equation, element))
    before = _BETWEEN.get(local(element), "")
    return before + inner + (")" if local(element) == "den" else "")


def _move_text_boxes(root: Element) -> None:
    """Convert text boxes to the older form `pict`, which mammoth reads."""
    namespace = root.tag.rpartition("}")[0] + "}"
    for run, child in _pairs(root):
        if local(run) == "r" and local(child) != "pict" and (boxes := [*_boxes(child)]):
            picture = Element(f"{namespace}pict")
            picture.extend(boxes)
            _replace(run, child, [picture])


def _boxes(element: Element) -> Iterator[Element]:
    """Yield the outermost text boxes within an element."""
    for child in [element] if local(element) == "txbxContent" else element:
        if local(child) == "txbxContent":
            yield child
        else:
            yield from _boxes(child)
