"""nginx as deploy/ sets it up, before hosts that run on this machine."""

import os
import shutil
import socket
import ssl
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

INSTALLED = shutil.which("nginx") is not None and shutil.which("openssl") is not None
CONFIG = Path(__file__).resolve().parents[2] / "deploy" / "nginx.conf"
ADDRESSES = ("10.0.0.11:8080", "10.0.0.12:8080")
DEADLINE_S = 30

# What Debian's own nginx.conf says, as far as it matters, and where things lie; two processes, since several share no memory by
# themselves. The log has the hosts that were tried.
AROUND = """
{user}
worker_processes 2;
daemon off;
pid {folder}/nginx.pid;
error_log stderr warn;
events {{ worker_connections 768; }}
http {{
    sendfile on;
    tcp_nopush on;
    gzip on;
    log_format tried '$request_method $status $upstream_addr';
    access_log {folder}/access.log tried;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    include {folder}/caf.conf;
}}
"""


class Nginx:
    """Runs deploy/nginx.conf as it is, but for the addresses, the port it listens on, and a certificate of its own."""

    def __init__(self, folder: Path, hosts: Sequence[str]) -> None:
        folder.mkdir()
        self._log = folder / "access.log"
        certificate, key = folder / "certificate.pem", folder / "key.pem"
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
             "-subj", "/CN=caf.example.org", "-addext", "subjectAltName=DNS:caf.example.org,IP:127.0.0.1",
             "-keyout", key, "-out", certificate],
            check=True, capture_output=True, timeout=DEADLINE_S,
        )  # fmt: skip
        self.trust = ssl.create_default_context(cafile=certificate)
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        text = CONFIG.read_text()
        for shipped, ours in {
            **dict(zip(ADDRESSES, hosts, strict=True)),
            "/etc/ssl/caf.example.org.pem": str(certificate),
            "/etc/ssl/private/caf.example.org.key": str(key),
            "listen 443 ssl": f"listen 127.0.0.1:{self.port} ssl",
        }.items():
            assert text.count(shipped) == 1, shipped
            text = text.replace(shipped, ours)
        (folder / "caf.conf").write_text(text)
        # Root's temporary folders are not open to the user that nginx would become.
        user = "user root;" if os.geteuid() == 0 else ""
        (folder / "nginx.conf").write_text(AROUND.format(folder=folder, user=user))
        self._errors = (folder / "error.log").open("w+")
        self._process = subprocess.Popen(
            ["nginx", "-e", "stderr", "-p", folder, "-c", folder / "nginx.conf"],
            stdout=subprocess.DEVNULL, stderr=self._errors,
        )  # fmt: skip
        deadline = time.monotonic() + DEADLINE_S
        while not self._listens():
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.stop()
                raise AssertionError(f"nginx does not listen: {self.errors()}")
            time.sleep(0.01)

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    def tried(self) -> list[str]:
        """Return of each finished request its method, its status, and the hosts that were tried."""
        return self._log.read_text().splitlines()

    def errors(self) -> str:
        return Path(self._errors.name).read_text()

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait(DEADLINE_S)
        self._errors.close()

    def _listens(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
        except OSError:
            return False
        return True
