"""The demo data that stand in for what the options leave out."""

from assistants.hippocrates.discovery import find_databases
from assistants.hippocrates.query import Query, resolve
from assistants.hippocrates.settings import NOTICE, open_sources
from models.settings import ModelSettings


def test_demo_catalogue_says_what_it_is() -> None:
    """In its notice, in every name, and in the documents of a search."""
    sources = open_sources(ModelSettings(engine="assistant", name="hippocrates"))
    catalogue, vocabulary = sources.catalogue, sources.vocabulary
    found = find_databases(catalogue, vocabulary, resolve(Query(concepts=(("sinusitis",),)), vocabulary, catalogue))
    assert found.warnings == ()
    assert all("(simulated)" in match.database.name for match in found.matches)
    assert NOTICE in found.documents()[0].text
