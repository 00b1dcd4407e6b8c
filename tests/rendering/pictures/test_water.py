"""Surfaces of fluids: where they are, how level, how dark with depth, and what hides them."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from pbd_gym.rendering import Camera, Frame, Renderer, RenderOptions, Style
from pbd_gym.rendering.colors import Coloring

S = 0.02
SIZE = (160, 120)
ABOVE = Camera(target=np.zeros(3), distance=1.2, yaw=0.0, pitch=1.4)
ASLANT = Camera(target=np.zeros(3), distance=1.2, yaw=0.5, pitch=0.6)
GROUND = ((np.array([0.0, 1.0, 0.0]), 0.0),)


def pool(layers: int, seed: int = 0) -> Frame:
    """Return a block of fluid on the ground, 24 cm wide, its particles shaken within their layers."""
    along = S * (np.arange(12) - 5.5)
    places = np.stack(np.meshgrid(along, S * (np.arange(layers) + 0.5), along), axis=-1).reshape(-1, 3)
    places[:, [0, 2]] += np.random.default_rng(seed).uniform(-0.2 * S, 0.2 * S, (len(places), 2))
    return Frame(places, drops=np.arange(len(places)), drop_radius=0.5 * S, planes=GROUND)


def draw(frame: Frame, camera: Camera, **style: object) -> np.ndarray:
    found = Renderer(size=SIZE, style=Style(**style)).draw(frame, camera)  # type: ignore[arg-type]
    assert found is not None
    return found.astype(np.int64)


@pytest.mark.parametrize("antialias", [True, False])
@pytest.mark.parametrize("camera", [ABOVE, ASLANT])
def test_a_surface_is_where_the_balls_are(camera: Camera, antialias: bool) -> None:
    """Guards places and outlines, seen from two sides: apart from a rim both cover the same pixels."""
    frame = pool(6)
    empty = draw(replace(frame, drops=[], hidden=frame.drops), camera, antialias=antialias)
    surface, balls = (
        np.abs(draw(frame, camera, water=kind, antialias=antialias) - empty).max(axis=2) > 8
        for kind in ("surface", "balls")
    )
    assert 0.05 < balls.mean() < 0.5
    assert (surface & balls).sum() > 0.97 * balls.sum()
    assert surface.sum() < 1.25 * balls.sum()


def test_deeper_water_is_darker() -> None:
    """Guards thickness: light that has passed through more of it has less red, and never more of any colour."""
    middle = (slice(50, 70), slice(70, 90))
    means = np.array([draw(pool(layers), ABOVE)[middle].mean(axis=(0, 1)) for layers in (1, 2, 4, 8, 16)])
    assert (np.diff(means[:, 0]) < -5.0).all(), means
    assert (np.diff(means, axis=0) < 1.0).all(), means


def test_a_level_surface_is_drawn_level() -> None:
    """Guards smoothing: shaken within their layers, balls make a picture uneven, and the surface does not show them."""
    inside = (slice(40, 70), slice(65, 95))
    frame = replace(pool(12), planes=())
    uneven = {kind: draw(frame, ABOVE, water=kind)[inside].std(axis=(0, 1)).max() for kind in ("surface", "balls")}
    assert uneven["surface"] < 5.0 < 15.0 < uneven["balls"], uneven


def test_opaque_things_hide_water_and_water_dims_them() -> None:
    """Guards depth: a ball before the water is seen as it is, one behind it is bluer, one in it stays behind it."""
    frame = replace(pool(6), planes=())
    for height, hidden in ((0.3, False), (-0.2, True)):
        ball = replace(frame, spheres=[(np.array([0.0, height, 0.0]), 0.05)])
        bare = draw(replace(ball, drops=[], hidden=frame.drops), ABOVE)
        both = draw(ball, ABOVE)
        (x, y), *_ = np.rint(ABOVE.project(ball.spheres[0][0][None], SIZE)[0]).astype(int)
        center = (slice(y - 4, y + 4), slice(x - 4, x + 4))
        change = (both - bare)[center].mean(axis=(0, 1))
        assert (np.abs(change) < 0.5).all() if not hidden else change[0] < -40.0, (height, change)


def test_where_colours_show_numbers_water_is_balls() -> None:
    """Guards the choice: numbers are shown on particles, a wireframe shows them, and the default is a surface."""
    frame = pool(2)
    colored = replace(frame, coloring=Coloring("height [m]", frame.positions[:, 1], 0.0, 0.04))
    assert_array_equal(draw(colored, ASLANT), draw(colored, ASLANT, water="balls"))
    assert_array_equal(draw(frame, ASLANT, wireframe=True), draw(frame, ASLANT, wireframe=True, water="balls"))
    assert_array_equal(draw(frame, ASLANT), draw(frame, ASLANT, water="surface"))
    assert (draw(frame, ASLANT) != draw(frame, ASLANT, water="balls")).any()
    with pytest.raises(ValueError, match="water must be one of"):
        RenderOptions(water="marching")  # type: ignore[arg-type]


def test_water_out_of_sight_or_not_finite_is_left_out() -> None:
    """Guards edges of pictures: water behind the eye, beside the picture, across its edge, and parked at no place."""
    frame = replace(pool(2), planes=())
    empty = draw(replace(frame, drops=[], hidden=frame.drops), ASLANT)
    for shift in (ASLANT.eye() + 0.5 * (ASLANT.eye() - ASLANT.target), np.array([30.0, 0.0, 0.0]), np.full(3, np.nan)):
        assert_array_equal(draw(replace(frame, positions=frame.positions + shift), ASLANT), empty)
    for across in (-0.45, 0.45):
        shifted = replace(frame, positions=frame.positions + across * ASLANT.axes()[0])
        changed = (draw(shifted, ASLANT) != empty).any(axis=(0, 2))
        assert changed[0 if across < 0.0 else -1] and not changed.all()
