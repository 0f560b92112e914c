"""`caf kb build`, `check`, `review` and `eval --pairs` on input that cannot be used: each message names the file and a remedy."""

import resource
import time
from io import BytesIO
from pathlib import Path

import pytest
from reportlab.pdfgen.canvas import Canvas

from knowledge_base.pairs.pair import dump_pairs, load_pairs, write_pairs
from tests.cli.conftest import At, Caf
from tests.knowledge_base.building import documents
from tests.knowledge_base.pairs.examples import DOCUMENT, pair, review, write_kb

GOOD = dump_pairs([pair()])


@pytest.fixture
def kb(tmp_path: Path) -> Path:
    return write_kb(tmp_path / "kb", bluthochdruck=DOCUMENT)


def long_pdf(pages: int) -> bytes:
    canvas = Canvas(file := BytesIO())
    for _ in range(pages):
        canvas.drawString(100, 700, "Viel trinken hilft.")
        canvas.showPage()
    canvas.save()
    return file.getvalue()


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("pots.pdf", documents.scan(), "pots.pdf: the PDF is a scan without text; run text recognition first"),
        ("pots.pdf", b"%PDF-1.7 \x00\x01", "pots.pdf: the file is damaged and cannot be read as a PDF; print it to a new PDF"),
        ("pots.pdf", long_pdf(10_000), "pots.pdf: the PDF has 10,000 pages, more than the limit of 2,000; split it"),
        ("pots.html", b"<h1>PoTS<div <<< &#x110000; <p", "pots.html: the document has no text below a heading"),
        ("pots.html", b"", "pots.html: the file is empty"),
        ("images/one.png", b"\x89PNG\r\n", "images: this is a folder, not a document; name its files, as in FOLDER/*.docx"),
        ("images/one.png", b"\x89PNG\r\n", "images/one.png: unsupported format '.png': expected markdown"),
        ("empty/", b"", "empty: this is a folder, not a document; name its files"),
        ("empty/", b"", "empty/*.md: the file cannot be read (No such file or directory)"),
        ("gicht.md", b"# Gicht\n\n## Therapie\n\nViel trinken hilft.", "gicht.md: the document matches no focus in taxonomy.yaml"),
    ],
)  # fmt: skip
def test_a_document_that_cannot_be_read_is_named(inside: Caf, kb: Path, name: str, content: bytes, said: str) -> None:
    """The exit code is 1; nothing is written."""
    path = kb.parent / name
    (path if name.endswith("/") else path.parent).mkdir(exist_ok=True)
    if not name.endswith("/"):
        path.write_bytes(content)
    ended = inside("kb", "build", said.partition(":")[0], "--out", "kb")
    assert (ended.code, ended.out.count("problem  ")) == (1, 1)
    assert ended.out.startswith(f"problem  {said}")
    assert sorted(one.name for one in kb.iterdir()) == ["bluthochdruck.md", "taxonomy.yaml"]


def test_the_other_documents_are_built(inside: Caf, kb: Path) -> None:
    """What cannot be read costs itself alone."""
    ended = inside("kb", "build", "gone.md", "kb/bluthochdruck.md", "--out", "kb")
    assert ended.code == 1
    assert len(load_pairs(kb)) == 2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            GOOD + GOOD.splitlines()[1],
            "kb/pairs.jsonl:3: duplicate id 'bluthochdruck-definition-1'; correct or delete the line",
        ),
        ('{"format": "caf-pairs", "version": 9}\n', "move the file away and build the pairs again"),
        ("", "kb/pairs.jsonl: invalid first line ''"),
        (
            GOOD + '{"id": "cut o',
            "kb/pairs.jsonl:3: Unterminated string starting at: line 1 column 8 (char 7); correct or delete",
        ),
        (GOOD + "{}\n", "kb/pairs.jsonl:3: document: is missing; correct or delete the line"),
        (b"\xff\xfe", "kb/pairs.jsonl: the file is not UTF-8; save it as UTF-8"),
    ],
)
@pytest.mark.parametrize(
    "command",
    [
        ("build", "kb/bluthochdruck.md", "--out", "kb"),
        ("check", "kb"),
        ("review", "export", "kb", "--out", "tables"),
        ("review", "import", "kb", "t.csv"),
        ("eval", "q.jsonl", "--pairs", "kb"),
    ],
)
def test_a_pair_file_that_cannot_be_used_is_left_alone(
    inside: Caf, kb: Path, command: tuple[str, ...], text: str | bytes, said: str
) -> None:
    """By each command, with exit code 2."""
    content = text.encode() if isinstance(text, str) else text
    (kb / "pairs.jsonl").write_bytes(content)
    ended = inside("kb", *command)
    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err
    assert (kb / "pairs.jsonl").read_bytes() == content
    assert not (kb.parent / "tables").exists()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda text: text.replace("-definition-1", "-9"), "row 2: id: no pair 'bluthochdruck-9' in the knowledge base"),
        (lambda text: text.replace(";date", ";Datum"), "the table has no column 'date'; export the table again"),
        (lambda text: text.replace(";date", ";date;Notiz"), "unknown column 'Notiz'; delete it"),
        (lambda text: text.encode("utf-16"), "the file is neither UTF-8 nor Windows-1252 text; save it as CSV UTF-8"),
    ],
)  # fmt: skip
def test_a_table_that_cannot_be_used_changes_no_pair(inside: Caf, kb: Path, change, said: str) -> None:
    """It is named, with exit code 1."""
    write_pairs(kb, [pair()])
    inside("kb", "review", "export", "kb", "--out", "tables")
    path = kb.parent / "tables" / "Herz.csv"
    changed = change(path.read_text(encoding="utf-8-sig"))
    path.write_bytes(changed if isinstance(changed, bytes) else changed.encode())
    ended = inside("kb", "review", "import", "kb", "tables/Herz.csv")
    assert ended.code == 1
    assert ended.out == f"problem  tables/Herz.csv: {said}" + ended.out.partition(said)[2]
    assert load_pairs(kb) == (pair(),)


def test_a_build_without_a_model_says_what_it_needs(inside: Caf, kb: Path) -> None:
    """Questions of aspects; and it does not replace what a model has written."""
    taxonomy = (kb / "taxonomy.yaml").read_text()
    lines = [line for line in taxonomy.split("\n") if "{focus}" not in line]
    (kb / "taxonomy.yaml").write_text("\n".join(lines).replace("questions:", "questions: []"))
    ended = inside("kb", "build", "kb/bluthochdruck.md", "--out", "kb")
    assert ended.code == 2
    assert ended.err == (
        "caf: kb/taxonomy.yaml: no aspect of the documents has `questions` to extract: add some, or give --model ALIAS\n"
    )
    (kb / "pairs.journal.jsonl").write_text("")
    ended = inside("kb", "build", "kb/bluthochdruck.md", "--out", "kb")
    assert ended.code == 2
    assert "kb/pairs.journal.jsonl: a model wrote these pairs: give --model ALIAS, or delete this file" in ended.err
    assert not (kb / "pairs.jsonl").exists()


def test_a_reviewed_pair_without_a_place_stops_the_build(inside: Caf, kb: Path) -> None:
    """It would be lost."""
    write_pairs(kb, [pair(aspect="Farbe", review=review())])
    ended = inside("kb", "build", "kb/bluthochdruck.md", "--out", "kb")
    assert ended.code == 2
    assert (
        "kb/pairs.jsonl: reviewed pair 'bluthochdruck-definition-1' is on bluthochdruck / Farbe, which taxonomy.yaml"
        in ended.err
    )
    assert load_pairs(kb)[0].aspect == "Farbe"


def test_a_folder_that_cannot_be_written_is_named(inside: Caf, kb: Path) -> None:
    """Nothing is left behind."""
    (kb / "pairs.jsonl.new").mkdir()
    ended = inside("kb", "build", "kb/bluthochdruck.md", "--out", "kb")
    assert ended.code == 2
    assert ended.err.startswith("caf: kb/pairs.jsonl.new: cannot be written: Is a directory")
    assert not (kb / "pairs.jsonl").exists()


LONG = "# PoTS\n\n## Therapie\n\n" + "\n\n".join(
    f"Bei PoTS hilft es, Gericht {n} gut zu salzen." for n in range(10_000)
)


def test_a_document_of_ten_thousand_paragraphs_takes_seconds(inside: Caf, kb: Path) -> None:
    """And memory in proportion to its text: without a model, an extracted pair for its one aspect."""
    (kb.parent / "pots.md").write_text(LONG)
    started, before = time.monotonic(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    ended = inside("kb", "build", "pots.md", "--out", "kb")
    assert ended.code == 0, ended.out
    assert time.monotonic() - started < 60
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300 * 1024  # KiB
    assert len(load_pairs(kb)) == 1


def test_a_build_shows_its_progress(terminal: At, kb: Path) -> None:
    """On a terminal: documents, then calls of the model."""
    (kb.parent / "pots.md").write_text(
        "# PoTS\n\n" + "\n\n".join(f"## Therapie {n}\n\nViel trinken hilft vielen." for n in range(9))
    )
    script = "[{delay_s: 0.3, reply: {pairs: []}}]"
    (kb.parent / "c.yaml").write_text(
        f"models:\n  mini: {{engine: scripted, script: {script}}}\n"
        "chatbots:\n  bot: {model: mini, role: Answers., refiner: null, emergency: {contact: Call 112.}}\n"
    )
    at = terminal("kb", "build", "pots.md", "--out", "kb", "--model", "mini", "--config", "c.yaml")
    at.wait_for("calls")
    at.wait_for("4/9")
    at.wait_for("mini: 9 answers")
    assert at.end() == 0
