"""Measures how often judges see the right sections: with retrieval by the question alone, and by question and draft.

python -m bench.evidence

The authors of the replies saw no code.
"""

from collections.abc import Iterator
from pathlib import Path

from bench.figures import write_table
from bench.processes import ROOT
from knowledge_base.library import Library, Source, load
from knowledge_base.retrieval_eval import RetrievalCase, evaluate
from models.unique_keys import load_json
from scenarios import scenario_files

BUDGET = 3_000
DESKS = ROOT / "judges" / "evaluation" / "training" / "talk" / "desks"
SHIPPED = ROOT / "knowledge_base" / "schizophrenia"
COLUMNS = ("replies", "all in view", "sections", "tokens")


def main() -> None:
    """Print a table for each library and set of replies."""
    desks, desk_cases = read_desks()
    shipped, scenarios = read_scenarios()
    joined = Library([*desks, *shipped])
    sets = {
        f"five desks joined, {len(desks)} sections": (Library(desks), desk_cases),
        f"all joined, {len(joined)} sections: scenarios": (joined, scenarios),
        "... that rest on several sections": (joined, [one for one in scenarios if len(one.sections) > 1]),
        "... that follow an exchange": (joined, [one for one in scenarios if one.before]),
    }
    for name, (library, cases) in sets.items():
        rows = {
            one.by: [len(one.retrieved), round(one.all_in_view, 3), round(one.mean_sections, 1), round(one.mean_tokens)]
            for one in evaluate(library, cases, BUDGET)
        }
        print("\n" + write_table(name, COLUMNS, rows))


def read_desks() -> tuple[list[Source], list[RetrievalCase]]:
    """Return the sections of the desks, and a retrieval case for each correct reply that cites some of them."""
    sources: list[Source] = []
    cases: list[RetrievalCase] = []
    for desk in sorted(DESKS.iterdir()):
        sources += [
            Source(f"{desk.name}-{one['id']}", one["title"], one["summary"], one["text"])
            for one in _lines(desk / "sections.jsonl")
        ]
        cases += [
            RetrievalCase(one["question"], tuple(f"{desk.name}-{id}" for id in one["cites"]), one["reply"])
            for one in _lines(desk / "cases.jsonl")
            if one["good"] and one["cites"]
        ]
    return sources, cases


def read_scenarios() -> tuple[list[Source], list[RetrievalCase]]:
    """Return the sections that the judges' scenarios cite, and a retrieval case for each reply that its sources support."""
    libraries = {SHIPPED: load(SHIPPED)}
    cases = []
    for file in scenario_files.load_all([ROOT / "scenarios" / "judges"]):
        folder = file.family.knowledge_base or SHIPPED
        library = libraries.setdefault(folder, load(folder))
        for one in file.family.scenarios:
            if one.expect.get("source_fidelity") == {"accept"} and one.citations and one.response and not one.sources:
                before = "\n".join(message.content for message in one.history[-2:])
                ids = tuple(_joined_id(folder, id) for id in one.citations if id in library)
                cases.append(RetrievalCase(one.user_message, ids, one.response, before))
    sources = [
        Source(_joined_id(folder, one.id), one.title, one.summary, one.text)
        for folder, library in libraries.items()
        for one in library.sources
    ]
    return sources, cases


def _joined_id(folder: Path, id: str) -> str:
    return f"{folder.name}-{id}"


def _lines(path: Path) -> Iterator[dict]:
    return map(load_json, path.read_text(encoding="utf-8").splitlines())


if __name__ == "__main__":
    main()
