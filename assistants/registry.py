"""The assistants that `engine: assistant` finds by name: the built-in ones, and those that other packages register.

A package registers its own by an entry point: `[project.entry-points."caf.assistants"]`, `NAME = "module:open_assistant"`.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from importlib import import_module
from importlib.metadata import entry_points

from assistants.assistant import Assistant
from assistants.engine import AssistantEngine
from models.client import EngineFactory
from models.errors import ModelSettingsError
from models.extras import install_command
from models.settings import ModelSettings

GROUP = "caf.assistants"
OURS: Mapping[str, str] = {
    "embedded": "assistants.embedded:open_assistant",
    "gesundheit": "assistants.gesundheit.assistant:open_assistant",
    "health": "assistants.health.assistant:open_assistant",
    "hippocrates": "assistants.hippocrates.assistant:open_assistant",
}
"""The function that opens each assistant, as `module:function`."""
_EXTRAS = {"gesundheit": "encoder"}
"""Extras whose name differs from that of the assistant."""
OpenAssistant = Callable[[ModelSettings], Assistant]
"""Opens an assistant by the settings of its alias, whose `options` are its own. Raises ModelSettingsError."""


def open_embedded_engine(settings: ModelSettings | None = None) -> AssistantEngine:
    """Open the engine `embedded`: a stand-in that needs no model. It ignores the settings of the alias."""
    from assistants.embedded import Embedded  # most proxies stand in front of another chatbot

    return AssistantEngine(Embedded(), settings)


def open_assistant_engine(settings: ModelSettings) -> AssistantEngine:
    """Open the engine of an alias with `engine: assistant`.

    Raises:
        ModelSettingsError: The assistant is unknown, a package that it needs is missing, or its options are invalid.
    """
    name = settings.name or ""
    if name in OURS:
        opened = _load(name)
    elif registered := [*entry_points(group=GROUP, name=name)]:
        opened = registered[0].load()
    else:
        names = ", ".join(sorted({*OURS, *(point.name for point in entry_points(group=GROUP))}))
        raise ModelSettingsError(f"unknown assistant {name!r} (expected one of: {names})")
    return AssistantEngine(opened(settings), settings)


async def erase_kept(aliases: Iterable[ModelSettings], conversation_ids: Collection[str] | None) -> int:
    """Delete what assistants keep of conversations in files, without a proxy; return the number of entries.

    Args:
        aliases: Settings of aliases. Each assistant is opened, asked to erase, and closed.
        conversation_ids: None: all conversations.

    Raises:
        ModelSettingsError: An assistant cannot be opened.
        ModelError: Something may still be there.
    """
    erased = 0
    for settings in aliases:
        if settings.engine == "assistant":
            engine = open_assistant_engine(settings)
            try:
                erased += await engine.erase(conversation_ids)
            finally:
                await engine.close()
    return erased


def _load(name: str) -> OpenAssistant:
    module, _, function = OURS[name].partition(":")
    try:
        opened: OpenAssistant = getattr(import_module(module), function)
    except ModuleNotFoundError as error:
        raise ModelSettingsError(
            f"the assistant {name!r} needs {error.name}, which is not installed: {install_command(_EXTRAS.get(name, name))}"
        ) from None
    return opened


ENGINES: Mapping[str, EngineFactory] = {"embedded": open_embedded_engine, "assistant": open_assistant_engine}
"""The engines of this package, for the argument `extra` of `open_models`."""
