"""One service for the tests of a file."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.serve.serving import Running, config_in, now, running


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A service that publishes every ping."""
    with running(config_in(tmp_path_factory.mktemp("service"))) as found:
        for person in ("ann", "bob"):
            found.ping(f"{person}/phone", now() - 29 * 86_400, place=(37.7, -122.5))
        yield found


@pytest.fixture(autouse=True)
def rested(request: pytest.FixtureRequest) -> None:
    """Tests do not share a limit of guesses."""
    if "service" in request.fixturenames:
        found: Running = request.getfixturevalue("service")
        found.service.guesses._left.clear()
        found.service.rates._left.clear()
