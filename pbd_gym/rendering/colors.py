"""The colours of everything that is drawn, red, green and blue from 0 to 255."""

from __future__ import annotations

Color = tuple[int, int, int]

SKY_TOP, SKY_BOTTOM = (205, 217, 232), (245, 247, 250)
FLOOR, FLOOR_DARK, FLOOR_LINE = (234, 238, 243), (221, 227, 235), (203, 212, 223)
SHADOW = (44, 56, 80)
FRONT, BACK = (72, 128, 190), (231, 150, 108)
ROPE, ROPE_DARK = (214, 158, 92), (203, 146, 82)
SOLID: Color = (176, 182, 200)
WATER: Color = (64, 148, 214)
GLASS: Color = (104, 124, 156)
PICKER_OPEN: Color = (244, 246, 250)
PICKER_HOLDING: Color = (226, 72, 92)
PICKER_RING: Color = (70, 78, 98)
GOAL: Color = (148, 66, 202)
GOAL_REACHED: Color = (38, 166, 98)
PIN: Color = (52, 60, 80)
