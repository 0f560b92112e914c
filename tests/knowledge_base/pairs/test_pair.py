"""The pair file and the taxonomy: errors name the file, the position and the remedy."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from knowledge_base.pairs.pair import PairsError, dump_pairs, load_pairs, load_taxonomy, write_pairs
from tests.knowledge_base.pairs.examples import ENGLISH, GERMAN, pair, review, write_kb


def test_pairs_survive_their_file(tmp_path: Path) -> None:
    """Reviews and Unicode line separators are preserved."""
    pairs = (pair(review=review(answer_ok=False, error="omits")), pair(id="b", answer="Ein\u2028Wort"))
    write_pairs(tmp_path, pairs)
    assert load_pairs(tmp_path) == pairs
    assert [one.served for one in pairs] == [False, True]
    assert [path.name for path in tmp_path.iterdir()] == ["pairs.jsonl"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "",
            'pairs.jsonl: invalid first line \'\': expected {"format": "caf-pairs", "version": 1}; move the file away',
        ),
        ('{"format": "caf-pairs", "version": 2}\n', '"version": 2}\': expected {"format"'),
        ("question;answer\n", "pairs.jsonl: invalid first line 'question;answer'"),
        (dump_pairs([pair()]) + "{\n", "pairs.jsonl:3: Expecting property name"),
        (
            dump_pairs([pair()]) + "[" * 200_000,
            "pairs.jsonl:3: the text is nested too deeply; correct or delete the line",
        ),
        (dump_pairs([pair()]) + '{"id": "x"}\n', "pairs.jsonl:3: document: is missing"),
        (
            dump_pairs([pair(), pair()]),
            "pairs.jsonl:3: duplicate id 'bluthochdruck-definition-1'; correct or delete the line",
        ),
        (
            dump_pairs([pair(), pair("Anders?", id="b", cluster="d", variants=("was ist  bluthochdruck",))]),
            "pairs.jsonl: wording 'was ist  bluthochdruck' belongs to two clusters: bluthochdruck-definition-1 and b; remove it",
        ),
        (dump_pairs([pair()]).replace('"review"', '"reviews"'), "pairs.jsonl:2: reviews: is not a known key"),
    ],
)
def test_a_pair_file_that_cannot_be_used_is_named(tmp_path: Path, text: str, said: str) -> None:
    """The message has the number of the invalid line."""
    (tmp_path / "pairs.jsonl").write_text(text)
    with pytest.raises(PairsError) as raised:
        load_pairs(tmp_path)
    assert said in str(raised.value)


def test_a_missing_file_says_what_makes_it(tmp_path: Path) -> None:
    """The message about a missing pair file or taxonomy has a remedy."""
    with pytest.raises(PairsError, match="No such file or directory; create it with `caf kb build`"):
        load_pairs(tmp_path)
    with pytest.raises(
        PairsError, match=r"taxonomy.yaml: the file cannot be read: .*; a knowledge base with pairs needs"
    ):
        load_taxonomy(tmp_path)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"language": "klingon"}, "taxonomy.yaml: language: invalid value 'klingon': expected 'danish'"),
        ({"required_aspects": ["Farbe"]}, "required_aspects: unknown aspect 'Farbe'"),
        ({"danger": ["Farbe"]}, "danger: unknown aspect 'Farbe'"),
        ({"aspects": [{"name": "A"}, {"name": "A"}]}, "duplicate aspect 'A'"),
        ({"topics": GERMAN["topics"] * 2}, "duplicate focus 'bluthochdruck'"),
        (
            {"topics": [{"name": "T", "subtopics": [{"foci": [{"id": "a", "name": "A", "documents": ["x", "x"]}]}]}]},
            "duplicate document 'x'",
        ),
        ({"checks": [{"when": "(", "reason": "r"}]}, "taxonomy.yaml: checks.0.when: must be a valid regular"),
        ({"colour": "red"}, "taxonomy.yaml: colour: is not a known key"),
    ],
)
def test_a_taxonomy_is_checked(tmp_path: Path, changes: dict[str, Any], said: str) -> None:
    """An invalid taxonomy is an error on loading."""
    write_kb(tmp_path, GERMAN | changes)
    with pytest.raises(PairsError) as raised:
        load_taxonomy(tmp_path)
    assert said in str(raised.value)


def test_a_taxonomy_is_yaml(tmp_path: Path) -> None:
    """Invalid YAML and duplicate keys are errors."""
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
    """Norwegian has two codes, and YAML reads a bare `no` as false."""
    text = (write_kb(tmp_path) / "taxonomy.yaml").read_text().replace("language: german", f"language: {line}")
    (tmp_path / "taxonomy.yaml").write_text(text)
    assert load_taxonomy(tmp_path).language == name


def test_wordings_of_rejected_pairs_and_within_a_cluster_may_be_shared(tmp_path: Path) -> None:
    """These cases are not ambiguous. Commands that repair a file accept any shared wording."""
    rejected = pair(id="b", cluster="d", review=review(answer_ok=False, error="wrong"))
    write_pairs(tmp_path, [pair(), pair(id="same"), rejected])
    assert len(load_pairs(tmp_path)) == 3
    write_pairs(tmp_path, [pair(), pair(id="b", cluster="d")])
    assert len(load_pairs(tmp_path, may_share_wordings=True)) == 2


def test_a_file_that_cannot_be_written_leaves_the_old_one(tmp_path: Path) -> None:
    """No temporary file remains."""
    (tmp_path / "pairs.jsonl").mkdir()
    with pytest.raises(OSError, match="directory"):
        write_pairs(tmp_path, [pair()])
    assert [path.name for path in tmp_path.iterdir()] == ["pairs.jsonl"]


def test_the_shipped_pairs_share_no_wording() -> None:
    """Otherwise `load_pairs` would refuse the shipped file."""
    assert len(load_pairs(Path(__file__).parents[3] / "knowledge_base" / "gesundheit")) > 1_000


def test_the_shipped_taxonomy_is_valid() -> None:
    """The shipped taxonomy has topics, required aspects and checks."""
    taxonomy = load_taxonomy(Path(__file__).parents[3] / "knowledge_base" / "gesundheit")
    assert len(taxonomy.topics) == 3
    assert {"Definition", "Ursachen", "Symptome", "Behandlung"} <= set(taxonomy.required_aspects)
    assert len(taxonomy.foci) >= 12
    assert json.loads(taxonomy.model_dump_json())["language"] == "german"
