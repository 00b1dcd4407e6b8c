"""What falls on solids stays outside of them."""

from __future__ import annotations

import numpy as np
import pytest

from pbd_gym.demos.sdf import NEAR, SDFDemo, SDFOptions


@pytest.mark.parametrize("falling", ["particles", "cloth"])
def test_nothing_sinks_in(falling: str) -> None:
    demo = SDFDemo(SDFOptions(falling=falling))
    height = demo.positions()[:, 1].mean()
    for _ in range(40):
        demo.step()
    radius = demo.scene.contact_radius
    assert demo.distance().min() > 0.9 * radius
    assert demo.positions()[:, 1].mean() < height - 0.3
    for name, solid in demo.solids.items():
        touching = solid.signed_distance(demo.positions())[0] < 1.1 * radius
        assert touching.any(), f"nothing lies on the {name}"


def test_colours_tell_the_distance() -> None:
    demo = SDFDemo()
    for _ in range(40):
        demo.step()
    colors = demo.frame().colors
    assert (colors[demo.distance() < 0.025] == NEAR).all()
    assert len(np.unique(colors, axis=0)) <= 11
