from __future__ import annotations
import pyarrow as pa
import pyarrow.compute as pc
def parse_dates(t, x, s): return pc.cast(x, t.arrow)
parse_times = parse_timestamps = parse_intervals = parse_dates
def format_dates(t, x, s): return pc.cast(x, pa.string())
def format_timestamps(t, x, s): return pc.utf8_rtrim(pc.utf8_rtrim(pc.cast(x, pa.string()), "0"), ".")
format_times = format_intervals = format_timestamps
