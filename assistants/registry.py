"""Finds assistants by name for aliases with `engine: assistant`: the built-in ones, and those of other packages.

To register an assistant, declare an entry point: `[project.entry-points."caf.assistants"]`, `NAME = "module:open_assistant"`.
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
"""The built-in assistants: by name, the function that opens the assistant, as `module:function`."""
_EXTRAS = {"gesundheit": "encoder"}
"""By assistant, the name of the package extra that it needs, if the two names differ."""
OpenAssistant = Callable[[ModelSettings], Assistant]
"""Opens an assistant with the settings of its alias. The assistant defines the `options`. Raises ModelSettingsError."""


def open_embedded_engine(settings: ModelSettings | None = None) -> AssistantEngine:
    """Open the engine of the embedded chatbot, which needs no model. It ignores the settings of the alias."""
    from assistants.embedded import Embedded  # imported here, because most proxies use another chatbot

    return AssistantEngine(Embedded(), settings)


def open_assistant_engine(settings: ModelSettings) -> AssistantEngine:
    """Open the engine of an alias with `engine: assistant`.

    Raises:
        ModelSettingsError: The assistant is unknown, a required package is not installed, or an option is invalid.
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
    """Delete the data of conversations that assistants store in files, while no proxy runs. Return the number of deleted entries.

    Args:
        aliases: Settings of the aliases whose assistants delete their data. Aliases of other engines are skipped.
        conversation_ids: The conversations to delete; None for all.

    Raises:
        ModelSettingsError: An assistant cannot be opened.
        ModelError: Some data may not have been deleted.
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
"""The engines of this package, by name. Pass them to `open_models` as `extra`."""
