"""`geoveil serve` on the command line, and the demonstration, as processes of their own."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

from tests.serve.serving import config_in
from tests.systems import POSIX

ROOT = Path(__file__).parent.parent.parent


def run(*words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """A command that ends by itself."""
    return subprocess.run([sys.executable, "-m", "geoveil", *words], cwd=folder, capture_output=True, text=True)


def free_port() -> int:
    """A port that nobody uses."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


@pytest.mark.slow
@POSIX
@pytest.mark.parametrize("ending", ["SIGINT", pytest.param("SIGTERM", marks=pytest.mark.deep)])
def test_command_serves(ending: str, tmp_path: Path) -> None:
    """From the example to a running service: tokens are printed once, and the end is a sentence and no traceback."""
    example = run("serve", "--example", folder=tmp_path)
    assert example.returncode == 0
    port = free_port()
    text = example.stdout.replace("8033", str(port)).replace("every 10 min", "every ping")
    (tmp_path / "geoveil.toml").write_text(text)
    token = run("serve", "geoveil.toml", "--token", "ann/phone", folder=tmp_path).stdout.strip()
    assert re.fullmatch(r"[\w-]{32}", token)
    command = [sys.executable, "-m", "geoveil", "serve", "geoveil.toml"]
    serving = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    url = f"http://127.0.0.1:{port}"
    while True:
        assert serving.poll() is None, serving.communicate()
        try:
            httpx.get(f"{url}/health", trust_env=False)
            break
        except httpx.HTTPError:
            time.sleep(0.05)
    ping = {"time": time.time(), "lat": 37.77, "lon": -122.42}
    reply = httpx.post(f"{url}/v1/ping", json=ping, headers={"Authorization": f"Bearer {token}"}, trust_env=False)
    assert reply.json()["new"]
    serving.send_signal(signal.Signals[ending])
    out, err = serving.communicate(timeout=60)
    said = " ".join(out.split())
    assert f"The service is at {url}" in said
    assert "No token yet: geoveil serve geoveil.toml --token owner" in said
    assert "ann/phone" not in said
    assert "The service has ended" in said, err
    assert "Traceback" not in err
    assert serving.returncode == 0
    assert token not in out + err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["serve"], "--example prints one"),
        (["serve", "geoveil.toml", "--token", "eve/phone"], "ann/phone"),
        (["serve", "wrong.toml"], "person.device"),
    ],
)
def test_wrong_commands_are_explained(words: list[str], said: str, tmp_path: Path) -> None:
    """What is missing or wrong is said with what is allowed."""
    config_in(tmp_path)
    (tmp_path / "wrong.toml").write_text('[service]\nledger = "x.db"\n[[person]]\nname = "ann"\n')
    done = run(*words, folder=tmp_path)
    assert done.returncode != 0
    assert said in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
@POSIX
@pytest.mark.parametrize("minutes", [6, pytest.param(30, marks=pytest.mark.deep)])
def test_demonstration_replays_a_day(minutes: int) -> None:
    """Some minutes of the demonstration end with published places, their errors, and the pages' addresses."""
    line = [sys.executable, "scripts/demo_live.py", "--once", "--minutes", str(minutes), "--port", str(free_port())]
    done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, env={**os.environ, "NO_COLOR": "1"})
    assert done.returncode == 0, done.stderr
    for person in ("ann", "bob"):
        assert re.search(rf"{person}: published \d+ m from the made-up true place", done.stdout)
    assert re.search(r"For a reader: http://127\.0\.0\.1:\d+/r/[\w-]{32}", done.stdout)
