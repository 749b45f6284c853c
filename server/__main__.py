"""The `millpond` command."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from .. import __version__
from ..storage.errors import StartupError
from .config import add_options, load_config
from .gentle import Gentle


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line; the exit status."""
    options = _parser().parse_args(arguments)
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
    parser.add_argument("--version", action="version", version=f"millpond {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    serve = commands.add_parser("serve", help="run a server")
    add_options(serve)
    serve.set_defaults(run=_serve)
    standby = commands.add_parser("standby", help="follow a primary's log, and take over when it is gone")
    add_options(standby)
    standby.set_defaults(run=_standby)
    drill = commands.add_parser("drill", help="kill primaries on this machine, and see what that costs")
    drill.add_argument("--kills", type=int, default=5, metavar="N", help="how often (5)")
    drill.add_argument(
        "--handovers", type=int, default=0, metavar="N", help="how often it is to hand over (0)"
    )
    drill.add_argument("--warmups", type=int, default=0, metavar="N", help="standbys from nothing (0)")
    drill.add_argument("--standbys", type=int, default=1, metavar="N", help="how many follow (1)")
    drill.add_argument("--rows", type=int, default=100_000, metavar="N", help="rows loaded first (100000)")
    drill.add_argument("--writers", type=int, default=2, metavar="N", help="connections that write (2)")
    _add_kafka(drill)
    drill.add_argument("--json", action="store_true", help="only the figures, as JSON")
    drill.set_defaults(run=_drill)
    demo = commands.add_parser("demo", help="show a live view over made-up data")
    demo.add_argument("--listen", default="", metavar="HOST:PORT", help="where psql finds it")
    demo.add_argument("--seconds", type=float, default=0.0, help="end after so long")
    demo.set_defaults(run=_demo)
    check = commands.add_parser(
        "check", help="verify a data directory that no server has open, or a changelog on Kafka"
    )
    check.add_argument("data", metavar="DIR", nargs="?", default="")
    check.add_argument("--log", metavar="DIR", default="", help="the log, if it is not in DIR/log")
    _add_kafka(check)
    check.add_argument("--application", default="millpond", metavar="NAME", help="whose topics (millpond)")
    check.set_defaults(run=_check)
    bench = commands.add_parser("bench", help="measure this machine, and DuckDB beside")
    bench.add_argument("suite", choices=["core", "kafka"])
    bench.add_argument("--lines", default="", metavar="A,B", help="only these lines")
    bench.add_argument("--rows", type=int, default=0, help="of the largest input (5000000; kafka 1000000)")
    bench.add_argument("--kafka", default="", metavar="HOST:PORT", help="the broker of bench kafka")
    bench.add_argument("--json", default="", metavar="FILE", help="write the figures there too")
    bench.set_defaults(run=_bench)
    return parser


def _add_kafka(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--kafka", default="", metavar="HOST:PORT", help="brokers that have the changelog")
    parser.add_argument(
        "--kafka-properties",
        default=os.environ.get("MILLPOND_KAFKA_PROPERTIES", ""),
        metavar="NAME=VALUE;…",
        help="librdkafka's; better in MILLPOND_KAFKA_PROPERTIES",
    )


def _serve(options: argparse.Namespace) -> int:
    from .serve import serve

    return serve(load_config(options))


def _standby(options: argparse.Namespace) -> int:
    config = load_config(options)
    gentle = Gentle(config.start_share)
    # Before the program is loaded, which is a good part of a start.
    gentle.begin()
    from .serve import serve

    return serve(config, standby=True, caught_up=gentle.end)


def _drill(options: argparse.Namespace) -> int:
    from .drill import Drill, drill

    counts = (options.kills, options.handovers, options.warmups, max(options.standbys, 1))
    wanted = Drill(*counts, options.rows, options.writers, options.kafka, options.kafka_properties)
    return drill(wanted, options.json)


def _demo(options: argparse.Namespace) -> int:
    from .demo import demo

    return demo(options.listen, options.seconds)


def _check(options: argparse.Namespace) -> int:
    if options.kafka:
        from .checking_kafka import check_application

        return check_application(options.kafka, options.application, options.kafka_properties)
    from .checking import check_directory

    if not options.data:
        raise StartupError("check what? A data directory, or --kafka HOST:PORT --application NAME")
    return check_directory(options.data, options.log)


def _bench(options: argparse.Namespace) -> int:
    from .bench.command import bench_core, bench_kafka

    if options.suite == "kafka":
        return bench_kafka(options.kafka, options.lines, options.rows, options.json)
    return bench_core(options.lines, options.rows, options.json)


if __name__ == "__main__":
    sys.exit(main())
