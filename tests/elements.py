"""Pages read as a browser would."""

import re
from html.parser import HTMLParser

EMPTY = ("meta", "input", "rect", "circle", "line", "polygon", "polyline", "path")
"""Elements without an end."""

Attributes = dict[str, str | None]


class Elements(HTMLParser):
    """Notes every element with its attributes; whatever is opened is closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, Attributes]] = []
        self._open: list[str] = []
        self.feed(text)
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag not in EMPTY:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def all(self, tag: str) -> list[Attributes]:
        return [attributes for name, attributes in self.found if name == tag]

    def count(self, tag: str, **wanted: str) -> int:
        """Count the elements that have these attributes; `class_` stands for class, `aria_label` for aria-label."""
        shown = {name.rstrip("_").replace("_", "-"): value for name, value in wanted.items()}
        return sum(shown.items() <= attributes.items() for attributes in self.all(tag))


def assert_stands_alone(page: str, *, scripts: bool) -> None:
    """See that a page loads nothing from elsewhere, and forbids it too; and that it has the colours that it uses."""
    for tag, attributes in Elements(page).found:
        assert tag not in ("img", "link", "iframe", "object")
        assert scripts or tag != "script"
        assert "src" not in attributes
        assert (attributes.get("href") or "#").startswith("#")
    assert "url(" not in page
    assert "@import" not in page
    assert "default-src 'none'" in page
    assert set(re.findall(r"var\(--([\w-]+)", page)) <= set(re.findall(r"--([\w-]+):", page))
