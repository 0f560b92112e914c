"""`caf serve`: starts the proxy and serves it until a signal stops it."""

import asyncio
import gc
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import structlog
import typer

from cli.terminal import USAGE, ConfigOption, config_path, leave, plain_errors, printable
from models.errors import ModelSettingsError
from proxy.auth.key_ring import KeyRing, open_key_ring
from proxy.auth.loopback import is_loopback
from proxy.config.config import Config, ConfigError, load_config, parse_config
from proxy.config.local_judges import describe_local_judges
from proxy.serving import workers as processes
from proxy.serving.connections import limits_of
from proxy.serving.unsafe_settings import check_texts, unsafe_settings
from proxy.telemetry.library_logs import redact_libraries
from proxy.telemetry.logs import configure_logs
from proxy.telemetry.worker_metrics import shared_folder
from proxy.traces.backend import trace_backend, trace_detail

if TYPE_CHECKING:
    from cli.upstream import Upstream


LOG_LEVELS = ("debug", "info", "warning", "error")
MAX_PORT = 65535


def _parse_port(text: str) -> int:
    """Parse a port. The error names the environment variable if the text comes from it."""
    if text.isdecimal() and int(text) <= MAX_PORT:
        return int(text)
    from_environment = os.environ.get("CAF_PORT") == text
    raise typer.BadParameter(
        f"{text!r}: expected a port number from 0 to {MAX_PORT}",
        param_hint="the environment variable CAF_PORT" if from_environment else "--port",
    )


def serve(
    config: ConfigOption = None,
    host: Annotated[
        str | None,
        typer.Option(envvar="CAF_HOST", help="Address to listen on. Default: server.host of the configuration."),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(
            envvar="CAF_PORT",
            parser=_parse_port,
            metavar="PORT",
            help="Port from 0 to 65535; 0 selects a free one. Default: server.port of the configuration.",
        ),
    ] = None,
    upstream: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Base URL of an OpenAI-compatible server. Filters its chatbot, without a configuration file. The API key of the "
            "server is read from CAF_UPSTREAM_KEY; for api.openai.com, also from OPENAI_API_KEY.",
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="With --upstream: name of the model. Default: the only model that the server lists."
        ),
    ] = None,
    print_config: Annotated[
        bool, typer.Option("--print-config", help="With --upstream: print the configuration as YAML and exit.")
    ] = False,
    log_level: Annotated[
        str, typer.Option(metavar="LEVEL", help="Lowest level of log lines to write: debug, info, warning or error.")
    ] = "info",
    workers: Annotated[
        int,
        typer.Option(
            min=1,
            max=256,
            help="Number of processes that share the port. More than one requires `memory: {store: redis}`.",
        ),
    ] = 1,
) -> None:
    """Serve the chatbots to OpenAI clients.

    \b
    Examples:
      caf serve
      caf serve --config clinic.yaml --port 9000
      caf serve --upstream http://127.0.0.1:11434/v1 --model llama3.1
      caf serve --upstream http://127.0.0.1:9000/v1 --print-config > config.yaml
      curl http://127.0.0.1:8080/v1/models

    \b
    SIGTERM, Ctrl-C   open turns get server.grace_s seconds to end
    SIGHUP            reloads the configuration, unless the new one is invalid;
                      with --upstream, acts like SIGTERM

    The log goes to standard error, with one line per request.

    \b
    Exit codes:
      0  stopped by Ctrl-C or SIGTERM
      2  the configuration or the address cannot be used
    """
    if log_level.lower() not in LOG_LEVELS:
        raise typer.BadParameter(
            f"unknown level {log_level!r}: expected one of {', '.join(LOG_LEVELS)}", param_hint="--log-level"
        )
    wrapped = _find_upstream(upstream, model, config, host, print_config=print_config, workers=workers)
    if wrapped is not None and print_config:
        typer.echo(wrapped.as_yaml(), nl=False)
        return
    path = config_path(config) if wrapped is None else Path("--upstream")  # the name in error messages
    with _report_errors(path, log_level.lower()):
        settings = load_config(path) if wrapped is None else parse_config(wrapped.configuration(), None)
        options = {"host": host, "port": port}
        changes = {key: value for key, value in options.items() if value is not None}
        server = settings.server.model_copy(update=changes)
        settings = settings.model_copy(update={"server": server})
        check_texts(settings)
        if workers > 1 and not processes.is_worker():
            _supervise(settings, path, log_level.lower(), workers)
        else:
            _run(settings, path, log_level.lower(), workers, wrapped)


def _find_upstream(
    url: str | None, model: str | None, config: Path | None, host: str | None, *, print_config: bool, workers: int
) -> "Upstream | None":
    """Return the chatbot that --upstream wraps, or None without this option. Exit if other options contradict it."""
    if url is None:
        given = "--model" if model is not None else "--print-config" if print_config else None
        return leave(f"{given}: only valid with --upstream URL") if given else None
    if config is not None:
        leave(
            f"--upstream: {url}: cannot be combined with --config; to use both, add the server to `models` in {config}"
        )
    remedy = "save the output of --print-config as config.yaml, and add"
    if workers > 1:
        leave(f"--workers: {workers}: --upstream runs one worker only; for more, {remedy} `memory: {{store: redis}}`")
    if host is not None and not is_loopback(host):
        leave(
            f"--host: {host!r}: --upstream has no API keys, so it serves only a loopback address; for others, {remedy} `keys`"
        )
    from cli.upstream import UpstreamError, find_upstream

    try:
        return find_upstream(url, model, os.environ)
    except UpstreamError as error:
        leave(printable(str(error)))


@contextmanager
def _report_errors(path: Path, log_level: str) -> Iterator[None]:
    """Print configuration errors and exit. A worker that starts later than the others logs the errors instead."""
    if not processes.is_joining():
        with plain_errors(path):
            yield
        return
    try:
        yield
    except (ConfigError, ModelSettingsError) as error:
        configure_logs(log_level)
        problems = error.problems if isinstance(error, ConfigError) else [str(error)]
        structlog.get_logger().error("worker cannot serve", path=str(path), problems=problems)
        raise SystemExit(USAGE) from None


def _supervise(config: Config, path: Path, log_level: str, number: int) -> None:
    """Start several worker processes on one port, and restart them when they crash. Exit with their code when they stop."""
    processes.check(config, number)
    open_key_ring(config)  # report problems of the keys here, not in a worker
    host = config.server.host
    try:
        reserved, port = processes.reserve(host, config.server.port)
    except (OSError, UnicodeError) as error:
        raise ConfigError([f"cannot listen on port {config.server.port} of {host!r}: {error}"]) from None
    command = [sys.executable, "-m", "cli", "serve", "--config", str(path), "--host", host, "--port", str(port)]
    configure_logs(log_level)
    with reserved, shared_folder():
        code = processes.Supervisor([*command, "--log-level", log_level, "--workers", str(number)], number).run()
    raise typer.Exit(code)


SWITCH_S = 0.0001
"""Seconds after which Python lets a waiting thread run. The thread that writes traces waits after every row. With Python's default
of 5 ms, it fell behind at 300 turns per second, and traces were lost."""


def _run(config: Config, path: Path, log_level: str, workers: int, wrapped: "Upstream | None") -> None:
    """Configure logs and the event loop, and serve until a signal stops the proxy."""
    configure_logs(log_level)
    redact_libraries()
    sys.setswitchinterval(SWITCH_S)
    loop_factory: Callable[[], asyncio.AbstractEventLoop] = asyncio.new_event_loop
    with suppress(ImportError):  # uvloop does not run on Windows
        import uvloop

        loop_factory = uvloop.new_event_loop
    with asyncio.Runner(loop_factory=loop_factory) as runner:
        runner.run(_serve(config, path, workers, wrapped))


async def _serve(config: Config, path: Path, workers: int, wrapped: "Upstream | None") -> None:
    """Serve the proxy, print the startup lines, and handle signals: stop on SIGINT and SIGTERM, reload on SIGHUP."""
    # Imported here, because the parent of several workers does not need these modules.
    from proxy.api.service import SERVICE
    from proxy.app import create_app
    from proxy.serving.front import Front
    from proxy.serving.reload import reload_on

    stop, reload_requested = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()
    serving = asyncio.current_task()
    assert serving is not None

    def stop_gently() -> None:
        if stop.is_set():  # a second signal stops at once
            serving.cancel()
        stop.set()

    for name in (signal.SIGINT, signal.SIGTERM):
        with suppress(NotImplementedError):  # Windows
            loop.add_signal_handler(name, stop_gently)
    with suppress(AttributeError, NotImplementedError):  # Windows
        loop.add_signal_handler(signal.SIGHUP, reload_requested.set if wrapped is None else stop_gently)
    front = Front()
    try:
        if worker := processes.is_worker():
            processes.end_with_parent()
        limits = limits_of(config.server)
        await front.switch_to(create_app(config))
        gc.freeze()  # loaded modules stay in memory; scanning them in each full collection would block all requests for 50 ms
        async with front.listening(config.server.host, config.server.port, shared=worker) as address:
            if worker:
                processes.tell_parent()
            keys = front.app[SERVICE].keys
            for line in (
                ()
                if processes.is_joining()
                else _startup_lines(config, keys, path, address, workers, limits.connections, wrapped)
            ):
                typer.echo(line)
            reloading = asyncio.create_task(reload_on(reload_requested, front, path))
            await stop.wait()
            reloading.cancel()
            await asyncio.gather(reloading, return_exceptions=True)
            _print_unless_closed(f"Stopping; open turns have {front.grace_s:g} s. Ctrl-C again stops at once.")
    except asyncio.CancelledError:
        if not stop.is_set():
            raise


def _print_unless_closed(line: str) -> None:
    """Print a line. A closed pipe or a full disk is ignored, so that open turns still end cleanly."""
    try:
        typer.echo(line)
    except OSError:
        # Otherwise Python's flush at exit would fail too, and change the exit code.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _startup_lines(
    config: Config,
    keys: KeyRing | None,
    path: Path,
    address: str,
    workers: int,
    connections: int,
    wrapped: "Upstream | None",
) -> Iterator[str]:
    """Yield the lines that `caf serve` prints at startup, about the address, chatbots, traces, limits and warnings."""
    chatbots = (f"{name} ({_describe_chatbot(config, name)})" for name in config.chatbots)
    yield f"CAF serves {address}/v1" + (f" with {workers} workers" if workers > 1 else "")
    yield f"  chatbots  {', '.join(chatbots)}"
    yield f"  config    {path}" + (" (--print-config prints it)" if wrapped else "")
    yield f"  traces    {_describe_traces(config)}"
    yield f"  limit     {connections:,} connections" + (" for each worker" if workers > 1 else "")
    if config.serves_console:
        yield f"  console   {address}/console"
    if about := describe_local_judges(config.chatbots):
        yield f"  local     {about}"
    for warning in unsafe_settings(config, keys):
        yield f"  not safe  {warning}"
    for sentence in config.ignored:
        yield f"  ignored   {sentence}"
    if wrapped is not None:
        yield from wrapped.startup_lines(f"{address}/v1")
    yield "Ctrl-C stops."


def _describe_chatbot(config: Config, name: str) -> str:
    """Return the kind of a chatbot and the mode of its filter, such as `wrapped, filter on`."""
    bot = config.chatbots[name]
    if bot.kind == "passthrough":
        return bot.kind
    return f"{bot.kind}, filter {bot.filter}"


def _describe_traces(config: Config) -> str:
    """Return what traces contain, how long they are kept, and where."""
    detail = trace_detail(config)
    if detail == "none":
        return "none"
    text = "with all texts" if detail == "full" else "without texts"
    return f"{text}, for {config.privacy.days:g} days, in {trace_backend(config.privacy)}"
