"""Renders a stored turn as readable lines, in chronological order, for `caf trace show`. Pure."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

from proxy.traces.trace import HOW_FOUND, OLDER

Line = tuple[int, str, str]
"""Indentation in characters, style of rich, text."""

HOW_RECOGNISED = {
    "fresh": "a new conversation",
    "history": "continued, recognised by its history",
    "pair": "continued, recognised by one of its last exchanges, because the client trims its history",
    "explicit": "continued, recognised by the id from the client",
    "missed": "not recognised: the client sent earlier replies that are not stored here",
}
"""How the turn was assigned to its conversation, by `Trace.memory`."""
PICKERS = {"model": "the selection model", "lexical": "the word search", "chatbot": "the chatbot"}
"""What selected a source, by `SelectedSource.by`."""
STAGES = {"local": "local rules", "swift": "swift model", "chief": "chief model"}
"""What a stage of a judge asks."""
MODES = {"source": "against the cited sources", "default": "for statements without a source"}
"""How the judges reviewed a reply, by `Attempt.modes`."""
VERDICT_STYLE = {"accept": "green", "warn": "yellow", "reject": "red", "unjudged": "magenta"}


def story(trace: dict[str, Any]) -> Iterator[Line]:
    """Yield the lines of one turn.

    Args:
        trace: The result of `proxy.traces.query.show`, with people's labels under `labels`.
    """
    trace = OLDER | trace
    started = datetime.fromtimestamp(trace["started"])
    yield 0, "bold", f"Turn {trace['turn_id']}"
    yield 0, "", f"{started:%Y-%m-%d %H:%M:%S}, {trace['ms']:.1f} ms, {_describe_ending(trace)}"
    yield 0, "", f"chatbot {trace['chatbot']}, filter {trace['filter']}"
    recognition = HOW_RECOGNISED.get(trace["memory"], trace["memory"])
    yield 0, "", f"turn {trace['turn']} of conversation {trace['conversation_id']} ({recognition})"
    yield from _part("User", [(2, "", trace["user_message"])])
    yield from _part("Emergency judge", [line for one in trace["emergency"] for line in _judgement(one)])
    if trace["concern"]:
        yield from _part("Concern", [(2, "yellow", f"{trace['concern']}: the reply ends with the emergency contact")])
    yield from _part("Sources", _sources(trace))
    yield from _part("Evidence", map(_evidence, trace["evidence"]))
    yield from _part("Documents", [line for one in trace["documents"] for line in _document(one)])
    yield from _part("Warnings shown to the chatbot", map(_warning, trace["warnings_shown"]))
    notes = ((2, "", f"{note['step']}: {note['detail']}") for note in trace["notes"])
    yield from _part("Assistant steps", notes)
    for attempt in trace["attempts"]:
        yield from _attempt(attempt, several=len(trace["replies"]) > 1)
    dropped = ((2, "yellow", f"{call['name'] or '(no name)'}: {call['why']}") for call in trace["dropped_calls"])
    yield from _part("Tool calls not delivered", dropped)
    if trace["invisible_removed"]:
        yield from _part("Invisible characters removed", [(2, "yellow", str(trace["invisible_removed"]))])
    for number, reply in enumerate(trace["replies"]):
        choice_text = f" as choice {number}" if len(trace["replies"]) > 1 else ""
        yield from _part(f"Delivered{choice_text}", [(2, "", "(no text)" if reply is None else reply)])
    yield from _part("Warnings added for later turns", map(_warning, trace["warnings_added"]))
    yield from _part("Model calls", map(_call, trace["calls"]))
    yield from _part("Labels by people", map(_label, trace.get("labels", [])))


def _part(title: str, lines: Iterable[Line]) -> Iterator[Line]:
    body = list(lines)
    if body:
        yield 0, "", ""
        yield 0, "bold", title
        yield from body


def _describe_ending(trace: dict[str, Any]) -> str:
    tools = f", {trace['tool_calls']} tool calls" if trace["tool_calls"] else ""
    would = f" (with the filter: {trace['would']})" if trace["would"] else ""
    return f"ended with the error {trace['error']}" if trace["error"] else f"outcome {trace['outcome']}{would}{tools}"


def _sources(trace: dict[str, Any]) -> Iterator[Line]:
    for source in trace["selected"]:
        reason = f": {source['reason']}" if source["reason"] else ""
        yield 2, "", f"+ {source['id']}, chosen by {PICKERS.get(source['by'], source['by'])}{reason}"
    if trace["selection_note"]:
        yield 2, "", f"note: {trace['selection_note']}"
    if trace["invalid_ids"]:
        yield 2, "yellow", f"dropped ids that do not exist: {trace['invalid_ids']}"
    if trace["sources_in_use"]:
        yield 2, "", f"sent to the chatbot: {', '.join(trace['sources_in_use'])}"


def _evidence(section: dict[str, Any]) -> Line:
    """Return the line of a section that the judges compared replies with: its id, and how it was found."""
    reason = f" ({section['reason']})" if section["reason"] else ""
    return 2, "", f"{section['id']}: {HOW_FOUND.get(section['by'], section['by'])}{reason}"


def _document(document: dict[str, Any]) -> Iterator[Line]:
    """Yield the lines of a document: its origin and its text."""
    choice = "" if document["choice"] is None else f" of choice {document['choice']}"
    origin = f"from the model{choice}" if document["trusted"] else "from the client"
    yield 2, "", f"{document['id']}: {document['title']} ({origin})"
    yield 4, "dim", document["text"]


def _warning(warning: dict[str, Any]) -> Line:
    turns = f"caused in turn {warning['turn']}, shown until turn {warning['expires']}"
    return 2, "", f"{warning['rule']} ({turns}): {warning['message']}"


def _label(label: dict[str, Any]) -> Line:
    choice = f" on choice {label['choice']}" if label["choice"] else ""
    note = f": {label['note']}" if label["note"] else ""
    date = f"{datetime.fromtimestamp(label['labelled']):%Y-%m-%d %H:%M}"
    return 2, VERDICT_STYLE[label["verdict"]], f"{label['judge']}{choice} should be {label['verdict']} ({date}){note}"


def _attempt(attempt: dict[str, Any], several: bool) -> Iterator[Line]:
    choice_text = f" of choice {attempt['choice']}" if several else ""
    yield 0, "", ""
    yield 0, "bold", f"{attempt['kind'].replace('_', ' ').capitalize()}{choice_text}, at {attempt['at_ms']:.1f} ms"
    yield 2, "", attempt["text"]
    citations = ", ".join(attempt["citations"]) or "none"
    modes = " and ".join(MODES.get(mode, mode) for mode in attempt["modes"])
    yield 2, "dim", f"citations: {citations}" + (f"; reviewed {modes}" if modes else "")
    for problem in attempt["problems"]:
        yield 2, "yellow", f"hard check: {problem}"
    observations: list[tuple[str, Any]] = []
    for judgement in attempt["judgements"]:
        same = next((judge for judge, observation in observations if observation == judgement["observation"]), None)
        yield from _judgement(judgement, same)
        if judgement["observation"] is not None:
            observations.append((_judge_name(judgement), judgement["observation"]))


def _judgement(judgement: dict[str, Any], same: str | None = None) -> Iterator[Line]:
    """Yield the lines of one judgement.

    Args:
        same: Name of an earlier judge with the same observation, which is then not repeated.
    """
    score = "" if judgement["score"] is None else f", score {judgement['score']:.2f}"
    rule = f", rule {judgement['rule']}" if judgement["rule"] else ""
    style = VERDICT_STYLE.get(judgement["verdict"], "")
    yield (
        2,
        style,
        f"{_judge_name(judgement)}: {judgement['verdict']}{rule}{score}, {judgement['ms']:.1f} ms",
    )
    if judgement["reason"]:
        yield 4, "", f"because {judgement['reason']}"
    if judgement["observation"] is not None and same:
        yield 4, "dim", f"same observation as {same}"
    elif judgement["observation"] is not None:
        yield from _observation(judgement["observation"])
    exchange = judgement["exchange"]
    if exchange is not None:
        yield 4, "dim", f"model {exchange['model']}, prompt {exchange['prompt_hash'][:12]}; --json shows the answer"


def _judge_name(judgement: dict[str, Any]) -> str:
    """Return the judge's name and its stage. A judge in Python calls no model, so its stage is left out."""
    name, stage = judgement["judge"], judgement["stage"]
    if stage != "local" and judgement["exchange"] is None:  # a judge in Python, or a model that gave no answer
        return f"{name} ({stage})" if judgement["verdict"] == "unjudged" else name
    return f"{name} ({STAGES[stage]})"


def _observation(observation: dict[str, Any]) -> Iterator[Line]:
    """Yield the lines of an observation: an assertion each, and the other fields by name."""
    for name, value in observation.items():
        if name == "assertions":
            for assertion in value:
                yield from _assertion(assertion)
        elif isinstance(value, list):
            for entry in value:
                yield 4, "dim", f"{name.replace('_', ' ')}: {_fields(entry)}"
            if not value:
                yield 4, "dim", f"{name.replace('_', ' ')}: none"
        else:
            yield 4, "dim", f"{name.replace('_', ' ')}: {value}"


def _fields(entry: Any) -> str:
    if not isinstance(entry, dict):
        return str(entry)
    quote = f"“{entry['quote']}” " if entry.get("quote") else ""
    return quote + ", ".join(f"{key} {value}" for key, value in entry.items() if key != "quote" and value is not None)


def _assertion(assertion: dict[str, Any]) -> Iterator[Line]:
    where = f" in {assertion['source_id']}" if assertion.get("source_id") else ""
    topic = f", on {assertion['topic']}" if assertion.get("topic") else ""
    yield 4, "dim", f"- {assertion['support']}{where}{topic}: {assertion['text']}"
    if assertion.get("quote") and assertion["quote"] != assertion["text"]:
        yield 6, "dim", f"source: “{assertion['quote']}”"


def _call(call: dict[str, Any]) -> Line:
    usage = call["usage"]
    about = "about " if usage["estimated"] else ""
    cost = "" if call["cost"] is None else f", cost {call['cost']:.6f}"
    tries = f", {call['attempts']} tries" if call["attempts"] > 1 else ""
    error = f", failed: {call.get('cause') or call['error']}" if call["error"] else ""  # older traces lack the cause
    tokens = f"{about}{usage['prompt_tokens']} tokens in, {usage['completion_tokens']} out"
    thoughts = ", reasoning removed from the answer (see --json)" if call.get("thoughts") else ""
    return 2, "", f"{call['step']} ({call['alias']}): {call['ms']:.1f} ms, {tokens}{cost}{tries}{error}{thoughts}"
