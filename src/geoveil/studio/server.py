"""The web server of the studio: its addresses, the files it receives and sends, its start and its end."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import threading
import webbrowser
from collections.abc import Callable
from html import escape
from importlib import resources
from pathlib import Path
from urllib.parse import parse_qs

import uvicorn
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from geoveil.errors import GeoveilError
from geoveil.geo.formats.workspace import workspace

# Imported here and not later: the browser asks for files of the first page while other modules are imported, and two
# threads that import one package at the same time may find it incomplete.
from geoveil.report.page import static
from geoveil.studio.gate import Gate, new_token
from geoveil.studio.later_modules import prepare
from geoveil.studio.pages import ASIDE, STEPS, numbers, released, render, style
from geoveil.studio.project import Project
from geoveil.studio.received_files import ReceivedName

__all__ = ["Studio", "listen", "serve"]

#: The purposes of received files, and the step that shows each.
_PURPOSES = {"data": "data", "regions": "question", "basemap": "data", "tracks": "tracks"}
#: The names of pages.
_PAGES = {*STEPS, *ASIDE}
#: The largest form, in bytes.
_FORM = 1_000_000


class Studio:
    """A studio that answers requests.

    Parameters
    ----------
    project : Project
        The state.
    token : str
        The first part of all addresses.
    port : int
        The port on 127.0.0.1.
    """

    def __init__(self, project: Project, token: str, port: int) -> None:
        self.project = project
        self.token = token
        self._warm = False
        routes = [
            Route("/", self._first),
            Route("/status", self._status),
            Route("/numbers", self._numbers),
            Route("/places", self._places),
            Route("/upload", self._upload, methods=["POST"]),
            Route("/files/{number:int}/{name}", self._file),
            Route("/static/{name}", self._static),
            Route("/{step}", self._page, methods=["GET"]),
            Route("/{step}", self._form, methods=["POST"]),
        ]
        self.gate = Gate(Starlette(routes=routes), token=token, port=port)
        self.address = f"http://127.0.0.1:{port}/{token}/"

    def server(self) -> uvicorn.Server:
        """Return the server, which the caller has to run."""
        settings = uvicorn.Config(
            self.gate,
            log_level="error",
            access_log=False,
            lifespan="off",
            server_header=False,
            proxy_headers=False,
            ws="none",
            http="h11",
            loop="asyncio",
            timeout_graceful_shutdown=1,
        )
        logging.getLogger("uvicorn.error").addFilter(_is_worth_logging)
        return uvicorn.Server(settings)

    def _to(self, step: str) -> Response:
        return RedirectResponse(f"/{self.token}/{step}", status_code=303)

    def _first(self, request: Request) -> Response:
        """Go to the release if there is one, else to the first step."""
        return self._to("data" if self.project.releasing is None else "release")

    def _page(self, request: Request) -> Response:
        step = request.path_params["step"]
        if step not in _PAGES:
            return PlainTextResponse("404: there is no such page.\n", status_code=404)
        response = HTMLResponse(render(step, self.project))
        if not self._warm:
            # The ground of maps is read while the user looks at the first page; the end of the studio does not wait.
            self._warm, response.background = True, BackgroundTask(threading.Thread(target=_warm, daemon=True).start)
        return response

    async def _form(self, request: Request) -> Response:
        """Carry out a form, and show the page that follows."""
        step: str = request.path_params["step"]
        body = bytearray()
        async for part in request.stream():
            body += part
            if len(body) > _FORM:
                return PlainTextResponse("413: this form is too large.\n", status_code=413)
        if step not in _PAGES:
            return PlainTextResponse("404: there is no such page.\n", status_code=404)
        form = parse_qs(body.decode("utf-8", errors="replace"), keep_blank_values=True)

        def done() -> str:
            prepare()
            from geoveil.studio.actions import act

            try:
                return act(step, self.project, form)
            except Exception as refused:  # told to the owner by the page
                self.project.notice = ("stop", self.project.told(refused))
                return step

        return self._to(await run_in_threadpool(done))

    async def _upload(self, request: Request) -> Response:
        """Receive a file into the private folder, piece by piece, and open it.

        Files that belong together name the same `parcel`; a last request without a name opens them.
        """
        purpose, number = request.query_params.get("as", "data"), request.query_params.get("parcel", "")
        name = request.query_params.get("name", "")
        if purpose not in _PURPOSES:
            return PlainTextResponse("Files are sent as data, regions, a base map or tracks.\n", status_code=400)
        try:
            parcel = self.project.parcel(purpose, number)
            if name or not number:
                await _receive(request, parcel.place(name if number else ReceivedName(name).shown))
            if number and name:
                return JSONResponse({"next": None})
            path, shown = parcel.whole()
        except GeoveilError as refused:
            return PlainTextResponse(f"{self.project.told(refused)}\n", status_code=400)
        except OSError as problem:
            words = f"The file cannot be kept: {problem.strerror or problem}.\n"
            return PlainTextResponse(words, status_code=507)
        if purpose == "data":
            self.project.open(path, shown)
        elif purpose == "regions":
            self.project.take_regions(path)
        elif purpose == "tracks":
            self.project.tracks.take(path, shown)
        else:
            self.project.basemap = path
        return JSONResponse({"next": f"/{self.token}/{_PURPOSES[purpose]}"})

    def _status(self, request: Request) -> Response:
        """Return the work in the background and its progress."""
        project = self.project
        jobs = (project.reading, project.checking, project.releasing, project.previewed, project.tracks.job)
        running = [job for job in jobs if job is not None and job.running]
        told = [{"title": job.title, "share": round(job.share, 3)} for job in running]
        return JSONResponse({"running": told})

    def _numbers(self, request: Request) -> Response:
        """Explain a budget while the slider moves; nothing is decided."""
        prepare()
        from geoveil.studio.actions import budget_of

        try:
            budget = budget_of({name: [text] for name, text in request.query_params.items()})
        except GeoveilError as refused:
            return HTMLResponse(f'<p class="problem" role="alert">{escape(self.project.told(refused))}</p>')
        return HTMLResponse("" if budget is None else numbers(self.project, budget))

    def _places(self, request: Request) -> Response:
        """Return names of places that begin with a text."""
        prepare()
        from geoveil.geo.gazetteer import places_beginning

        text = request.query_params.get("q", "")
        return JSONResponse([place.title for place in places_beginning(text)] if len(text) > 1 else [])

    def _file(self, request: Request) -> Response:
        """Send a file of a release as a download, which the browser does not open."""
        path = released(self.project, request.path_params["number"], request.path_params["name"])
        if path is None:
            return PlainTextResponse("404: there is no such file.\n", status_code=404)
        return FileResponse(path, filename=path.name, content_disposition_type="attachment")

    def _static(self, request: Request) -> Response:
        name = request.path_params["name"]
        made: dict[str, tuple[str, Callable[[], str]]] = {
            "style.css": ("text/css", style),
            "map.js": ("text/javascript", lambda: static("page.js")),
            "studio.js": ("text/javascript", lambda: _own("studio.js")),
        }
        if name not in made:
            return PlainTextResponse("404: there is no such file.\n", status_code=404)
        kind, text = made[name]
        return Response(text(), media_type=kind)


def _is_worth_logging(record: logging.LogRecord) -> bool:
    """Return whether a message should be logged: not if it is about a request that the end of the studio cuts off."""
    ended = record.exc_info is not None and isinstance(record.exc_info[1], asyncio.CancelledError)
    return not ended and not record.getMessage().startswith("Cancel ")


def _warm() -> None:
    """Import what later pages need, and read the ground that every map stands on."""
    prepare()
    import numpy as np

    from geoveil.report import Layer
    from geoveil.studio.map_view import MapView

    MapView([Layer("somewhere", np.array([[8.54, 47.37]]), "marks", "public", texts=("",))], "")


async def _receive(request: Request, path: Path) -> None:
    """Write the body of a request into a new file that only its owner can read; remove it if the body breaks off."""
    try:
        with path.open("xb") as held:
            path.chmod(0o600)
            async for part in request.stream():
                held.write(part)
    except (ClientDisconnect, OSError) as problem:
        path.unlink(missing_ok=True)
        if isinstance(problem, OSError):
            raise
        raise GeoveilError("The file did not arrive whole.", "Choose it again.") from None


def _own(name: str) -> str:
    return resources.files("geoveil.studio").joinpath("static", name).read_text(encoding="utf-8")


def serve(
    file: Path | None, *, port: int = 0, browser: bool = True, ready: Callable[[str], None] = lambda address: None
) -> None:
    """Serve the studio until it is stopped by a signal; its folder is removed at the end.

    Parameters
    ----------
    file : Path, optional
        A file to begin with. It stays where it is.
    port : int
        The port on 127.0.0.1; 0 takes a free one.
    browser : bool
        Whether the browser is opened.
    ready : callable
        Called with the address when pages can be opened.
    """
    with workspace() as folder, contextlib.closing(listen(port)) as listening:
        project = Project(folder)
        if file is not None:
            project.open(file.absolute(), str(file))
        studio = Studio(project, new_token(), listening.getsockname()[1])
        ready(studio.address)
        if browser:
            _open(folder, studio.address)
        studio.server().run(sockets=[listening])


def listen(port: int) -> socket.socket:
    """Return a socket that only this machine can reach, and to which browsers can connect at once."""
    listener = socket.create_server(("127.0.0.1", port), backlog=64)
    listener.set_inheritable(False)
    return listener


def _open(folder: Path, address: str) -> None:
    """Open the browser with a private file: other users of the machine could read an address in its arguments."""
    page = folder / "open.html"
    page.touch(mode=0o600)
    page.write_text(f'<meta http-equiv="refresh" content="0; url={escape(address)}">', encoding="utf-8")
    webbrowser.open(page.as_uri())
