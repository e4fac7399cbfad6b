"""`python -m hocket`: the command line."""

import sys

from hocket.cli import main

sys.exit(main())
