"""Drawings: safe to put into a page, coloured by it, and the same each time."""

import re

import matplotlib
import pytest

from plots.drawing import COLOURS, Axis, Line, Point, draw_curves, draw_dots
from tests.elements import Elements

EVIL = "<script>alert('x')</script></svg><img src=https://evil.example/x onerror=alert(1)>\" onload=\"x $\\frac{1}$ \x00 🙂 字"
SHARES = Axis(0, 1, ((0, "0 %"), (1, "100 %")), mark=0)
TURNS = Axis(1, 3, ((1, "1"), (3, "3")), title="turn")


def dots(*points: Point, about: str = "Shares.") -> str:
    return draw_dots([Line("role", points, "+9")], SHARES, about)


def curve(*points: Point, about: str = "Shares.", **more: bool) -> str:
    return draw_curves([Line("role", points)], TURNS, SHARES, about, **more)


def test_labels_of_drawings_are_escaped() -> None:
    """A role or an arm may be named anything, and a drawing is put into the page as it is."""
    evil = Axis(0, 1, ((0, EVIL),), title=EVIL)
    drawing = draw_dots([Line(EVIL, (Point(0.5, 0.1, 0.9, EVIL),), EVIL)], evil, EVIL)
    drawing += draw_curves([Line(EVIL, (Point(1.0, 0.1, 2.0, EVIL, 1),))], evil, evil, EVIL)
    found = Elements(drawing).found
    assert {tag for tag, _ in found} == {"svg", "g", "text", "path", "defs", "use"}
    assert not [name for _, attributes in found for name in attributes if name.startswith("on")]
    assert "$\\frac{1}$" in drawing  # not read as mathematics


@pytest.mark.parametrize("style", ["arm0", "arm1", "arm4", "soft", "unheard of"])
def test_colours_are_those_of_the_page(style: str) -> None:
    """Light or dark is the page's decision: nothing is drawn in a colour of the library."""
    drawing = dots(Point(0.5, 0.1, 0.9, style)) + curve(Point(0.5, 0.1, 0.9, style, 1), Point(0.6, 0.2, 0.8, style, 2))
    painted = re.findall(r"(?:fill|stroke): ([^;\"]+)", drawing)
    assert set(painted) <= {"none", *(f"var(--{name})" for name in COLOURS)}
    assert "font-family" not in drawing


def test_the_same_numbers_give_the_same_drawing() -> None:
    """Whatever was drawn before: reports can be compared byte by byte."""
    first = dots(Point(0.5, 0.1, 0.9))
    curve(Point(0.5, x=1), about="Another.")
    assert dots(Point(0.5, 0.1, 0.9)) == first


def test_the_users_own_settings_change_nothing() -> None:
    """Whoever works with matplotlib has a matplotlibrc; reports are the same for everybody."""
    first = dots(Point(0.5, 0.1, 0.9))
    with matplotlib.rc_context({"axes.grid": True, "text.usetex": True, "font.weight": "bold", "grid.linestyle": ":"}):
        assert dots(Point(0.5, 0.1, 0.9)) == first


def test_drawings_of_a_page_have_names_of_their_own() -> None:
    """A marker is drawn once and used by its id, which is the whole page's."""
    names = [set(re.findall(r'id="(\w+)"', dots(Point(0.5), about=about))) for about in ("One.", "Two.")]
    assert all(names)
    assert not names[0] & names[1]


def test_what_lies_beyond_an_axis_is_drawn_at_its_end() -> None:
    """An interval may reach further than the axis, and a drawing may not reach out of its card."""
    assert dots(Point(7.0, -5.0, 9.0)) == dots(Point(1.0, 0.0, 1.0))
    assert curve(Point(7.0, x=0), Point(0.5, x=9)) == curve(Point(1.0, x=1), Point(0.5, x=3))


def test_a_stepped_curve_keeps_each_value_until_the_next() -> None:
    """As a share of survivors does; between two turns nothing is known to have changed."""
    points = (Point(1.0, x=1), Point(0.0, x=3))
    assert len(lines(curve(*points, stepped=True))) == 3
    assert len(lines(curve(*points))) == 2


def lines(drawing: str) -> list[tuple[str, str]]:
    """Return the places of the only curve."""
    (path,) = re.findall(r'd="([^"]+)" style="fill: none;stroke: var\(--a1\);stroke-width: 2', drawing)
    return re.findall(r"[ML] ([\d.]+) ([\d.]+)", path)


def test_what_has_no_value_is_left_out() -> None:
    """The row keeps its label."""
    empty = dots(Point(None))
    assert "role" in empty
    assert "<use" not in empty + curve(Point(None, x=1))
