"""The options of the assistant in config.yaml, and the sources of its answers. Read once when the proxy starts."""

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

KNOWLEDGE_BASE = Path(__file__).parents[2] / "knowledge_base" / "gesundheit"
WEIGHTS = Path(__file__).parent / "weights.json"


class Options(BaseModel):
    """The options of the alias."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    knowledge_base: Path = KNOWLEDGE_BASE
    """A folder with sections, `taxonomy.yaml` and `pairs.jsonl`."""
    encoder: Literal["auto", "on", "off"] = "auto"
    """Whether to compare sentences also by meaning, with the extra `encoder`. `auto`: if it is installed."""


@dataclass(frozen=True)
class Sources:
    """The sources of answers, and the settings of the matcher."""

    pairs: Sequence[Pair]
    taxonomy: Taxonomy
    documents: Mapping[str, Source]
    weights: Weights
    encode: Encode | None


def open_sources(settings: ModelSettings) -> tuple[Sources, Language]:
    """Load the sources and the language file.

    Raises:
        ModelSettingsError: an option is invalid, or its file or package cannot be used.
    """
    try:
        options = Options.model_validate(settings.options)
    except ValidationError as error:
        first = error.errors()[0]
        raise ModelSettingsError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from None
    folder, encode = options.knowledge_base, None
    if options.encoder != "off":
        try:
            encode = load_encoder()
        except ModuleNotFoundError:
            if options.encoder == "on":
                raise ModelSettingsError(
                    "encoder: 'on': the extra `encoder` is not installed; run `make gesundheit`, or set `encoder: off`"
                ) from None
    try:
        taxonomy = load_taxonomy(folder)
        pairs = load_pairs(folder)
        if not any(pair.served for pair in pairs):
            raise PairsError(
                f"{folder}: expected at least one pair to serve; build pairs (caf kb build) or review them"
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
    """Return the fitted weights and thresholds. Those with an encoder differ from those without."""
    return Weights(**load_json(WEIGHTS.read_text(encoding="utf-8"))["with_encoder" if with_encoder else "lexical"])
