"""Tools for environments: learning with SB3, planning, recording, demonstrations, play."""
