"""Messages about invalid YAML: the place, the fault, and what to try."""

import pytest
import yaml

from models.unique_keys import describe_yaml_error, load_yaml


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "a: b: c\n",
            ":1:5: not valid YAML: mapping values are not allowed here; check the indentation, or put a value",
        ),
        (
            'a: 1\nb: "x\nc: 2\n',
            ":4:1: not valid YAML: found unexpected end of stream (the quotes or the bracket opened in line 2)",
        ),
        (
            "a: [1, 2\nb: 3\n",
            ":2:2: not valid YAML: expected ',' or ']', but got ':' (the quotes or the bracket opened in line 1)",
        ),
        ("a: [1, 2\n", "(the quotes or the bracket opened in line 1)"),
        ("a: 1\na: 2\n", ":2:1: not valid YAML: duplicate key 'a'"),
    ],
)
def test_the_place_and_the_remedy_are_named(text: str, message: str) -> None:
    """The parser notices an open quote or bracket lines later, so the line in which it opened is named too."""
    with pytest.raises(yaml.YAMLError) as caught:
        load_yaml(text)
    assert message in describe_yaml_error(caught.value)


def test_an_error_without_a_place_is_a_sentence_too() -> None:
    """YAML converts dates before anything is validated."""
    with pytest.raises(ValueError, match="day is out of range") as caught:
        load_yaml("a: 2026-02-31")
    assert describe_yaml_error(caught.value) == ": not valid YAML: day is out of range for month"
