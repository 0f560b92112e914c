"""`caf init`: every place of a model, odd names, what must not be overwritten, and that all it writes can be used."""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml
from aiohttp import web

from cli.extras import LIBRARIES
from cli.starter.answers import Answers, chatbot_name, read_key_env
from cli.starter.files import targets
from cli.starter.first_turn import QUESTION
from cli.starter.languages import TEXTS
from cli.starter.providers import PROVIDERS, ModelPlace
from facilitators import facilitator
from judges.prompt import load_prompt
from knowledge_base.library import load as load_library
from models.extras import install_command
from proxy.config.blueprint import Blueprint, assemble
from proxy.config.chatbot_settings import PLACEHOLDER
from proxy.config.config import load_config
from scenarios import checkpoint
from scenarios.scenario_files import load_all
from scoring import experiment
from tests.cli.conftest import At, Caf

pytestmark = pytest.mark.usefixtures("imports_of_its_own")
SAID = "You can ask this service anything that its sections cover."
OBSERVATIONS = {
    "Crisis": {"signs": []},
    "Screening": {"problems": [], "adds": False},
    "Opinion": {"verdict": "accept", "reason": "promises nothing"},
}


@dataclass
class Upstream:
    """A server that drafts, and observes nothing wrong."""

    address: str = ""
    requests: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str | None] = field(default_factory=list)

    models: list[str] | None = None
    """The models that it lists; None: it has no such path."""
    failure: str | None = None
    """How it answers instead: an HTTP status, `html` or `empty`."""

    async def list(self, request: web.Request) -> web.Response:
        if self.models is None:
            raise web.HTTPNotFound
        self.keys.append(request.headers.get("Authorization"))
        return web.json_response({"object": "list", "data": [{"id": name} for name in self.models]})

    async def chat(self, request: web.Request) -> web.Response:
        body = await request.json()
        if self.failure == "html":
            return web.Response(text="<h1>Welcome</h1>", content_type="text/html")
        if self.failure not in (None, "empty"):
            return web.json_response({"error": {"message": "no"}}, status=int(self.failure or 0))
        self.requests.append(body)
        self.keys.append(request.headers.get("Authorization"))
        if form := body.get("response_format"):
            content = json.dumps(OBSERVATIONS[form["json_schema"]["name"]])
        elif "[[cite:" in body["messages"][0]["content"]:
            content = f"[[cite: about-this-service]]\n{SAID}"
        else:
            content = "" if self.failure else SAID
        choice = {"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": "stop"}
        usage = {"prompt_tokens": 9, "completion_tokens": 9, "total_tokens": 18}
        return web.json_response({"id": "c", "object": "chat.completion", "choices": [choice], "usage": usage})


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    from proxy.serving.listening import listening_beside

    one = Upstream()
    app = web.Application()
    app.add_routes([web.get("/v1/models", one.list), web.post("/v1/chat/completions", one.chat)])
    with listening_beside(app) as address:
        one.address = f"{address}/v1"
        yield one


def files_in(folder: Path) -> set[str]:
    """Return the files that `caf init` can have written: not what a turn leaves."""
    paths = (path for path in folder.rglob("*") if path.is_file())
    return {
        path.relative_to(folder).as_posix() for path in paths if "traces.db" not in path.name and path.suffix != ".pyc"
    }


def load_everything(folder: Path) -> Blueprint:
    """Read each file with the loader that will read it; return the chatbot."""
    config = load_config(folder / "config.yaml")
    (bot,) = assemble(config).values()
    assert bot.settings.emergency is not None
    assert bot.settings.emergency.contact
    library = load_library(folder / "knowledge_base")
    assert "about-this-service" in library
    (family,) = load_all([folder / "scenarios" / "judges"])
    assert len(family.family.scenarios) == 5
    names = {plan.name for plan in bot.plans}
    assert {judge for scenario in family.family.scenarios for judge in scenario.expect} <= names
    saved = checkpoint.load(folder / "scenarios" / "checkpoints" / "first.yaml")
    assert saved.chatbot == bot.name
    user = facilitator.load(folder / "facilitators" / "prompts" / f"{saved.facilitator}.md")
    plan = experiment.load(folder / "scenarios" / "experiments" / "first.yaml")
    assert (plan.chatbot, plan.facilitators, plan.checkpoints) == (bot.name, (user.name,), (saved.name,))
    if (folder / "judges").exists():
        assert load_prompt(folder / "judges" / "no_guarantees.md").name == "no_guarantees"
    return bot


def test_with_yes_it_needs_nothing_and_what_it_writes_is_used(caf: Caf, tmp_path: Path) -> None:
    """No question, no model, no key: files, their check, and a first turn that cites the section that came along."""
    ended = caf("init", "desk", "--yes")
    assert ended.code == 0, ended.err
    assert "no problems in 1 chatbot, 1 section, 1 checkpoint, 1 facilitator, 1 experiment" in ended.out
    assert "accepted | cites about-this-service" in ended.out
    for step in ("grep -rn CHANGE-ME", "serve", "/console", "chat", "trace label", "judges eval", "drift run"):
        assert step in ended.out.split("\nNext:\n")[1]
    bot = load_everything(tmp_path / "desk")
    assert (bot.name, bot.settings.kind) == ("desk", "guarded")
    assert "CHANGE-ME, and users, even people in danger, would receive it" in caf("check", "desk/config.yaml").out
    assert "accepted" in caf("trace", "list", "--config", "desk/config.yaml").out


def test_the_judges_are_measured_and_the_checkpoint_is_gone_on_from(inside: Caf, tmp_path: Path) -> None:
    """Under the new configuration `caf judges eval` finds all five right, and `caf drift run` writes its report."""
    assert inside("init", "desk", "--yes").code == 0
    measured = inside("judges", "eval", "--config", "desk/config.yaml", "--data", "desk/scenarios/judges", "--json")
    assert measured.code == 0, measured.err
    figures = json.loads(measured.out)["judges"]
    assert {name: (one["recall"], one["specificity"]) for name, one in figures.items()} == dict.fromkeys(
        ("emergency", "source_fidelity", "role", "no_guarantees"), (1.0, 1.0)
    )
    ran = inside("drift", "run", "desk/scenarios/experiments/first.yaml", "--out", "run")
    assert ran.code == 0, ran.err
    assert (tmp_path / "run" / "report.html").is_file()
    again = inside(
        "drift", "find", "-f", "adviser-seeker", "--facilitators", "desk/facilitators/prompts", "-c", "desk/config.yaml"
    )
    assert "wrote adviser-seeker-1.yaml" in again.out


@pytest.mark.parametrize(
    ("options", "settings"),
    [
        ("--provider openai", {"engine": "openai", "base_url": "https://api.openai.com/v1", "api_key_env": "OPENAI_API_KEY"}),
        ("--provider openai --key-env MY_KEY --model gpt-5", {"model": "gpt-5", "api_key_env": "MY_KEY", "temperature": None}),
        (
            "--provider azure --url https://us.openai.azure.com/ --model dep",
            {
                "base_url": "https://us.openai.azure.com/openai/deployments/dep",
                "headers": {"api-key": "env:AZURE_OPENAI_API_KEY"},
                "query": {"api-version": "2024-10-21"},
            },
        ),
        ("--provider anthropic", {"engine": "litellm", "model": "anthropic/claude-sonnet-4-5", "api_key_env": "ANTHROPIC_API_KEY"}),
        ("--provider litellm --model mistral/m --key-env MISTRAL_API_KEY", {"engine": "litellm", "model": "mistral/m"}),
        ("--provider ollama --key-env K", {"base_url": "http://127.0.0.1:11434/v1", "model": "llama3.1"}),
        ("--provider ollama --model x --key-env K", {"system_messages": "first", "timeout_s": 120}),
        ("--provider vllm --model q/Q --key-env K", {"base_url": "http://127.0.0.1:8000/v1", "model": "q/Q", "timeout_s": 120}),
        ("--provider url --url http://h:1/v1/chat/completions --model m --key-env K", {"base_url": "http://h:1/v1", "model": "m"}),
    ],
)  # fmt: skip
def test_every_place_of_a_model_has_flags(
    inside: Caf, tmp_path: Path, options: str, settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The alias says how it is reached and names its key's variable; while that is not set, no turn is tried, and it says so."""
    for name in ("OPENAI_API_KEY", "MY_KEY", "AZURE_OPENAI_API_KEY", "ANTHROPIC_API_KEY", "MISTRAL_API_KEY", "K"):
        monkeypatch.delenv(name, raising=False)
    ended = inside("init", "desk", "--name", "desk", "--about", "Informs.", *options.split())
    assert ended.code == 0, ended.out + ended.err
    assert "No first question: " in ended.out
    bot = load_everything(tmp_path / "desk")
    models = load_config(tmp_path / "desk" / "config.yaml").models
    assert {key: getattr(models["swift"], key) for key in settings} == settings
    assert models["chief"].model == models["chatbot"].model
    assert bot.settings.refiner == "chief"
    assert next(plan.stages for plan in bot.plans if plan.name == "emergency") == ("local", "swift", "chief")


def test_a_guarded_chatbot_takes_its_first_turn_at_its_model(inside: Caf, upstream: Upstream, tmp_path: Path) -> None:
    """The own prompt is what the model is sent, with the key of the variable; the key itself is in no file."""
    (tmp_path / "my prompt.md").write_text("You are the desk's own prompt.")
    ended = inside(
        "init", "desk", "--name", "Desk", "--about", "Informs tenants", "--provider", "url", "--url", upstream.address,
        "--model", "m", "--key-env", "DESK_KEY", "--prompt", "my prompt.md", env={"DESK_KEY": "secret-1"},
    )  # fmt: skip
    assert ended.code == 0, ended.err
    assert f"Desk> {SAID}" in ended.out
    assert "accepted | cites about-this-service" in ended.out
    (draft,) = [body for body in upstream.requests if body["messages"][-1]["content"] == QUESTION]
    assert "You are the desk's own prompt." in draft["messages"][0]["content"]
    assert set(upstream.keys) == {"Bearer secret-1"}
    load_everything(tmp_path / "desk")
    assert not [path for path in (tmp_path / "desk").rglob("*") if path.is_file() and b"secret-1" in path.read_bytes()]


@pytest.mark.parametrize("judges", [["none"], ["url", "--model", "m"]], ids=["local", "models"])
def test_a_chatbot_that_is_there_already_is_wrapped(
    inside: Caf, upstream: Upstream, tmp_path: Path, judges: list[str]
) -> None:
    """Its messages pass through as they are, whatever judges its replies."""
    provider = [*judges, *(["--url", upstream.address] if judges != ["none"] else [])]
    ended = inside(
        "init", "desk", "--name", "desk", "--about", "Informs", "--endpoint", f"{upstream.address}/chat/completions",
        "--endpoint-model", "theirs", "--provider", *provider,
    )  # fmt: skip
    assert ended.code == 0, ended.err
    assert SAID in ended.out
    assert load_everything(tmp_path / "desk").settings.kind == "wrapped"
    (draft,) = [body for body in upstream.requests if body["model"] == "theirs"]
    assert draft["messages"] == [{"role": "user", "content": QUESTION}]


@pytest.mark.parametrize(
    ("failure", "cause"),
    [
        ("401", "the model's server refused the key (401): check api_key_env of the alias 'chatbot'"),
        ("404", "the model's server does not know the path or the model (404): check base_url and model of the alias"),
        (
            "html",
            "the model's server answered with HTML instead of JSON: check that base_url of the alias 'chatbot' is an",
        ),
        ("empty", "the model's server answered without text: check model of the alias 'chatbot'"),
    ],
)
def test_a_failed_first_question_is_explained(
    inside: Caf, upstream: Upstream, tmp_path: Path, failure: str, cause: str
) -> None:
    """The cause in words, the server that was asked, the setting to change; and that the files were written."""
    upstream.failure = failure
    ended = inside(
        "init", "desk", "--yes", "--endpoint", upstream.address, "--endpoint-model", "theirs", "--endpoint-key-env", "DESK_KEY",
        env={"DESK_KEY": "secret-1"},
    )  # fmt: skip
    assert (ended.code, ended.err) == (1, "")
    assert f"  The first question failed:\n    {cause}" in ended.out
    assert f"    server {upstream.address}, model 'theirs', key from DESK_KEY\n" in ended.out
    assert "  All files were written. Correct `models` in desk/config.yaml, or start the server." in ended.out
    assert "secret-1" not in ended.out
    load_everything(tmp_path / "desk")


@pytest.mark.parametrize("provider", ["none", "url"])
def test_a_model_that_cannot_be_reached_is_told_with_its_address(inside: Caf, tmp_path: Path, provider: str) -> None:
    """The files are written and right; the message names cause, alias and address, and hints at a missing path."""
    options = ["--endpoint-model", "m", "--endpoint"] if provider == "none" else ["--model", "m", "--url"]
    place = [*options, "http://127.0.0.1:9"]
    ended = inside("init", "desk", "--name", "desk", "--about", "Informs", "--provider", provider, *place)
    assert (ended.code, ended.err) == (1, "")
    causes = [line for line in ended.out.splitlines() if "the model's server refused the connection" in line]
    alias = "chatbot" if provider == "none" else "swift"
    assert any(f"check base_url of the alias '{alias}'" in line for line in causes), ended.out
    assert "server http://127.0.0.1:9, model 'm', no key; most servers need /v1 at the end of the URL" in ended.out
    assert "Next:" in ended.out
    load_everything(tmp_path / "desk")


def test_the_only_model_of_an_existing_chatbot_is_used(inside: Caf, upstream: Upstream, tmp_path: Path) -> None:
    """As by `caf serve --upstream`; the key is sent to list the models too."""
    upstream.models = ["theirs"]
    options = ("--yes", "--endpoint", f"{upstream.address}/chat/completions", "--endpoint-key-env", "DESK_KEY")
    ended = inside("init", "desk", *options, env={"DESK_KEY": "secret-1"})
    assert ended.code == 0, ended.out + ended.err
    assert ended.err == f"caf: --endpoint: shortened to {upstream.address}, because CAF adds /chat/completions itself\n"
    assert load_config(tmp_path / "desk" / "config.yaml").models["chatbot"].model == "theirs"
    assert set(upstream.keys) == {"Bearer secret-1"}


@pytest.mark.parametrize(
    ("models", "message"),
    [
        (["a", "b"], "the server lists a, b; name one with --endpoint-model"),
        ([], "the server lists no model; name one with --endpoint-model"),
        (None, "the model's server does not know the path or the model (404); check the URL"),
    ],
)
def test_without_a_single_model_its_name_is_needed(
    inside: Caf, upstream: Upstream, tmp_path: Path, models: list[str] | None, message: str
) -> None:
    """And nothing is written without it."""
    upstream.models = models
    ended = inside("init", "desk", "--yes", "--endpoint", upstream.address)
    assert (ended.code, message in ended.err) == (2, True), ended.err
    assert not [*tmp_path.iterdir()]


def test_at_a_terminal_the_models_of_the_server_are_shown(upstream: Upstream, tmp_path: Path, terminal: At) -> None:
    """And the user is asked for one."""
    upstream.models = ["a", "theirs"]
    typist = terminal(
        "init", "desk", "--name", "a", "--about", "b", "--sensitive", "none", "--language", "en", "--endpoint",
        upstream.address, "--endpoint-key-env", "none", "--provider", "none", "--contact", "none", "--documents", "none",
    )  # fmt: skip
    typist.wait_for("the server lists a, theirs")
    typist.wait_for("Model name of the chatbot on that server: ")
    typist.type("theirs\n")
    typist.wait_for("Next:")
    assert typist.end() == 0
    assert load_config(tmp_path / "desk" / "config.yaml").models["chatbot"].model == "theirs"


NASTY = [
    'Tenants\' "desk": #1 & <b> {x} [y] | > % @ ` \\ é',
    "../../etc/passwd",
    "no",
    "123",
    "1e3",
    "null",
    "- a: b",
    "Beratung für Mieter — Köln",
    "a\nb\tc\x1b[31m",
    "*anchor &ref !tag",
    "{{ 7 * 7 }} {% raw %}",
    "x" * 100,
]


@pytest.mark.parametrize("text", NASTY, ids=lambda text: repr(text)[:24])
def test_odd_names_end_up_where_they_belong(
    inside: Caf, tmp_path: Path, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever somebody calls it, says of it, or names as sensitive: every file is read, and none lies elsewhere."""
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    topic = text.replace(",", "")
    said = ("--name", text, "--about", text, "--sensitive", topic, "--yes")
    ended = inside("init", "../local: #1", *said)  # with a judge in Python, and a turn
    assert ended.code == 0, ended.out + ended.err
    assert " ms | turn " in ended.out
    model = ("--provider", "vllm", "--model", "m: #x 'y'", "--key-env", "NOT_SET")
    ended = inside("init", "in here/ünusual folder", *said, *model)
    assert ended.code == 0, ended.out + ended.err
    assert "\x1b" not in ended.out
    assert "cd 'in here/ünusual folder'" in ended.out
    folder = here / "in here" / "ünusual folder"
    bot = load_everything(folder)
    plain = " ".join(text.replace("\x1b", "").split())
    assert bot.name == chatbot_name(plain)
    assert [one.name for one in bot.settings.sensitive_topics] == [" ".join(plain.replace(",", "").split())]
    assert plain in bot.settings.role
    assert load_config(folder / "config.yaml").models["swift"].model == "m: #x 'y'"
    assert load_everything(tmp_path / "local: #1").name == bot.name
    assert {path.name for path in here.iterdir()} == {"in here"}
    assert {path.name for path in tmp_path.iterdir()} == {"local: #1", "here"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--name", "診断"], "--name: the name '診断' has no Latin letter or digit"),
        (["--about", " "], "--about: the purpose is empty"),
        (["--language", "e1"], "--language: unknown language 'e1': expected a language code"),
        (["--provider", "opnai"], "--provider: unknown provider 'opnai': expected one of openai, azure"),
        (["--provider", "url", "--url", "h:1", "--model", "m"], "--url: the URL must start with http:// or https://"),
        (["--provider", "url", "--url", "http://u:p@h/v1", "--model", "m"], "--url: the URL must not "),
        (["--provider", "none", "--model", "m"], "--model: not allowed with --provider none"),
        (["--endpoint-model", "m"], "--endpoint-model: only valid with --endpoint URL"),
        (["--endpoint", "ftp://h"], "--endpoint: the URL must start with http:// or https://"),
        (["--prompt", "nowhere.md"], "--prompt: nowhere.md: the prompt file cannot be read"),
        (["--documents", "nowhere"], "--documents: nowhere: no such file"),
        (["--contents"], "--contents: only valid with --dry-run"),
    ],
)
def test_a_wrong_answer_is_told_with_its_option(inside: Caf, tmp_path: Path, options: list[str], message: str) -> None:
    """And nothing is written."""
    ended = inside("init", "desk", "--yes", *options)
    assert ended.code == 2
    assert message in ended.err
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("key", ["sk-proj-a1b2c3", "gsk_a8F3kd92mXq71LpZ0", "AIza Sy"])
def test_a_key_itself_is_refused_and_not_repeated(inside: Caf, tmp_path: Path, key: str) -> None:
    """Somebody who takes --key-env for the key must not find it in a file, or on the screen."""
    ended = inside("init", "desk", "--yes", "--provider", "openai", "--key-env", key)
    assert ended.code == 2
    assert "never give the key itself" in ended.err
    assert key not in ended.out + ended.err
    assert not [*tmp_path.iterdir()]
    assert read_key_env("MISTRAL_API_KEY_2_FOR_THE_DESK") == "MISTRAL_API_KEY_2_FOR_THE_DESK"


def test_without_a_terminal_it_says_which_options_are_missing(inside: Caf, tmp_path: Path) -> None:
    """It never waits for an answer that nobody gives."""
    ended = inside("init", "desk", "--provider", "vllm")
    assert ended.code == 2
    assert "missing options --name, --about, --model: there is no terminal to ask questions on" in ended.err
    ended = inside("init", "desk", "--yes", "--provider", "azure")
    assert "missing options --url, --model: --yes asks no questions" in ended.err
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("there", ["config.yaml", "role.md", "scenarios/judges/first.yaml", "data/.gitignore"])
def test_nothing_is_overwritten(inside: Caf, tmp_path: Path, there: str) -> None:
    """One file that is there, and nothing is written; its name is told."""
    path = tmp_path / "desk" / there
    path.parent.mkdir(parents=True)
    path.write_text("mine")
    ended = inside("init", "desk", "--yes")
    assert ended.code == 2
    assert f"desk/{there}: the file already exists, and `caf init` never overwrites. Nothing was written" in ended.err
    assert files_in(tmp_path / "desk") == {there}
    assert path.read_text() == "mine"


def test_a_second_one_beside_the_first_is_refused_before_anything_is_asked(inside: Caf) -> None:
    """Also where options are missing: who sees that it is in vain answers no question."""
    assert inside("init", "--yes", "--name", "a").code == 0
    ended = inside("init")
    assert ended.code == 2
    assert "config.yaml: the file already exists" in ended.err


def test_a_folder_that_cannot_be_written_to_is_told(inside: Caf, tmp_path: Path) -> None:
    """A file in its place, or no permission; nothing is left behind."""
    (tmp_path / "file").write_text("x")
    for folder in ("file", "file/desk"):
        ended = inside("init", folder, "--yes")
        assert ended.code == 2
        assert "file: the path is not a folder; give another FOLDER" in ended.err
    if os.geteuid() != 0:
        (tmp_path / "locked").mkdir(mode=0o500)
        assert "locked: the folder is not writable" in inside("init", "locked/desk", "--yes").err
    ended = inside("init", "/proc/caf-desk", "--yes")
    assert ended.code == 2
    assert "annot be written" in ended.err


def test_what_was_written_goes_again_if_one_file_cannot_be_written(
    inside: Caf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that is full half way leaves no half chatbot."""
    opened = Path.open

    def fail_late(path: Path, *arguments: Any, **named: Any) -> Any:
        if path.name == "checkpoint.yaml" or path.parts[-2:] == ("checkpoints", "first.yaml"):
            raise OSError(28, "No space left on device", str(path))
        return opened(path, *arguments, **named)

    monkeypatch.setattr(Path, "open", fail_late)
    (tmp_path / "desk").mkdir()
    (tmp_path / "desk" / "notes.txt").write_text("mine")
    ended = inside("init", "desk", "--yes")
    assert ended.code == 2
    assert "No space left on device" in ended.err
    assert [path.name for path in (tmp_path / "desk").iterdir()] == ["notes.txt"]


def test_a_dry_run_lists_the_files_and_on_request_what_is_in_them(inside: Caf, tmp_path: Path) -> None:
    """It writes nothing, and says what would be refused."""
    ended = inside("init", "desk", "--yes", "--dry-run")
    assert ended.code == 0
    listed = [line.split()[0] for line in ended.out.splitlines() if line.startswith("  ")]
    assert set(listed) >= {"config.yaml", "role.md", "knowledge_base/about-this-service.md", "data/.gitignore"}
    assert "refiner: local" not in ended.out
    whole = inside("init", "desk", "--yes", "--dry-run", "--contents")
    assert "    |     refiner: local" in whole.out
    assert not [*tmp_path.iterdir()]
    (tmp_path / "role.md").write_text("mine")
    refused = inside("init", "--yes", "--dry-run")
    assert refused.code == 2
    assert "role.md: the file already exists" in refused.err


@pytest.mark.parametrize("code", [*TEXTS, "pl", "German", "nb", "zh-CN"])
def test_texts_for_people_in_danger_are_in_their_language(inside: Caf, tmp_path: Path, code: str) -> None:
    """Where there are none, English ones, marked for translation."""
    ended = inside("init", "desk", "--yes", "--language", code)
    assert ended.code == 0, ended.err
    bot = load_everything(tmp_path / "desk")
    code = {"German": "de", "nb": "no"}.get(code, code)
    assert bot.settings.fallback[""] == TEXTS.get(code, TEXTS["en"]).fallback
    assert ("Translate it" in (tmp_path / "desk" / "config.yaml").read_text()) == (code not in TEXTS)
    assert ended.out.count("source_fidelity and transparency stop 54 % of wrong replies") == 1


def test_the_contact_is_what_was_given(inside: Caf, tmp_path: Path) -> None:
    """Nothing is left to write then."""
    ended = inside("init", "desk", "--yes", "--contact", "Call Ann: 555 123, day and night.")
    assert ended.code == 0, ended.err
    contact = load_everything(tmp_path / "desk").settings.emergency.contact
    assert contact == {"": "Call Ann: 555 123, day and night."}
    assert PLACEHOLDER not in ended.out.partition("Next:")[0]


def test_documents_become_sections_at_once(inside: Caf, tmp_path: Path) -> None:
    """A file and a folder, as `caf kb import` reads them; one that cannot be read is told, and the command to try again is next."""
    (tmp_path / "a file.md").write_text("# Rent\n\nThe rent is due on Mondays.")
    (tmp_path / "leaflets").mkdir()
    (tmp_path / "leaflets" / "deposit.html").write_text("<h1>Deposits</h1><p>A deposit is at most three rents.</p>")
    (tmp_path / "leaflets" / ".hidden").write_text("x")
    said = ("--documents", "a file.md", "--documents", "leaflets", "--yes")
    ended = inside("init", "desk", *said)
    assert ended.code == 0, ended.out + ended.err
    assert "no problems in 1 chatbot, 3 sections" in ended.out
    assert "kb import" not in ended.out.split("\nNext:\n")[1]
    (tmp_path / "leaflets" / "broken.pdf").write_text("no PDF")
    ended = inside("init", "desk2", *said)
    assert ended.code == 1
    assert "broken.pdf" in ended.out
    assert f"kb import '{tmp_path / 'a file.md'}' {tmp_path}/leaflets/* --into knowledge_base" in ended.out
    load_everything(tmp_path / "desk2")


def test_without_the_libraries_that_read_documents_it_says_what_to_install(
    inside: Caf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is written then. Markdown needs none of them."""
    monkeypatch.setitem(LIBRARIES, "import", ("no_such_library",))
    (tmp_path / "a.md").write_text("# A\n\nText.")
    (tmp_path / "b.pdf").write_bytes(b"%PDF-1.4")
    ended = inside("init", "desk", "--yes", "--documents", "b.pdf")
    assert ended.code == 2
    assert f"the library no_such_library is not installed; install it with: {install_command('import')}" in ended.err
    assert not (tmp_path / "desk").exists()
    assert inside("init", "desk", "--yes", "--documents", "a.md").code == 0
    load_everything(tmp_path / "desk")


def test_a_folder_without_documents_is_refused(inside: Caf, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    ended = inside("init", "desk", "--yes", "--documents", "empty")
    assert (ended.code, "expected at least one file" in ended.err) == (2, True)


def test_every_setting_of_the_configuration_has_its_reason(inside: Caf, tmp_path: Path) -> None:
    """Each line that sets something ends with a comment, or stands in a block that begins with one."""
    inside("init", "desk", "--yes", "--provider", "azure", "--url", "https://us.openai.azure.com", "--model", "d")
    lines = (tmp_path / "desk" / "config.yaml").read_text().splitlines()
    bare = [line for line in lines if line and "#" not in line and not line.startswith("      ")]
    assert [line.split(":")[0].strip() for line in bare] == ["<<", "<<", "chatbots", "fallback", "emergency"]


def test_it_asks_at_a_terminal_and_asks_again_after_a_wrong_answer(tmp_path: Path, terminal: At) -> None:
    """From an empty folder to a first turn, by answers alone."""
    typist = terminal("init")
    answers = [
        ("Folder for the files", "my desk"), ("What is the chatbot called?", "Tenants' desk"),
        ("Purpose:", "Informs tenants about their rights"), ("Sensitive topics", "eviction, legal tactics"),
        ("Language", ""), ("or none [none]:", ""), ("Prompt file", ""), ("Name or number", "9"),
        ("unknown provider '9': expected one of openai", "none"),
        ("Emergency contact", "Call 112."), ("A file or folder", ""),
    ]  # fmt: skip
    for question, answer in answers:
        typist.wait_for(question)
        typist.type(f"{answer}\n")
    typist.wait_for("Next:")
    assert typist.end() == 0
    bot = load_everything(tmp_path / "my desk")
    assert (bot.name, [topic.name for topic in bot.settings.sensitive_topics]) == (
        "tenants-desk",
        ["eviction", "legal tactics"],
    )


def test_options_are_not_asked_for(tmp_path: Path, terminal: At) -> None:
    """With all of them given nothing is asked, though there is a terminal."""
    typist = terminal(
        "init", "desk", "--name", "a", "--about", "b", "--sensitive", "none", "--language", "en",
        "--endpoint", "none", "--prompt", "none", "--provider", "none", "--contact", "none", "--documents", "none",
    )  # fmt: skip
    typist.wait_for("Next:")
    assert typist.end() == 0


def test_ctrl_c_at_a_question_leaves_nothing(tmp_path: Path, terminal: At) -> None:
    """And no traceback."""
    typist = terminal("init", "desk")
    typist.wait_for("What is the chatbot called?")
    typist.type("a\n")
    typist.wait_for("Purpose:")
    typist.interrupt()
    typist.wait_for("stopped; nothing was written")
    assert typist.end() == 1
    assert "Traceback" not in typist.shown
    assert not [*tmp_path.iterdir()]


def test_ctrl_c_during_the_turn_keeps_the_files(tmp_path: Path, terminal: At) -> None:
    """A model that takes its time can be left waiting."""
    import socket

    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/v1"
        typist = terminal("init", "desk", "--yes", "--provider", "url", "--url", url, "--model", "m")
        typist.wait_for("you> ")
        typist.interrupt()
        typist.wait_for("Cancelled. All files were written.")
        typist.wait_for("Next:")
        assert typist.end() == 1
    assert "Traceback" not in typist.shown
    load_everything(tmp_path / "desk")


def test_what_is_listed_is_what_is_written(inside: Caf, tmp_path: Path) -> None:
    """Each file has its line, and there is no other."""
    assert inside("init", "desk", "--yes").code == 0
    answers = Answers("desk", "", (), "en", ModelPlace(PROVIDERS["none"]))
    assert files_in(tmp_path / "desk") == {*targets(answers)}
    assert yaml.safe_load((tmp_path / "desk" / "config.yaml").read_text())["chatbots"]["desk"]["judges"][-1] == {
        "python": "desk_rules:NoGuarantees"
    }
