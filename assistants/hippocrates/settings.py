"""What config.yaml says of the assistant: its options, read and checked once, when the proxy starts."""

import os
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from assistants.hippocrates.catalogue import Catalogue
from assistants.hippocrates.cdm import CdmError, check_cdm
from assistants.hippocrates.demo import demo_catalogue, demo_vocabulary, eunomia_path
from assistants.hippocrates.tables import DataError
from assistants.hippocrates.vocabulary import Vocabulary
from assistants.hippocrates.webapi import WebApi
from models.errors import ModelSettingsError
from models.settings import ModelSettings


class Options(BaseModel):
    """The options of the alias. Paths are absolute, or relative to where the proxy is started."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    catalogue: Path | None = None
    """A folder of CSV files or a DuckDB file; left out, demo data."""
    vocabulary: Path | None = None
    """A CDM in a DuckDB file, or an Athena export; left out, that of `cdm`."""
    cdm: Path | None = None
    """A CDM in a DuckDB file, on which cohorts are counted; left out, Eunomia's, which is demo data."""
    webapi: str | None = None
    """Where OHDSI WebAPI is, such as http://127.0.0.1:8080/WebAPI; left out, sending is not offered."""
    webapi_token_env: str | None = None
    """The environment variable that holds its token."""
    webapi_timeout_s: float = Field(30.0, gt=0)
    """For each of its requests."""

    @field_validator("webapi")
    @classmethod
    def _address(cls, value: str | None) -> str | None:
        parts = urlsplit(value or "http://localhost")
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("must be an http(s) address, such as http://127.0.0.1:8080/WebAPI")
        if parts.username or parts.password:
            raise ValueError(
                "must not hold a user or password; name the token's environment variable in webapi_token_env"
            )
        if parts.query or parts.fragment:
            raise ValueError("must end with the path; name a token's environment variable in webapi_token_env")
        return value


@dataclass(frozen=True)
class Sources:
    """What the assistant answers from."""

    catalogue: Catalogue
    vocabulary: Vocabulary
    cdm: Path
    cdm_is_demo: bool
    webapi: WebApi | None


def open_sources(settings: ModelSettings) -> Sources:
    """Read what the options name.

    Raises:
        ModelSettingsError: An option is wrong, or what it names cannot be used; the message says which one and what to do.
    """
    try:
        options = Options.model_validate(settings.options)
    except ValidationError as error:
        problems = "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors())
        raise ModelSettingsError(problems) from None
    option = "cdm"
    try:
        cdm = options.cdm or eunomia_path()
        check_cdm(cdm)
        option = "vocabulary"
        path = options.vocabulary or options.cdm
        vocabulary = Vocabulary.open(path) if path else demo_vocabulary()
        option = "catalogue"
        catalogue = Catalogue.read(options.catalogue) if options.catalogue else demo_catalogue()
    except (DataError, CdmError) as error:
        raise ModelSettingsError(f"{option}: {error}") from error
    return Sources(catalogue, vocabulary, cdm, options.cdm is None, _webapi(options))


def _webapi(options: Options) -> WebApi | None:
    if options.webapi is None:
        return None
    token = ""
    if options.webapi_token_env is not None:
        token = os.environ.get(options.webapi_token_env, "")
        if not token:
            raise ModelSettingsError(
                f"webapi_token_env: the environment variable {options.webapi_token_env} is not set; put the token there"
            )
    return WebApi(options.webapi, token, options.webapi_timeout_s)
