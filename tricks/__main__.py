"""python -m tricks train|check|play|list|listing|diff, or the script `tricks`."""

import sys

from tricks.cli.start import start


def main() -> int:
    """Run the command line; returns the exit status."""
    return start("tricks.cli.main")


if __name__ == "__main__":
    sys.exit(main())
