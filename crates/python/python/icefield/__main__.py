"""`python -m icefield` is the command `icefield`."""

import sys

from icefield._command import main

sys.exit(main())
