"""The page on which a person rates replies: one HTML file that works from disk and loads no other file.

`sheet.py` selects the replies. `returned_ratings.py` reads the file that the rater downloads from the page.
"""

from collections.abc import Mapping
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined
from markdown_it import MarkdownIt
from markupsafe import Markup

from knowledge_base.library import Source
from scoring.people.sheet import Item, Sheet


def page(sheet: Sheet, sections: Mapping[str, Source]) -> str:
    """Return the HTML of the page.

    Args:
        sheet: The replies to rate.
        sections: The sections of the knowledge base by id. A missing section gets a title from its id. Documents are part of
            their replies.
    """
    # Escape in every template, regardless of its file extension: the page shows texts of users and models.
    environment = Environment(
        loader=PackageLoader("scoring.people"), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    template = environment.get_template("rating.html")
    data = {
        "page": sheet.page,
        "rater": sheet.rater,
        "items": [_page_item(item) for item in sheet.items],
        "sections": _titles(sheet, sections),
    }
    readable = bool(sections) or any(item.exchange.documents for item in sheet.items)
    return template.render(rater=sheet.rater, rubric=rubric(), readable=readable, data=data)


def rubric() -> Markup:
    """Return rubric.md as HTML. Its headings are one level lower, to fit into the page."""
    text = files("scoring").joinpath("rubric.md").read_text(encoding="utf-8")
    markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
    return Markup(markdown.render(text).replace("<h1>", "<h2>").replace("</h1>", "</h2>"))


def _page_item(item: Item) -> dict[str, object]:
    """Return the data of an item for the page. Place and twin are left out, so that raters are blind."""
    exchange = item.exchange
    documents = {one.id: {"title": one.title, "text": one.text} for one in exchange.documents}
    return {
        "id": item.id,
        "history": [{"role": message.role, "content": message.content} for message in item.history],
        "user_message": exchange.user_message,
        "reply": exchange.reply,
        "citations": exchange.citations,
        **({"documents": documents} if documents else {}),
    }


def _titles(sheet: Sheet, sections: Mapping[str, Source]) -> dict[str, dict[str, str]]:
    texts = {id: {"title": section.title, "text": section.text} for id, section in sections.items()}
    for item in sheet.items:
        for id in item.exchange.citations:
            if id not in texts and all(id != one.id for one in item.exchange.documents):
                texts[id] = {"title": id.replace("-", " ").replace("_", " ").capitalize(), "text": ""}
    return texts
