"""What config.yaml says of the assistant, read once when the proxy starts, and what it answers from."""

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
    """Whether sentences are compared by their meaning, too (extra `encoder`); `auto`: if it is installed."""


@dataclass(frozen=True)
class Sources:
    """What the assistant answers from."""

    pairs: Sequence[Pair]
    taxonomy: Taxonomy
    documents: Mapping[str, Source]
    weights: Weights
    encode: Encode | None


def open_sources(settings: ModelSettings) -> tuple[Sources, Language]:
    """Read what the options name.

    Raises:
        ModelSettingsError: an option is wrong, or what it names cannot be used.
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
                    "encoder: it is not installed; run `make gesundheit`, or set `encoder: off`"
                ) from None
    try:
        taxonomy = load_taxonomy(folder)
        pairs = load_pairs(folder)
        if not any(pair.served for pair in pairs):
            raise PairsError(f"{folder}: holds no pair that may be served; build some (caf kb build) or review them")
        documents = load(folder, language=taxonomy.language)
        language = load_language(taxonomy.language)
    except (PairsError, KnowledgeBaseError) as error:
        raise ModelSettingsError(f"knowledge_base: {error}") from error
    except FileNotFoundError:
        raise ModelSettingsError(
            f"knowledge_base: {folder}: the assistant does not speak {taxonomy.language}"
        ) from None
    return Sources(pairs, taxonomy, documents, load_weights(encode is not None), encode), language


def load_weights(with_encoder: bool) -> Weights:
    """Return the fitted weights: thresholds and weights with an encoder are others than without."""
    return Weights(**load_json(WEIGHTS.read_text(encoding="utf-8"))["with_encoder" if with_encoder else "lexical"])
