"""What the first four steps say before a release: about labels, distances, errors and previews."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from geoveil.requests.budgets import Budget, BudgetKind
from geoveil.studio import pages
from geoveil.studio.project import Project
from geoveil.studio.server import Studio
from geoveil.text.typed_values import read_length
from tests.studio.driving import Visitor
from tests.studio.test_refusals import receive, sent

pytestmark = pytest.mark.slow

Visit = Callable[..., Visitor]


@pytest.fixture
def opened(trips: Path, tmp_path: Path) -> Project:
    """A studio with a file of three persons, about which nothing is decided."""
    folder = tmp_path / "workspace"
    folder.mkdir()
    project = Project(folder)
    assert receive(project, trips.name, trips.read_text()) == ""
    return project


def decided(project: Project, *, unit: str = "all", hide: str = "200", planned: str = "4") -> Project:
    """Decide the first three steps."""
    assert sent(project, "data", persons="=user", area="San Francisco", pseudonyms="no") == ""
    assert sent(project, "protection", unit=unit, planned=planned) == ""
    assert sent(project, "budget", hide=hide) == ""
    return checked(project)


def checked(project: Project) -> Project:
    """Wait until the file was checked."""
    job = project.check()
    assert job is not None
    assert job.wait(60)
    assert job.problem is None
    return project


def read(page: str) -> str:
    """Return the words of a page."""
    return html.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page)))


def test_labels_have_a_warning(opened: Project) -> None:
    """Labels that go out as they are have a warning, not a sign of good order; pseudonyms take it away."""
    sent(opened, "data", persons="=user", area="San Francisco", pseudonyms="no")
    page = pages.render("data", checked(opened))
    assert re.search(r'<li class="warning"><span class="sign">Warning</span><div><p>What is in user is released', page)
    assert "These columns are released unchanged" not in page
    assert 'class="labels warned"' in page
    sent(opened, "data", persons="=user", area="San Francisco", pseudonyms="yes")
    page = pages.render("data", checked(opened))
    assert "Random pseudonyms take the place of what is in user" in page
    assert 'class="warning"' not in page
    assert 'class="labels"' in page


def test_findings_name_fields(opened: Project) -> None:
    """Findings speak of fields of the page: no words for arguments stand in their place."""
    before = read(pages.render("data", checked(opened)))
    assert "choose the column of persons below" in before
    assert "take it only if you would have named it anyway" in before
    sent(opened, "data", persons="=user", area="San Francisco", pseudonyms="no")
    after = read(pages.render("data", checked(opened)))
    assert "It is removed unless you tick it below." in after
    for said in (before, after):
        assert "COLUMN" not in said
        assert "unless you name it" not in said
        assert "true true" not in said


def test_the_first_step_shows_purposes(opened: Project) -> None:
    """Each with its errors and a verdict, before anything is decided."""
    page = read(pages.render("data", checked(opened)))
    table = page.split("What it can be used for")[1].split("To decide")[0]
    for wish in ("answer questions about each person", "publish single points for research"):
        assert wish in table
    assert re.search(r"\b(good|fair|hopeless): ", table)


def test_labels_are_asked_for(visit: Visit, trips: Path) -> None:
    """Once a column of persons is chosen one must say what becomes of its labels; neither answer is preselected."""
    visitor = visit()
    page = visitor.page
    visitor.drop(trips)
    asked = page.locator("input[name=pseudonyms]")
    assert asked.first.is_disabled()
    page.locator("select[name=persons]").select_option("=user")
    page.locator("input[name=area]").fill("San Francisco")
    assert asked.first.is_enabled()
    assert page.locator("input[name=pseudonyms]:checked").count() == 0
    page.get_by_role("button", name="On to protection").click()
    assert page.url.endswith("/data")
    assert page.evaluate("document.activeElement.name") == "pseudonyms"
    page.locator("input[name=pseudonyms][value=no]").check()
    visitor.press("On to protection")
    page.goto(visitor.address + "data")
    visitor.at_rest()
    assert page.locator("input[name=pseudonyms]:checked").get_attribute("value") == "no"
    # Another column is another question.
    page.locator("select[name=persons]").select_option("=address")
    assert page.locator("input[name=pseudonyms]:checked").count() == 0
    assert visitor.complaints == []


def test_smoothing_errors_agree(tmp_path: Path) -> None:
    """The error after smoothing is that of the file's own intervals, in step 3 as in the preview of step 4."""
    rows = [
        f"u{user},2026-03-0{day}T{minute // 60:02}:{minute % 60:02}:00Z,{45.76 + minute / 1e5},{4.84 + user / 1e3}"
        for user in range(3)
        for day in (2, 3)
        for minute in range(360, 1200, 27)
    ]
    project = Project(tmp_path)
    assert receive(project, "lyon.csv", "\n".join(["user,when,lat,lon", *rows])) == ""
    sent(project, "data", persons="=user", area="Lyon", pseudonyms="no")
    sent(project, "protection", unit="1 day", planned="4")
    sent(project, "budget", hide="100")
    told = read(pages.numbers(checked(project), Budget("hide", "100")))
    assert "(typically 27 minutes)" in told
    off = re.search(r"typically off by (\S+ k?m) if people walk, and by (\S+ k?m) in cars", told)
    assert off is not None
    for motion, expected in zip(("walking", "car"), off.groups(), strict=True):
        sent(project, "question", question="points", motion=motion)
        ((name, error),) = project.preview().errors
        assert name == "a released point, after smoothing"
        shown = re.search(r"expected error (\S+) (k?m) ", error)
        assert shown is not None
        number, _, unit = expected.partition(" ")
        # The first step takes all points of a person to have as much noise as those at the busiest time.
        assert shown[2] == unit
        assert float(shown[1]) == pytest.approx(float(number), rel=0.005)


def test_point_errors_agree(opened: Project) -> None:
    """Both steps name the error of any one point and that of all points of a person at once, and agree."""
    decided(opened)
    told = read(pages.numbers(opened, Budget("hide", "200")))
    sent(opened, "question", question="points")
    for name, error in opened.preview().errors:
        found = re.fullmatch(r"at most (?:(\S+ k?m) to )?(\S+ k?m) with probability 95%", error)
        typical = re.search(rf"{name} up to (\S+ k?m)", told)
        assert found is not None
        assert typical is not None
        least, most, at = (read_length(text or found[2]) or 0.0 for text in (found[1], found[2], typical[1]))
        assert least <= at <= most
    assert "Why more than 200 m: noise hides 200 m only if it is often larger" in told
    assert "share one promise" in told


def test_attackers_have_distances(opened: Project) -> None:
    """The table names the distance of the guess, the planned number has a curve, and no metric has its code name."""
    decided(opened, unit="1 day")
    page = str(pages.numbers(opened, Budget("hide", "200")))
    told = read(page)
    assert "a guess between two places 200 m apart is right at most" in told
    assert "after 4 releases (planned)" in told
    assert page.count('class="curve later"') == 3
    assert "Protected together: any day of a person's movements." in told
    assert "dist_" not in told


@pytest.mark.parametrize(
    ("budget", "warned"), [(("hide", "0.001"), True), (("rho", "1"), True), (("hide", "50"), False)]
)
def test_hardly_anything_hidden(budget: tuple[BudgetKind, str], warned: bool, opened: Project) -> None:
    """A distance of less than a house, or a budget that hides no more, has a warning."""
    told = read(pages.numbers(decided(opened), Budget(*budget)))
    assert ("This hides almost nothing" in told) is warned


def test_day_is_24_hours(opened: Project) -> None:
    """The number of points of a day says that it may begin at any time."""
    assert "within any 24 hours, also across midnight" in read(pages.render("protection", decided(opened)))


@pytest.mark.parametrize(
    ("question", "asks"),
    [
        ("heatmap", "How long is the side of a cell?"),
        ("counts", "Which regions?"),
        ("flows", "How long is the side of a cell?"),
        ("nearest", "Nearest to which place?"),
    ],
)
def test_questions_ask_for_missing(question: str, asks: str, opened: Project) -> None:
    """Choosing a question is no mistake: its page asks for what is missing, and refuses nothing."""
    sent(decided(opened), "question", question=question)
    page = pages.render("question", opened)
    assert asks in page
    assert 'class="notice' not in page


def test_counted_unit_is_said(opened: Project) -> None:
    """Where days are protected a heat map counts person-days, and says so; each person has a hull of their own."""
    sent(decided(opened, unit="1 day"), "question", question="heatmap")
    assert "numbers are person-days" in pages.render("question", opened)
    sent(opened, "question", question="hull")
    assert "For each person, the smallest convex area" in pages.render("question", opened)
    ((_, error),) = opened.preview().errors
    assert error.endswith("the error of a hull depends on the answer, and the release states its own")


def test_heat_map_is_seen(opened: Project) -> None:
    """The map of a heat map shows the cells that have something in them, not the whole area, with their true size."""
    sent(decided(opened), "question", question="heatmap", cell="500 m")
    shown = opened.preview()
    (layer,) = shown.layers
    assert layer.name == "released heat map: cells of 500 m"
    scene = opened.view(shown.layers, "Map").scene
    assert scene is not None
    # San Francisco's area is 100 km across, and the made-up city 12 km.
    assert scene.view.width < 30_000


def test_arrow_keys(visit: Visit, studio: Studio, trips: Path) -> None:
    """The card that was chosen has the focus after the page came back, so that arrow keys go on from there."""
    studio.project = decided_on(studio.project, trips)
    visitor = visit("question")
    page = visitor.page
    page.locator("input[value=hull]").focus()
    for key, chosen in (("Space", "hull"), ("ArrowRight", "nearest"), ("ArrowRight", "summary")):
        with page.expect_navigation():
            page.keyboard.press(key)
        assert page.evaluate("document.activeElement.value") == chosen
        assert page.locator("input[name=question]:checked").input_value() == chosen
    assert visitor.complaints == []


def decided_on(project: Project, path: Path) -> Project:
    """Open a file, and decide the first three steps."""
    assert receive(project, path.name, path.read_text()) == ""
    return decided(project)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"question": "heatmap", "cell": "1 m"}, "The side of a cell cannot be 1: it must be "),
        ({"question": "heatmap", "cell": "100000000 km"}, "The western edge of the cells cannot be "),
        ({"question": "flows", "cell": "500 m", "trip": "user"}, "The side of a cell cannot be “500 m”: it must "),
        ({"question": "flows", "cell": "30 km", "trip": "nothing"}, "must be a column of the data, one of user, "),
    ],
)
def test_refusals_use_page_words(fields: dict[str, str], said: str, opened: Project) -> None:
    """What is wrong about cells and columns is said in words that stand on the page."""
    told = sent(decided(opened), "question", do="next", **fields)
    assert said in told
    assert not re.search(r"\b(lattice|cell|west|x):|\[", told)
