"""The command ``pbd-gym``.

A subcommand imports its modules when it runs, and names the extra to install if one is missing.
"""

from pbd_gym.cli.run import main as main
