"""The options, and the demo data that stand in for what they leave out."""

import pytest

from assistants.hippocrates.discovery import find_databases
from assistants.hippocrates.query import Query, resolve
from assistants.hippocrates.settings import NOTICE, open_sources
from models.errors import ModelSettingsError
from models.settings import ModelSettings


def test_demo_catalogue_says_what_it_is() -> None:
    """In its notice, in every name, and in the documents of a search."""
    sources = open_sources(ModelSettings(engine="assistant", name="hippocrates"))
    catalogue, vocabulary = sources.catalogue, sources.vocabulary
    found = find_databases(catalogue, vocabulary, resolve(Query(concepts=(("sinusitis",),)), vocabulary, catalogue))
    assert found.warnings == ()
    assert all("(simulated)" in match.database.name for match in found.matches)
    assert NOTICE in found.documents()[0].text


def test_a_misspelt_option_is_told_with_those_that_there_are() -> None:
    """So that nobody has to look them up."""
    told = r"catalog: .* \(expected options: catalogue, vocabulary, cdm, webapi, webapi_token_env, webapi_timeout_s\)"
    with pytest.raises(ModelSettingsError, match=told):
        open_sources(ModelSettings(engine="assistant", name="hippocrates", options={"catalog": "x"}))
