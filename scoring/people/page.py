"""The page on which a person rates replies: one HTML file that works from disk and loads nothing.

`sheet.py` says what is on it, `returned.py` reads what comes back.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files

from jinja2 import Environment, StrictUndefined
from markdown_it import MarkdownIt
from markupsafe import Markup

from scoring.people.sheet import Item, Sheet


@dataclass(frozen=True, slots=True)
class Section:
    """What the page shows of a knowledge-base section."""

    title: str
    text: str = ""
    """Empty where it is not at hand: then the page shows titles only."""


def page(sheet: Sheet, sections: Mapping[str, Section]) -> str:
    """Return the page.

    Args:
        sheet: What is to be rated.
        sections: The knowledge base by id, as far as it is known; the title of any other section is made of its id. Documents
            come with their replies.
    """
    # Autoescape whatever the template is called: what is shown are texts of users and models.
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    template = files("scoring.people").joinpath("templates", "rating.html").read_text(encoding="utf-8")
    data = {
        "page": sheet.page,
        "rater": sheet.rater,
        "items": [_page_item(item) for item in sheet.items],
        "sections": _titles(sheet, sections),
    }
    readable = any(section.text for section in sections.values()) or any(item.documents for item in sheet.items)
    return environment.from_string(template).render(rater=sheet.rater, rubric=rubric(), readable=readable, data=data)


def rubric() -> Markup:
    """Return rubric.md as HTML, its headings one level lower than the page's."""
    text = files("scoring").joinpath("rubric.md").read_text(encoding="utf-8")
    markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
    return Markup(markdown.render(text).replace("<h1>", "<h2>").replace("</h1>", "</h2>"))


def _page_item(item: Item) -> dict[str, object]:
    """Return what the page may hold of an item: neither its place nor whose twin it is."""
    documents = {one.id: {"title": one.title, "text": one.text} for one in item.documents}
    return {
        "id": item.id,
        "history": [{"role": said.role, "content": said.content} for said in item.history],
        "user_message": item.user_message,
        "reply": item.reply,
        "citations": item.citations,
        **({"documents": documents} if documents else {}),
    }


def _titles(sheet: Sheet, sections: Mapping[str, Section]) -> dict[str, dict[str, str]]:
    known = {id: {"title": section.title, "text": section.text} for id, section in sections.items()}
    held = {item.id: {one.id for one in item.documents} for item in sheet.items}
    cited = sorted({id for item in sheet.items for id in item.citations if id not in known and id not in held[item.id]})
    return known | {id: {"title": id.replace("-", " ").replace("_", " ").capitalize(), "text": ""} for id in cited}
