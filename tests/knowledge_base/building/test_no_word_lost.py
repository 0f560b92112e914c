"""Property tests on generated documents: every word is in a section, or counted in a note about omitted text."""

import re
import zipfile
from html import escape
from io import BytesIO
from itertools import count

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from knowledge_base.building.document import Document, DocumentError
from knowledge_base.building.docx import read_docx
from knowledge_base.building.html import read_html
from knowledge_base.building.pdf_lines import Line, build_outline
from knowledge_base.building.section_file import parse_section, render_section
from knowledge_base.building.sections import build_sections
from knowledge_base.library import FrontMatter

BLOCKS = """div p section article main header footer aside h1 h2 h4 ul li ol dl dt dd table tr td th caption blockquote pre figure
    figcaption form fieldset legend details summary center address dialog""".split()  # fmt: skip
INLINE = "span b i a button label select option textarea svg text object noscript sup code strong small q u".split()
OPENINGS = [
    *[f"<{tag}>" for tag in (*BLOCKS, *INLINE)], "<div hidden>", "<div style='display: none'>", "<p aria-hidden=true>",
    "<section id=informed-consent>", "<div class=cookie-policy>", "<div role=dialog>", "<div role=banner>", "<a href=/x>",
    "<a href='https://x.org'>", "<h2 id=cookies>", "<button class=accordion>", "<nav>", "<template>", "<div role=navigation>",
]  # fmt: skip
PAGES = st.recursive(
    st.just("WORD"),
    lambda inner: st.tuples(st.sampled_from(OPENINGS), st.lists(inner, min_size=1, max_size=3)).map(
        lambda pair: f"{pair[0]}{' '.join(pair[1])}</{pair[0].strip('<>').split()[0]}>"
    ),
    max_leaves=10,
)
TABLES = st.recursive(
    st.sampled_from(["WORD", "<p>WORD</p>", "<ul><li>WORD<li>WORD</ul>"]),
    lambda inner: st.lists(st.lists(inner, min_size=1, max_size=3), min_size=1, max_size=3).map(
        lambda rows: (
            f"<table>{''.join('<tr>' + ''.join(f'<td>{cell}</td>' for cell in row) + '</tr>' for row in rows)}</table>"
        )
    ),
    max_leaves=8,
)


def number(text: str) -> str:
    """Replace each word with a unique word."""
    numbers = count(1)
    return re.sub("WORD", lambda _: f"zq{next(numbers)}zq", text)


def check(document: Document, text: str, left_out: str = "left out") -> None:
    """Check that the words missing from the sections are exactly as many as the notes count."""
    sections = build_sections(document, "a.html")
    there = set(re.findall(r"zq\d+zq", " ".join(f"{section.title} {section.text}" for section in sections)))
    missing = set(re.findall(r"zq\d+zq", text)) - there
    counts = [int(found[1]) for note in document.notes if (found := re.match(rf"{left_out}.*?: (\d+) words?: ", note))]
    assert sum(counts) == len(missing), (missing, document.notes)


@given(st.lists(PAGES | TABLES, min_size=1, max_size=3))
@example(["<nav><template>WORD</template></nav>"])
@settings(max_examples=400, deadline=None)
def test_no_word_of_a_page_is_lost(parts: list[str]) -> None:
    """Words survive in any HTML element with any attribute. Only navigation and templates are omitted."""
    page = number(f"<body><p>WORD</p>{' '.join(parts)}</body>")
    document = read_html(page)
    check(document, page)
    if not re.search("<nav|<template|navigation", page):
        assert not [note for note in document.notes if note.startswith("left out")]


def test_what_is_named_is_left_out_and_counted() -> None:
    """Elements that match a `--leave-out` selector are omitted once and counted. An invalid selector is an error."""
    page = number("<body><p>WORD<footer>WORD <b class=x>WORD</b></footer><div class=x>WORD</div></body>")
    document = read_html(page, ["footer", ".x"])
    check(document, page)
    assert [block.text for block in document.blocks] == ["zq1zq"]
    with pytest.raises(DocumentError, match="--leave-out 'p:'"):
        read_html(page, ["p:"])


NAMESPACES = " ".join(
    f'xmlns:{prefix}="http://schemas.{address}"'
    for prefix, address in {
        "w": "openxmlformats.org/wordprocessingml/2006/main",
        "m": "openxmlformats.org/officeDocument/2006/math",
        "mc": "openxmlformats.org/markup-compatibility/2006",
        "wp": "openxmlformats.org/drawingml/2006/wordprocessingDrawing",
        "a": "openxmlformats.org/drawingml/2006/main",
        "wps": "microsoft.com/office/word/2010/wordprocessingShape",
        "x": "example.org/unknown",
    }.items()
)
RUN = "<w:r><w:t>WORD</w:t></w:r>"
SPACE = "<w:r><w:t xml:space='preserve'> </w:t></w:r>"
BOX = "<wps:wsp><wps:txbx><w:txbxContent><w:p>{}</w:p></w:txbxContent></wps:txbx></wps:wsp>"
DRAWN = f"<w:drawing><wp:anchor><a:graphic><a:graphicData>{BOX}</a:graphicData></a:graphic></wp:anchor></w:drawing>"
IN_RUNS = (
    "{}", '<w:fldSimple w:instr="DATE">{}</w:fldSimple>', '<w:dir w:val="rtl">{}</w:dir>', '<w:bdo w:val="ltr">{}</w:bdo>',
    "<w:smartTag>{}</w:smartTag>", "<w:ins>{}</w:ins>", "<w:hyperlink>{}</w:hyperlink>", "<x:new><x:inner>{}</x:inner></x:new>",
    "<w:sdt><w:sdtContent>{}</w:sdtContent></w:sdt>", "<w:moveTo>{}</w:moveTo>", "<w:customXml>{}</w:customXml>",
    f"<w:r><mc:AlternateContent><mc:Choice>{BOX}</mc:Choice></mc:AlternateContent></w:r>",
    f"<w:r><mc:AlternateContent><mc:Choice>{DRAWN}</mc:Choice><mc:Fallback/></mc:AlternateContent></w:r>",
    f"<w:r>{DRAWN}</w:r>",
    '<w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText>PAGE</w:instrText></w:r>'
    '<w:r><w:fldChar w:fldCharType="separate"/></w:r>{}<w:r><w:fldChar w:fldCharType="end"/></w:r>',
)  # fmt: skip
EQUATIONS = (
    "<m:oMath><m:r><m:t>WORD</m:t></m:r></m:oMath>",
    "<m:oMathPara><m:oMath><m:f><m:num><m:r><m:t>WORD</m:t></m:r></m:num><m:den><m:r><m:t>WORD</m:t></m:r></m:den></m:f></m:oMath></m:oMathPara>",
    "<w:ruby><w:rt><w:r><w:t>WORD</w:t></w:r></w:rt><w:rubyBase><w:r><w:t>WORD</w:t></w:r></w:rubyBase></w:ruby>",
)
PARAGRAPHS = st.recursive(
    st.sampled_from([RUN, *EQUATIONS]),
    lambda inner: st.tuples(st.sampled_from(IN_RUNS), st.lists(inner, min_size=1, max_size=3)).map(
        lambda pair: pair[0].replace("{}", SPACE.join(pair[1]))
    ),
    max_leaves=6,
)


def word_document(body: str, **parts: str) -> bytes:
    file = BytesIO()
    types = "http://schemas.openxmlformats.org/package/2006"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(
            "[Content_Types].xml",
            f'<Types xmlns="{types}/content-types"><Default Extension="xml" ContentType="application/xml"/></Types>',
        )
        relationship = f'<Relationship Id="r" Type="{office}" Target="word/document.xml"/>'
        archive.writestr("_rels/.rels", f'<Relationships xmlns="{types}/relationships">{relationship}</Relationships>')
        archive.writestr("word/document.xml", f"<w:document {NAMESPACES}><w:body>{body}</w:body></w:document>")
        for name, text in parts.items():
            archive.writestr(f"word/{name}.xml", f"<w:{name} {NAMESPACES}>{text}</w:{name}>")
    return file.getvalue()


@given(st.lists(PARAGRAPHS, min_size=1, max_size=4), st.booleans())
@settings(max_examples=300, deadline=None)
def test_no_word_of_a_word_document_is_lost(paragraphs: list[str], in_table: bool) -> None:
    """Words survive in any XML element, whether or not mammoth supports it. Page headers are counted in a note."""
    body = "".join(f"<w:p>{one}</w:p>" for one in [RUN, *paragraphs])
    if in_table:
        body = f"<w:tbl><w:tr><w:tc>{body}</w:tc></w:tr></w:tbl>"
    text = number(f"{body}<!-- -->")
    header = "<w:p><w:r><w:t>zq0zq</w:t></w:r></w:p>"
    document = read_docx(word_document(text, header=header))
    check(document, text + header)
    assert document.notes == ["left out of headers, footers, comments, diagrams and charts: 1 word: zq0zq"]


def test_what_cannot_be_read_of_a_word_document_is_counted() -> None:
    """Text outside of runs is counted in a note. Deleted text and field codes are not text."""
    deleted = "<w:del><w:r><w:delText>old</w:delText></w:r></w:del><w:r><w:instrText>DATE</w:instrText></w:r>"
    body = f"<w:p>{RUN}{SPACE}<x:a><x:t>WORD WORD</x:t></x:a>{deleted}</w:p>"
    assert read_docx(word_document(number(body))).notes == ["left out of the text: 2 words: zq2zq zq3zq"]


def test_an_equation_keeps_its_fractions_and_powers() -> None:
    """Otherwise the fraction 1/2 would become 12."""

    def run(text: str) -> str:
        return f"<m:r><m:t>{escape(text)}</m:t></m:r>"

    fraction = f"<m:f><m:num>{run('1')}</m:num><m:den>{run('2')}</m:den></m:f>"
    power = f"<m:sSup><m:e>{run('m')}</m:e><m:sup>{run('2')}</m:sup></m:sSup>"
    body = f"<w:p>{RUN}<m:oMath>{fraction}{run('×')}{power}</m:oMath>{RUN}</w:p>"
    assert read_docx(word_document(body)).blocks[0].text == "WORD (1)/(2)×m^2 WORD"


def lines(*texts: str) -> list[Line]:
    return [Line(text, 0, 500, 100 + 12 * n, 110 + 12 * n, 10, False, 800) for n, text in enumerate(texts)]


@pytest.mark.parametrize(
    ("first", "second", "elsewhere", "whole", "in_doubt"),
    [
        ("a well-", "known drug", "", "well-known", True),
        ("a well-", "known drug", "(well-known)", "well-known", False),
        ("a well-", "known drug", "well-known wellknown", "well-known", False),
        ("the medica-", "tion helps", "Medication.", "medication", False),
        ("the medica-", "tion, then", "“medication”", "medication,", False),
        ("the medica-", "tion helps", "medications", "medica-tion", True),
        ("the Über-", "gabe dort", "übergabe", "Übergabe", False),
        ("the medica\u00ad", "tion helps", "", "medication", False),
        ("non-", "European", "", "non- European", False),
    ],
)  # fmt: skip
def test_a_hyphen_at_the_end_of_a_line_stays_in_doubt(
    first: str, second: str, elsewhere: str, whole: str, in_doubt: bool
) -> None:
    """The hyphen is removed only if the document has the joined word elsewhere, and never with a hyphen."""
    blocks, _, doubts = build_outline([lines(first, second), lines(elsewhere or "Nothing.")])
    assert whole in blocks[0].text
    assert bool(doubts) is in_doubt


def test_notes_stand_in_the_sections_of_their_document() -> None:
    """The notes are in the front matter, where reviewers see them, and the loader accepts them."""
    document = read_html("<nav>Home</nav><h1>A</h1><p>Text.</p>")
    (section,) = build_sections(document, "a.html")
    parsed = parse_section(render_section(section, "A summary.", "extracted"))
    assert parsed is not None
    keys: FrontMatter = parsed[0]
    assert keys.imported is not None
    assert keys.imported.notes == ["left out as navigation, or by --leave-out: 1 word: Home"] == document.notes
