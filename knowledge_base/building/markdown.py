"""Reads markdown and plain text. The text of each block stays unchanged. Pure."""

from itertools import pairwise

from markdown_it import MarkdownIt

from knowledge_base.building.document import Block, Document, heading
from knowledge_base.building.html import read_fragment
from knowledge_base.front_matter import FrontMatterError, split_front_matter


def read_markdown(text: str) -> Document:
    """Read markdown. Embedded HTML is converted. Of front matter, only the title is used."""
    title = None
    if text.startswith("---"):
        try:
            matter, text = split_front_matter(text)
        except FrontMatterError:
            pass  # the text begins with a horizontal rule
        else:
            title = str(matter.get("title") or "") or None
    return Document(_read_blocks(text, MarkdownIt("commonmark").enable("table")), title)


def read_plain_text(text: str) -> Document:
    """Read plain text. Blank lines separate paragraphs. Lines that are underlined or begin with `#` are headings."""
    # Indented lines and angle brackets have no meaning in plain text.
    parser = MarkdownIt("commonmark").disable(["html_block", "code"])
    return Document(_read_blocks(text, parser))


def _read_blocks(text: str, parser: MarkdownIt) -> list[Block]:
    text = text.replace("\r\n", "\n").replace("\r", "\n")  # the parser counts lines this way
    lines = text.split("\n")
    tokens = parser.parse(text)
    starts = [
        (token.map[0], n) for n, token in enumerate(tokens) if token.level == 0 and token.map and token.nesting >= 0
    ]
    blocks: list[Block] = []
    # A block extends to the next token. Text without a token, such as a link target, belongs to the block before it.
    if starts and any(line.strip() for line in lines[: starts[0][0]]):
        blocks.append(Block("\n".join(lines[: starts[0][0]]).strip("\n")))
    for (start, n), (end, _) in pairwise([*starts, (len(lines), -1)]):
        token = tokens[n]
        assert token.map is not None
        if token.type == "heading_open" and (title := tokens[n + 1].content.strip()):
            blocks.append(heading(title, int(token.tag[1])))
        if token.type in ("heading_open", "hr"):
            start = token.map[1]
        rest = "\n".join(lines[start:end]).strip("\n").rstrip()
        if token.type == "html_block":
            blocks += read_fragment(rest)
        elif rest.strip():
            blocks.append(Block(rest))
    if not starts and text.strip():
        blocks.append(Block(text.strip()))
    return blocks
