"""python -m ablations [run|report|tune|worlds|games|speed]"""

import sys

from tricks.cli.start import start

if __name__ == "__main__":
    sys.exit(start("ablations.cli"))
