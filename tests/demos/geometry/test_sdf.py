"""What falls on solids stays outside of them."""

from __future__ import annotations

import numpy as np
import pytest

from pbd_gym.demos.geometry.sdf import NEAR, SDFDemo, SDFOptions


@pytest.mark.parametrize("falling", ["particles", "cloth"])
def test_nothing_sinks_in(falling: str) -> None:
    demo = SDFDemo(SDFOptions(falling=falling))
    height, radius = demo.positions()[:, 1].mean(), demo.scene.contact_radius
    nearest = dict.fromkeys(demo.solids, np.inf)
    for _ in range(40):
        demo.step()
        for name, solid in demo.solids.items():
            nearest[name] = min(nearest[name], solid.signed_distance(demo.positions())[0].min())
    assert demo.distance().min() > 0.9 * radius
    assert demo.positions()[:, 1].mean() < height - 0.3
    for name, distance in nearest.items():
        assert 0.9 * radius < distance < 1.25 * radius, f"nothing falls on the {name}"


def test_colours_tell_the_distance() -> None:
    demo = SDFDemo()
    for _ in range(40):
        demo.step()
    colors = demo.frame().colors
    assert (colors[demo.distance() < 0.025] == NEAR).all()
    assert len(np.unique(colors, axis=0)) <= 11
