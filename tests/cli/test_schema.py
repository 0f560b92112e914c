"""`caf schema`: the schemas in docs/ are those of the code, and what we ship obeys them."""

import json
import subprocess
from pathlib import Path

import pytest
import yaml

from cli.schema import schemas
from tests.cli.conftest import COMMAND, ROOT, Caf


@pytest.mark.parametrize(
    "name", ["config.json", "checkpoint.json", "scenario.json", "questions.json", "experiment.json", "transcript.json"]
)
def test_the_schemas_in_docs_are_up_to_date(name: str) -> None:
    """If this fails, run `caf schema` and commit what it writes."""
    assert (ROOT / "docs" / "schemas" / name).read_text() == schemas()[name]


def test_the_command_writes_them(inside: Caf, tmp_path: Path) -> None:
    """Into docs/schemas, or where it is told."""
    names = ["config.json", "checkpoint.json", "scenario.json", "questions.json", "experiment.json", "transcript.json"]
    assert inside("schema").out.splitlines() == [f"docs/schemas/{name}" for name in names]
    assert inside("schema", "--out", "elsewhere").code == 0
    assert (tmp_path / "elsewhere" / "config.json").read_text() == schemas()["config.json"]


def test_a_place_that_cannot_be_written_is_named(inside: Caf, tmp_path: Path) -> None:
    """One line, exit code 2."""
    (tmp_path / "taken").write_text("")
    ended = inside("schema", "--out", "taken")
    assert ended.code == 2
    assert "taken: the schema cannot be written: File exists" in ended.err


def test_a_closed_pipe_is_no_error_message(tmp_path: Path, environment: dict[str, str]) -> None:
    """As in `caf schema | head -1`."""
    with subprocess.Popen(
        [*COMMAND, "schema"], cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
    assert (tmp_path / "docs" / "schemas" / "config.json").is_file()


def test_every_setting_that_is_documented_in_code_is_in_the_schema() -> None:
    """The strings below the fields become descriptions, also of settings deep inside."""
    schema = json.loads(schemas()["config.json"])
    assert (
        schema["$defs"]["PrivacySettings"]["properties"]["days"]["description"]
        == "Days after which a trace is deleted."
    )
    assert "api_key_env" in schema["$defs"]["ModelSettings"]["properties"]
    assert schema["$defs"]["ModelSettings"]["properties"]["engine"]["description"].startswith("The engine")
    assert schema["properties"]["expose"]["description"].startswith("caf: replies carry the `caf` object.")


def test_the_shipped_configuration_obeys_the_schema() -> None:
    """Shorthands included: an editor must not underline what the proxy takes."""
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads(schemas()["config.json"])
    data = yaml.safe_load((ROOT / "config.yaml").read_text())
    for bot in data["chatbots"].values():  # PyYAML reads `on` as true, as YAML 1.1 has it; editors do not
        bot["filter"] = {True: "on", False: "off"}.get(bot["filter"], bot["filter"])
    jsonschema.validate(data, schema)
    data["chatbots"]["schizophrenia"]["judges"].append("role")
    jsonschema.validate(data, schema)
    data["chatbots"]["schizophrenia"]["colour"] = "red"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(data, schema)


def test_saved_conversations_obey_the_schema() -> None:
    """Those that we ship."""
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads(schemas()["checkpoint.json"])
    said = {"role": "assistant", "content": "Hi", "outcome": "warned", "citations": ["causes"]}
    saved = {"name": "a", "chatbot": "b", "created": "2026-11-21T09:00:00Z", "messages": [said]}
    jsonschema.validate(saved, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(saved | {"messages": [said | {"role": "robot"}]}, schema)


def test_scenario_families_obey_the_schema() -> None:
    """Those that we ship, and every shorthand that is taken."""
    jsonschema = pytest.importorskip("jsonschema")
    schema = jsonschema.Draft202012Validator(json.loads(schemas()["scenario.json"]))
    for path in (ROOT / "scenarios" / "judges").glob("*.yaml"):
        assert [error.message for error in schema.iter_errors(yaml.safe_load(path.read_text()))] == [], path
    one = {
        "id": "a",
        "history": [{"user": "b"}, {"role": "assistant", "content": "c"}],
        "sources": ["d", {"id": "e", "text": "f"}],
    }
    one |= {"response": "g", "expect": {"role": "accept", "emergency": ["warn", "reject"]}}
    schema.validate({"family": "f", "scenarios": [one, one | {"sources": "d"}]})
    for change in ({"expect": {"role": "bad"}}, {"history": ["b"]}, {"history": [{"robot": "b"}]}, {"colour": "red"}):
        with pytest.raises(jsonschema.ValidationError):
            schema.validate({"family": "f", "scenarios": [one | change]})
