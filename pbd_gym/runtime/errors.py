"""Errors that callers far from where they are raised catch; importing them costs nothing."""


class DisplayError(RuntimeError):
    """There is no display to open a window on."""
