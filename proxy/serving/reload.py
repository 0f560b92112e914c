"""Reloads the configuration on SIGHUP without interrupting the service."""

import asyncio
from pathlib import Path

import structlog

from models.errors import ModelSettingsError
from proxy.api.service import SERVICE
from proxy.app import create_app
from proxy.config.config import Config, ConfigError, load_config
from proxy.serving.connections import limits_of
from proxy.serving.front import Front
from proxy.serving.unsafe_settings import check_texts, unsafe_settings
from proxy.serving.workers import check, is_worker

log = structlog.get_logger()


async def reload_on(requested: asyncio.Event, front: Front, path: Path) -> None:
    """Reload the configuration each time the event is set."""
    while True:
        await requested.wait()
        requested.clear()
        await reload(front, path)


async def reload(front: Front, path: Path) -> bool:
    """Read the configuration file again and serve with it. If it is invalid, log its problems and keep the old one.

    Returns:
        Whether the new configuration is in use.
    """
    served = front.app[SERVICE].config
    try:
        # In a thread: reading prompts and knowledge bases would block the event loop noticeably.
        config = await asyncio.to_thread(_load_checked, path, served)
        await front.switch_to(await asyncio.to_thread(create_app, config, after=front.app))
    except (ConfigError, ModelSettingsError) as error:
        problems = error.problems if isinstance(error, ConfigError) else [str(error)]
        log.error("configuration refused, the old one serves on", path=str(path), problems=problems)
        return False
    except Exception as error:  # no failure of a reload may affect running requests
        log.exception("configuration refused, the old one serves on", path=str(path), error=type(error).__name__)
        return False
    not_safe = list(unsafe_settings(config, front.app[SERVICE].keys))
    log.warning(
        "configuration reloaded",
        path=str(path),
        chatbots=list(config.chatbots),
        not_safe=not_safe,
        ignored=config.ignored,
    )
    return True


def _load_checked(path: Path, served: Config) -> Config:
    config = load_config(path)
    # The bound address cannot change, so the checks below use it instead of the one in the file.
    address = {"host": served.server.host, "port": served.server.port}
    if is_worker():
        check(config, 2)
    limits_of(config.server)
    config = config.model_copy(update={"server": config.server.model_copy(update=address)})
    check_texts(config)
    return config
