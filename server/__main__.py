"""The `millpond` command."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from ..storage.errors import StartupError
from .config import add_options, load_config


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line; the exit status."""
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        return options.run(options)
    except StartupError as error:
        print(f"millpond: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="millpond", description="A streaming SQL database you talk to with psql."
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    serve = commands.add_parser("serve", help="run a server")
    add_options(serve)
    serve.set_defaults(run=_serve)
    check = commands.add_parser("check", help="verify a data directory that no server has open")
    check.add_argument("data", metavar="DIR")
    check.add_argument("--log", metavar="DIR", default="", help="the log, if it is not in DIR/log")
    check.set_defaults(run=_check)
    return parser


def _serve(options: argparse.Namespace) -> int:
    from .serve import serve

    return serve(load_config(options))


def _check(options: argparse.Namespace) -> int:
    from .checking import check_directory

    return check_directory(options.data, options.log)


if __name__ == "__main__":
    sys.exit(main())
