"""`python -m ablations`, or the script `ablations`; `--help` lists the commands."""

import sys

from tricks.cli.start import start


def main() -> int:
    return start("ablations.cli")


if __name__ == "__main__":
    sys.exit(main())
