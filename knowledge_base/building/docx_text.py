"""Pure: rewrites a Word document so that mammoth reads all of its text, and lists its words.

mammoth skips elements that it does not support, with all text in them: equations, fields, text boxes, runs with a direction.
"""

import re
import zipfile
from collections.abc import Iterator
from io import BytesIO
from xml.etree import ElementTree as ET
from xml.etree.ElementTree import Element

READ = re.compile(r"word/(?:document|footnotes|endnotes)\.xml")
"""Parts whose text becomes sections."""
_BESIDE = re.compile(r"word/(?:(?:header|footer|comments)\d*|diagrams/data\d*|charts/chart\d*)\.xml")
"""Parts whose text does not become sections."""
_PASSED_OVER = re.compile(r"An unrecognised element was ignored: (?:.*[:}])?(\S+)")
_NO_TEXT = {"del", "moveFrom", "delText", "instrText", "rPr", "pPr", "Fallback"}
"""Elements without text of the document: deleted or moved text, field codes, properties, and fallbacks of another element."""
_BREAKS = {"tab", "br", "cr"}
_BETWEEN = {"num": "(", "den": ")/(", "sup": "^", "sub": "_", "deg": "root "}
"""The text to write before a part of an equation on one line."""


def local(element: Element) -> str:
    """Return an element's name without its namespace."""
    return str(element.tag).rpartition("}")[2]


def words_in(text: str) -> list[str]:
    return re.findall(r"\w+", text)


class WordText:
    """The parts of a Word document."""

    def __init__(self, content: bytes) -> None:
        with zipfile.ZipFile(BytesIO(content)) as archive:
            self._parts = {name: archive.read(name) for name in archive.namelist()}
        self._roots = {name: ET.fromstring(data) for name, data in self._parts.items() if READ.fullmatch(name)}
        for root in self._roots.values():
            _choose_alternatives(root)
            _lay_out_equations(root)
        self.words = [word for root in self._roots.values() for text in _texts(root) for word in words_in(text)]
        """The words of the parts that become sections, in order."""
        self.beside = [
            text
            for name, data in self._parts.items()
            if _BESIDE.fullmatch(name)
            for text in _texts(ET.fromstring(data))
        ]
        """Texts of headers, footers, comments, diagrams and charts."""
        for root in self._roots.values():
            _move_text_boxes(root)

    def as_bytes(self) -> bytes:
        """Return the rewritten document."""
        file = BytesIO()
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, data in self._parts.items():
                archive.writestr(name, ET.tostring(self._roots[name]) if name in self._roots else data)
        return file.getvalue()

    def unwrap(self, messages: list[str]) -> bool:
        """Replace each element that mammoth skipped with its children. Return whether there was one.

        Args:
            messages: mammoth's messages, which name the skipped elements.
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
    """Return each element with its parent, innermost first. Replacing one then does not change the pairs after it."""
    return [(parent, child) for parent in root.iter() for child in parent][::-1]


def _replace(parent: Element, child: Element, others: list[Element]) -> None:
    at = list(parent).index(child)
    parent[at : at + 1] = others


def _texts(root: Element) -> Iterator[str]:
    """Yield the text of each paragraph. The text of a nested paragraph is yielded separately."""
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
    """Of two alternative forms, keep the older one, which mammoth reads, unless it lacks words."""
    for parent, child in _pairs(root):
        if local(child) == "AlternateContent":
            forms = {local(one): one for one in reversed(list(child))}  # reversed, so that the first choice wins
            choice, fallback = (forms.get(name, Element(name)) for name in ("Choice", "Fallback"))
            missing = set(words_in(" ".join(_texts(choice)))) - set(words_in(" ".join(_texts(fallback))))
            _replace(parent, child, list(choice if missing else fallback))


def _lay_out_equations(root: Element) -> None:
    """Write each equation as one run of text."""
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
    """Convert each text box to the form that mammoth reads, below its paragraph."""
    namespace = root.tag.rpartition("}")[0] + "}"
    for run, child in _pairs(root):
        if local(run) == "r" and local(child) != "pict" and (boxes := [*_boxes(child)]):
            picture = Element(f"{namespace}pict")
            picture.extend(boxes)
            _replace(run, child, [picture])


def _boxes(element: Element) -> Iterator[Element]:
    """Yield the outermost text boxes of an element."""
    for child in [element] if local(element) == "txbxContent" else element:
        if local(child) == "txbxContent":
            yield child
        else:
            yield from _boxes(child)
