"""The project's prose is plain technical English: idioms that a reader has to read twice are not used.

`python -m tests.test_prose [PATH ...]` lists every hit below these paths with its line.
"""

import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
MOST_HITS = 30
READ = "*.py *.md *.js *.html *.yaml *.yml *.toml Makefile Containerfile".split()
EXCLUDED = re.compile(
    r"^(tests|scenarios|data|bench/recordings|docs/experiments|docs/schemas)/"  # quoted text, recordings, generated files
    r"|prompts/|/knowledge_base/|^knowledge_base/(schizophrenia|gesundheit)|^facilitators/.*\.md$|recorded|\.jsonl$"
    r"|^assistants/(schizophrenia|gesundheit/(reader|passage)|hippocrates/understand)\.md$|^assistants/.*/facilitators/"
    r"|^assistants/hippocrates/form\.yaml$|^scoring/raters/rater\.md$|^scoring/rubric\.md$"
    r"|^assistants/gesundheit/german\.yaml$|^assistants/health/(labels|guidelines)\.yaml$"
)
"""Prompts, knowledge bases, scenarios, recordings and quoted text of models: they are data, not our prose."""
TEMPLATE_CODE = re.compile(r"\{%.*?%\}|\{\{.*?\}\}")
IDIOMS = {
    name: re.compile(pattern, re.IGNORECASE)
    for name, pattern in {
        "came to": r"\bwhat (?:it|they|this|that) c[ao]mes? to\b|\bcame to\b|\bhas come to\b",
        "is none": r"\b(?:is|are|was|were) (?-i:none)\b",
        "stands": r"\b(?:stands?|stood|standing)\b(?! (?:in for|alone|out)\b)(?<!stand)",
        "is told": r"\b(?:is|are|was|were|be|been|being) told\b",
        "whoever": r"\b(?:whoever|whatever|whichever|whosoever)\b",
        "so many": r"\b(?:so|as) (?:many|often) (?!as\b|that\b)\w+\b(?! as\b)",
        "refused is": r"(?:^|[.:;#\"'>*|-] ?)(?:Refused|Shown|Left out|Kept|Told|Counted|Named|Asked|Stored|Sent) (?:is|are)\b",
        "is what": r"\b(?:is|are) (?:what|who|that which)\b(?! (?:the|a|an|you|it|they)\b)",
        "nor": r"(?:^|[.;:\"] ?)Nor\b",
        "'x' is no": r"(?<!there )\b(?:is|are|was|were) no (?!longer\b|more\b|such\b|different\b|effect\b|need\b)\w+",
        "tells how": r"\btells? (?:how|what|why|whether|which|who|when|where)\b",
        "says of": r"\bsays? of\b",
        "key twice": r"\bstands? twice\b",
        "asked again": r"\basked again\b",
        "as it stands": r"\bas (?:it|they) (?:is|are|stands?)\b",
        "lets go": r"\blets? go of\b",
        "one in twenty": r"\bone in (?:ten|twenty|a hundred|two hundred)\b|\b(?:twentieth|hundredth)\b|\bhalf of the turns\b",
        "row before": r"\b(?:row|page|turn) before\b|\bnewer turn\b",
        "goes on": r"\bgoes? on\b(?! to\b)",
        "stems": r"\bwhat is (?:wrong|left|missing|known) (?:is|are|stands)\b",
        "is meant": r"\bis meant\b|\bare meant\b",
        "of a user's own": r"\bof (?:a user's|one's) own\b",
    }.items()
}


class Hit(NamedTuple):
    path: str
    line: int
    idiom: str
    text: str


def find_hits(paths: Sequence[str] = ()) -> Iterator[Hit]:
    """Yield every idiom in the project's prose, below these paths."""
    listed = subprocess.run(["git", "ls-files", "--", *READ], cwd=ROOT, capture_output=True, text=True, check=True)
    for name in listed.stdout.splitlines():
        if EXCLUDED.search(name) or (paths and not name.startswith(tuple(paths))):
            continue
        text = (ROOT / name).read_text(encoding="utf-8")
        if name.endswith(".html"):
            text = TEMPLATE_CODE.sub("", text)
        for number, line in enumerate(text.splitlines(), 1):
            for idiom, pattern in IDIOMS.items():
                for _ in pattern.finditer(line):
                    yield Hit(name, number, idiom, line.strip())


def test_prose_has_no_idioms_that_are_read_twice() -> None:
    """All of the project has fewer than 30 hits; the message lists them."""
    hits = list(find_hits())
    assert len(hits) < MOST_HITS, "\n".join(f"{one.path}:{one.line}: {one.idiom}: {one.text[:120]}" for one in hits)


@pytest.mark.parametrize(
    "sentence",
    [
        "What it came to",
        "'x' is none; give FIELD=COLUMN",
        "the key 'x' stands twice",
        "'x' is no kind of emergency",
        "Whoever shows text has nothing to do.",
        "The page is asked again every 15 seconds.",
        "Refused is a key that has no permission.",
        "How often the judges look: so often, and once more for so many characters.",
        "Nor does a judge accept alone.",
        "docs/judges.md tells how to write a judge.",
    ],
)
def test_each_example_of_the_style_guide_is_a_hit(sentence: str) -> None:
    """The expressions find the sentences that the style guide gives as bad examples."""
    assert any(pattern.search(sentence) for pattern in IDIOMS.values())


@pytest.mark.parametrize(
    "sentence", ["Outcome", "p50 12 ms, p95 21 ms", "invalid --map 'x': expected FIELD=COLUMN", "refreshes every 15 s"]
)
def test_plain_english_is_no_hit(sentence: str) -> None:
    """The sentences that it recommends are not found."""
    assert not any(pattern.search(sentence) for pattern in IDIOMS.values())


if __name__ == "__main__":
    for hit in find_hits(sys.argv[1:]):
        print(f"{hit.path}:{hit.line}: {hit.idiom}: {hit.text[:160]}")
