"""The judges' prompts on German replies as a language model read them: recorded completions of a language model, replayed.

36 bad replies of 12 kinds (a number changed, a condition dropped, a diagnosis given ...), each with a good twin; their authors
saw no prompt.
"""

import json

from typer.testing import CliRunner

from cli.main import app

FOLDER = "scenarios/gesundheit"


def test_bad_german_replies_are_stopped_and_good_ones_left_alone() -> None:
    """The cascade stops 35 of 36 and changes none of 36."""
    command = ["judges", "eval", "--config", f"{FOLDER}/recorded/config.yaml", "--data", f"{FOLDER}/judges"]
    done = CliRunner().invoke(app, [*command, "--split", "all", "--fresh", "--json"])
    assert done.exit_code == 0, done.output
    verdicts: dict[str, set[str]] = {}
    for case in json.loads(done.stdout)["cases"]:
        verdicts.setdefault(case["id"], set()).add(case["verdict"])
    assert "unjudged" not in set().union(*verdicts.values())
    bad = [case for case in verdicts if "-bad-" in case]
    assert len(bad) == 36
    assert sum(verdicts[case] != {"accept"} for case in bad) >= 35
    good = [case for case in verdicts if "-good-" in case]
    assert [case for case in good if verdicts[case] != {"accept"}] == []
    assert len(good) == 36
