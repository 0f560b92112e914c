"""Who can reach a proxy by its configuration: this machine alone, or whoever has a key."""

import os
from collections.abc import Mapping

from proxy.config.config import Config, ConfigError
from proxy.tenants.keys import KeyFileError, KeyRing
from proxy.tenants.loopback import is_loopback


def key_ring(config: Config, environ: Mapping[str, str] = os.environ) -> KeyRing | None:
    """Open the keys of a configuration; None: it has none.

    Raises:
        ConfigError: They cannot be read, or are missing where strangers can connect.
    """
    settings = config.keys
    if settings is None:
        if not is_loopback(config.server.host):
            raise ConfigError(
                [
                    f"server.host: {config.server.host!r} is no loopback address, and there are no `keys`: anybody could ask. Run "
                    "`caf key create NAME`, and set keys: {file: data/keys.json}"
                ]
            )
        return None
    if settings.env is not None and settings.env not in environ:
        raise ConfigError(
            [f"keys.env: the environment variable {settings.env!r} is not set; export it before starting"]
        )
    try:
        return KeyRing(settings.file, None if settings.env is None else environ[settings.env])
    except KeyFileError as error:
        raise ConfigError([f"keys: {error}"]) from None
