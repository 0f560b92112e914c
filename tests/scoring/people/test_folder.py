"""What a run's folder holds of people who rate."""

from pathlib import Path

import pytest

from scoring.folder import RunError
from scoring.people import folder
from scoring.people.returned_ratings import SelfAgreement


def test_what_was_rated_twice_is_read_back(tmp_path: Path) -> None:
    """By raters; a run that nobody rated has none, and a file that says something else is named."""
    assert folder.read_self_agreement(tmp_path) == []
    (tmp_path / folder.RATING).mkdir()
    for rater in ("ben", "ann"):
        (tmp_path / folder.RATING / f"self-{rater}.json").write_text(
            SelfAgreement(page="p", rater=rater, twins=()).model_dump_json()
        )
    assert [one.rater for one in folder.read_self_agreement(tmp_path)] == ["ann", "ben"]
    (tmp_path / folder.RATING / "self-cem.json").write_text("{}")
    with pytest.raises(RunError, match=r"self-cem.json: expected ratings of replies shown twice: page: is missing"):
        folder.read_self_agreement(tmp_path)
