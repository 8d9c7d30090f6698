"""python -m tricks train|play|list|listing|diff"""

import sys

from tricks.cli.start import start

if __name__ == "__main__":
    sys.exit(start("tricks.cli.main"))
