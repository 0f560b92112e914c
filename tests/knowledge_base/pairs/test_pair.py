"""The file of pairs and the taxonomy: what is wrong with them is named, with place and remedy."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from knowledge_base.pairs.pair import PairsError, dump_pairs, load_pairs, load_taxonomy, write_pairs
from tests.knowledge_base.pairs.examples import ENGLISH, GERMAN, pair, review, write_kb


def test_pairs_survive_their_file(tmp_path: Path) -> None:
    """With reviews, and with characters that end a line elsewhere."""
    pairs = (pair(review=review(answer_ok=False, error="omits")), pair(id="b", answer="Ein\u2028Wort"))
    write_pairs(tmp_path, pairs)
    assert load_pairs(tmp_path) == pairs
    assert [one.served for one in pairs] == [False, True]
    assert [path.name for path in tmp_path.iterdir()] == ["pairs.jsonl"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", 'pairs.jsonl: its first line is \'\' (expected {"format": "caf-pairs", "version": 1}); move it away'),
        ('{"format": "caf-pairs", "version": 2}\n', '"version": 2}\' (expected {"format"'),
        ("question;answer\n", "pairs.jsonl: its first line is 'question;answer'"),
        (dump_pairs([pair()]) + "{\n", "pairs.jsonl:3: Expecting property name"),
        (dump_pairs([pair()]) + "[" * 200_000, "pairs.jsonl:3: nested too deeply; correct or delete the line"),
        (dump_pairs([pair()]) + '{"id": "x"}\n', "pairs.jsonl:3: document: Field required"),
        (
            dump_pairs([pair(), pair()]),
            "pairs.jsonl:3: duplicate id 'bluthochdruck-definition-1'; correct or delete the line",
        ),
        (
            dump_pairs([pair(), pair("Anders?", id="b", cluster="d", variants=("was ist  bluthochdruck",))]),
            "pairs.jsonl: wording 'was ist  bluthochdruck' belongs to two clusters: bluthochdruck-definition-1 and b; remove it",
        ),
        (dump_pairs([pair()]).replace('"review"', '"reviews"'), "pairs.jsonl:2: reviews: Extra inputs"),
    ],
)
def test_a_pair_file_that_cannot_be_used_is_named(tmp_path: Path, text: str, said: str) -> None:
    """With its line."""
    (tmp_path / "pairs.jsonl").write_text(text)
    with pytest.raises(PairsError) as raised:
        load_pairs(tmp_path)
    assert said in str(raised.value)


def test_a_missing_file_says_what_makes_it(tmp_path: Path) -> None:
    """For both files."""
    with pytest.raises(PairsError, match="No such file or directory; `caf kb build` makes it"):
        load_pairs(tmp_path)
    with pytest.raises(PairsError, match=r"taxonomy.yaml: cannot be read: .*; a knowledge base with pairs needs it"):
        load_taxonomy(tmp_path)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"language": "klingon"}, "taxonomy.yaml: language: Input should be 'danish'"),
        ({"required_aspects": ["Farbe"]}, "required_aspects: unknown aspect 'Farbe'"),
        ({"danger": ["Farbe"]}, "danger: unknown aspect 'Farbe'"),
        ({"aspects": [{"name": "A"}, {"name": "A"}]}, "duplicate aspect 'A'"),
        ({"topics": GERMAN["topics"] * 2}, "duplicate focus 'bluthochdruck'"),
        (
            {"topics": [{"name": "T", "subtopics": [{"foci": [{"id": "a", "name": "A", "documents": ["x", "x"]}]}]}]},
            "duplicate document 'x'",
        ),
        ({"checks": [{"when": "(", "reason": "r"}]}, "taxonomy.yaml: checks.0.when: Input should be a valid regular"),
        ({"colour": "red"}, "taxonomy.yaml: colour: Extra inputs"),
    ],
)
def test_a_taxonomy_is_checked(tmp_path: Path, changes: dict[str, Any], said: str) -> None:
    """When it is loaded."""
    write_kb(tmp_path, GERMAN | changes)
    with pytest.raises(PairsError) as raised:
        load_taxonomy(tmp_path)
    assert said in str(raised.value)


def test_a_taxonomy_is_yaml(tmp_path: Path) -> None:
    """With no key twice."""
    text = yaml.safe_dump(ENGLISH)
    (tmp_path / "taxonomy.yaml").write_text(text + "language: german\n")
    with pytest.raises(PairsError, match="duplicate key"):
        load_taxonomy(tmp_path)
    (tmp_path / "taxonomy.yaml").write_text("[")
    with pytest.raises(PairsError, match=r"taxonomy\.yaml: "):
        load_taxonomy(tmp_path)


@pytest.mark.parametrize(
    ("line", "name"), [("nb", "norwegian"), ("no", "norwegian"), ("norwegian", "norwegian"), ("de", "german")]
)
def test_a_language_may_be_given_by_its_code(tmp_path: Path, line: str, name: str) -> None:
    """Norwegian has two; YAML reads a bare `no` as false."""
    text = (write_kb(tmp_path) / "taxonomy.yaml").read_text().replace("language: german", f"language: {line}")
    (tmp_path / "taxonomy.yaml").write_text(text)
    assert load_taxonomy(tmp_path).language == name


def test_wordings_of_rejected_pairs_and_within_a_cluster_may_be_shared(tmp_path: Path) -> None:
    """Neither makes an answer ambiguous; the commands that repair a file open any."""
    rejected = pair(id="b", cluster="d", review=review(answer_ok=False, error="wrong"))
    write_pairs(tmp_path, [pair(), pair(id="same"), rejected])
    assert len(load_pairs(tmp_path)) == 3
    write_pairs(tmp_path, [pair(), pair(id="b", cluster="d")])
    assert len(load_pairs(tmp_path, may_share_wordings=True)) == 2


def test_a_file_that_cannot_be_written_leaves_the_old_one(tmp_path: Path) -> None:
    """And nothing beside it."""
    (tmp_path / "pairs.jsonl").mkdir()
    with pytest.raises(OSError, match="directory"):
        write_pairs(tmp_path, [pair()])
    assert [path.name for path in tmp_path.iterdir()] == ["pairs.jsonl"]


def test_the_shipped_pairs_share_no_wording() -> None:
    """Else `load_pairs` would refuse them."""
    assert len(load_pairs(Path(__file__).parents[3] / "knowledge_base" / "gesundheit")) > 1_000


def test_the_shipped_taxonomy_is_valid() -> None:
    """With its topics, required aspects and checks."""
    taxonomy = load_taxonomy(Path(__file__).parents[3] / "knowledge_base" / "gesundheit")
    assert len(taxonomy.topics) == 3
    assert {"Definition", "Ursachen", "Symptome", "Behandlung"} <= set(taxonomy.required_aspects)
    assert len(taxonomy.foci) >= 12
    assert json.loads(taxonomy.model_dump_json())["language"] == "german"
