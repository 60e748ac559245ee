"""`python -m remanence.cli`, for when the command is not on the path."""

import sys

from remanence.cli import main

if __name__ == "__main__":
    sys.exit(main())
