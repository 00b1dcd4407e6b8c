"""``python -m pbd_gym`` is ``pbd-gym``."""

import sys

from pbd_gym.cli import main

sys.exit(main())
