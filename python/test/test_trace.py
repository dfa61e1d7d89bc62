"""trace_json() keeps the rules of Chrome's trace event format, so that Perfetto and chrome://tracing show every bar.

The rules are those of https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU.
"""
import collections
import json
import math
import time

import pytest

import tenon.serve
from tenon.serve import JobError

JOBS = 40
STAGES = ["pre-process", "infer", "post-process"]


def trace_of(spans=1000, **options):
    def preprocess(x):
        time.sleep(0.001)
        if x == 7:
            raise ValueError("seven")
        return x

    with tenon.serve.Pipeline([lambda batch: batch] * 2, preprocess, max_batch=4, preprocess_workers=2, postprocess_workers=2,
                              trace_spans=spans, model='a "model"', **options) as pipeline:
        futures = [pipeline.submit(i, correlation_id=f"job {i} \n \u2028 \U0001f600 \"") for i in range(JOBS)]
        for i, future in enumerate(futures):
            if i == 7:
                with pytest.raises(JobError):
                    future.result()
            else:
                assert future.result() == i
        running = json.loads(pipeline.trace_json(), parse_constant=pytest.fail)  # NaN and Infinity are no JSON
    stopped = json.loads(pipeline.trace_json(), parse_constant=pytest.fail)
    assert len(running["traceEvents"]) <= len(stopped["traceEvents"])
    return stopped


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def test_each_event_has_what_its_phase_demands():
    trace = trace_of()
    assert trace["displayTimeUnit"] in ("ms", "ns")
    for event in trace["traceEvents"]:
        assert event["ph"] in ("M", "X", "b", "e")
        assert isinstance(event["name"], str) and event["name"]
        assert isinstance(event["pid"], int) and isinstance(event["tid"], int)
        if event["ph"] == "M":
            assert event["name"] in ("process_name", "thread_name") and isinstance(event["args"]["name"], str)
            continue
        assert is_number(event["ts"]) and event["ts"] >= 0 and isinstance(event["cat"], str)
        if event["ph"] == "X":
            assert is_number(event["dur"]) and event["dur"] >= 0
        else:
            assert isinstance(event["id"], (int, str))


def test_each_job_has_a_bar_for_each_stage():
    events = trace_of()["traceEvents"]
    bars = collections.Counter((event["name"], event["args"]["job"]) for event in events if event["ph"] == "X")
    assert all(count == 1 for count in bars.values())
    jobs = {stage: {job for name, job in bars if name == stage} for stage in STAGES}
    assert len(jobs["pre-process"]) == JOBS
    assert len(jobs["infer"]) == len(jobs["post-process"]) == JOBS - 1  # without the one that raised
    assert jobs["infer"] < jobs["pre-process"]
    assert {event["args"]["correlation_id"] for event in events if event["ph"] == "X"} == {
        f"job {i} \n \u2028 \U0001f600 \"" for i in range(JOBS)}
    batches = {event["args"]["batch"] for event in events if event["name"] == "infer"}
    assert batches <= {1, 2, 3, 4}


def test_bars_of_a_track_nest():
    tracks = collections.defaultdict(list)
    for event in trace_of()["traceEvents"]:
        if event["ph"] == "X":
            tracks[event["pid"], event["tid"]].append((event["ts"], event["ts"] + event["dur"]))
    assert len(tracks) >= 5  # two workers at each end, and one of the instances at least
    for bars in tracks.values():
        ends = []
        for begin, end in sorted(bars, key=lambda bar: (bar[0], -bar[1])):
            while ends and ends[-1] <= begin + 1e-3:  # a nanosecond, in microseconds
                ends.pop()
            assert not ends or end <= ends[-1] + 1e-3, "it begins within another bar, and ends behind it"
            ends.append(end)


def test_each_wait_begins_and_ends_once():
    open_waits, ended = {}, []
    for event in trace_of()["traceEvents"]:
        key = event.get("cat"), event.get("id"), event["name"]
        if event["ph"] == "b":
            assert key not in open_waits
            open_waits[key] = event["ts"]
        elif event["ph"] == "e":
            begin = open_waits.pop(key)
            assert begin <= event["ts"]
            ended.append(key)
    assert not open_waits
    assert len(ended) == 3 * JOBS - 2


def test_tracks_have_names():
    events = trace_of()["traceEvents"]
    names = {(event["pid"], event["tid"]): event["args"]["name"] for event in events if event["name"] == "thread_name"}
    assert len(set(names.values())) == len(names)
    for event in events:
        if event["ph"] == "X":
            assert names[event["pid"], event["tid"]].startswith(event["name"])
    process = [event["args"]["name"] for event in events if event["name"] == "process_name"]
    assert process == ['a "model"']


def test_the_last_spans_stay():
    bars = [event for event in trace_of(spans=10)["traceEvents"] if event["ph"] in "Xb"]
    assert len(bars) == 10
    assert trace_of(spans=0)["traceEvents"][-1]["ph"] == "M"
