"""python -m tricks train|play|list|listing|diff"""

import sys


def start() -> int:
    """Run the command line; the import stands inside, so that Ctrl-C during it is one line, too."""
    try:
        from tricks.cli.main import main

        return main()
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(start())
