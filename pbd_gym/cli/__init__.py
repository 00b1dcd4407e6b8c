"""The command ``pbd-gym``. A subcommand imports what it needs when it runs, and says what to install if it cannot."""

from pbd_gym.cli.run import main as main
