"""Runs an import: reads documents, divides them into sections, and writes the files that the plan contains."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from knowledge_base.building.document import DocumentError
from knowledge_base.building.plan import Plan
from knowledge_base.building.reading import read_document
from knowledge_base.building.section_file import document_of, parse_section, render_section
from knowledge_base.building.sections import Section, build_sections
from knowledge_base.building.slug import document_slug, slug


@dataclass(slots=True)
class ReadDocuments:
    """Result of reading documents for an import: their sections, notes and problems."""

    sections: list[Section] = field(default_factory=list)
    beginnings: dict[str, str] = field(default_factory=dict)
    """By document name, the common beginning of the ids of its sections."""
    notes: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def read_documents(
    paths: Sequence[Path],
    files: Mapping[str, str],
    *,
    prefix: str = "",
    leave_out: Sequence[str] = (),
    done: Callable[[Path], None] = lambda path: None,
) -> ReadDocuments:
    """Read documents and divide them into sections. An unreadable document is reported in `problems`.

    Args:
        paths: the documents.
        files: texts of the existing sections in the target folder, by id. Their ids stay reserved for their documents.
        prefix: text to put before all section ids.
        leave_out: CSS selectors of elements to omit from HTML, besides navigation.
        done: callback after each document.
    """
    read = ReadDocuments()
    owners = {one: document_of(parsed[0]) for one, text in files.items() if (parsed := parse_section(text))}
    origins: dict[str, Path] = {}
    for path in {path.resolve(): path for path in paths}.values():
        beginning = document_slug(path.stem, prefix)
        if (other := origins.setdefault(beginning, path)) is not path:
            read.problems.append(
                f"{path}: its sections would have the same ids as those of {other}; import it alone, with a different --prefix"
            )
            continue
        try:
            document = read_document(path, leave_out)
        except DocumentError as error:
            read.problems.append(f"{path}: {error}")
        else:
            name = path.name.replace("#", "-")  # `source` separates document and heading with #
            taken_ids = {section.id for section in read.sections}
            # A section of the same document in another format must clash, not get a new id.
            taken_ids |= {one for one, owner in owners.items() if owner and slug(Path(owner).stem) != slug(path.stem)}
            read.sections += build_sections(document, name, prefix=prefix, taken_ids=taken_ids)
            read.beginnings[name] = beginning
            read.notes += [f"{path}: {note}" for note in document.notes]
        done(path)
    return read


def read_files(folder: Path) -> dict[str, str]:
    """Return the texts of a folder's `.md` files, except README.md, by name without `.md`. For a missing folder, return {}."""
    return {
        path.stem: path.read_bytes().decode(errors="replace")
        for path in sorted(folder.glob("*.md"))
        if path.name.lower() != "readme.md"
    }


def write_sections(plan: Plan, summaries: Mapping[str, tuple[str, str]], folder: Path) -> None:
    """Write the files of the sections that a plan adds or replaces.

    Args:
        plan: the decisions of the import.
        summaries: by section id, the summary and its author (`extracted` or a model alias). Other sections are not written.
        folder: the knowledge base. It is created if it does not exist.

    Raises:
        OSError: a file cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for decision in plan.having("add", "replace"):
        if decision.section is None or decision.id not in summaries:
            continue
        path = folder / f"{decision.id}.md"
        text = render_section(decision.section, *summaries[decision.id])
        if decision.step == "add":
            with path.open("x", encoding="utf-8", newline="\n") as file:
                file.write(text)
        else:
            new = path.with_suffix(".md.new")  # replaced atomically, because the proxy may be reading the folder
            new.write_text(text, encoding="utf-8", newline="\n")
            new.replace(path)


def delete_sections(plan: Plan, folder: Path) -> None:
    """Delete the files of the sections that a plan deletes, because their documents no longer contain them."""
    for decision in plan.having("delete"):
        (folder / f"{decision.id}.md").unlink(missing_ok=True)
