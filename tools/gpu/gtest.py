"""Runs a GoogleTest program in several processes, and goes on after a crash or a lost GPU."""
import collections
import dataclasses
import fnmatch
import os
import re
import subprocess
import tempfile
import time

STARTED = re.compile(r"\[ RUN      \] (\S+)")
ENDED = re.compile(r"\[ +(OK|FAILED|SKIPPED) +\] (\S+?),? .*\(\d+ ms\)$")
# What compute-sanitizer prints of an error, while the test runs that makes it or at the program's end.
REPORTED = re.compile(r"(?m)^========= (?!COMPUTE-SANITIZER|\w+ SUMMARY: 0)")
# After such an error every later call of the process fails.
LOST = re.compile(r"illegal memory access|illegal address|misaligned address|unspecified launch failure|"
                  r"illegal instruction|launch timed out|device-side assert|context is destroyed", re.IGNORECASE)


@dataclasses.dataclass
class Outcome:
    """Of a suite: names of what passed, and what failed with what it printed."""
    passed: list = dataclasses.field(default_factory=list)
    failed: dict = dataclasses.field(default_factory=dict)

    def add(self, other):
        self.passed += other.passed
        self.failed |= other.failed


def tests_of(program, pattern, environment):
    """The names of the tests that a filter leaves."""
    listed = subprocess.run([program, "--gtest_list_tests", f"--gtest_filter={pattern}"], text=True, env=environment,
                            capture_output=True, timeout=120)
    if listed.returncode != 0:
        raise RuntimeError(f"{program} does not start: {(listed.stdout + listed.stderr).strip()[-600:]}")
    names, group = [], ""
    for line in listed.stdout.splitlines():
        name = line.split("#")[0].rstrip()
        if line.startswith("  "):
            names.append(group + name.strip())
        elif name.endswith("."):
            group = name
    return names


class Part:
    """Some tests of a program, run one after the other. A test may take `seconds`."""

    def __init__(self, command, environment, seconds):
        self.command, self.environment, self.seconds = command, environment, seconds

    def run(self, names):
        outcome = Outcome()
        waiting = collections.deque(names)
        while waiting:
            done = self._run_once(list(waiting), outcome)
            waiting = collections.deque(name for name in waiting if name not in done)
        return outcome

    def _end_of(self, process, output):
        """Waits for the process, and ends one that is silent for too long. How it ended, "" if well."""
        size, spoke = 0, time.monotonic()
        while True:
            try:
                code = process.wait(0.2)
                return f"ended by signal {-code}" if code < 0 else f"ended with exit code {code}" if code else ""
            except subprocess.TimeoutExpired:
                now, grown = time.monotonic(), os.fstat(output.fileno()).st_size
                if grown > size:
                    size, spoke = grown, now
                elif now - spoke > self.seconds:
                    process.kill()
                    process.wait()
                    return f"said nothing for {self.seconds} s"

    def _run_once(self, names, outcome):
        """One process; returns the tests that are settled."""
        with tempfile.TemporaryFile("w+", errors="replace") as output:
            command = [*self.command, f"--gtest_filter={':'.join(names)}", "--gtest_color=no"]
            end = self._end_of(subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, env=self.environment), output)
            output.seek(0)
            lines = output.read().splitlines()
        settled, running, said, lost, bad = set(), None, [], False, False
        for line in lines:
            if match := STARTED.match(line):
                running, said = match[1], []
            elif running and (match := ENDED.match(line)) and match[2] == running:
                text = "\n".join(said)
                good = match[1] == "OK" and not REPORTED.search(text)
                lost = lost or (not good and LOST.search(text) is not None)
                bad = bad or not good
                if good:
                    outcome.passed.append(running)
                else:
                    outcome.failed[running] = text
                settled.add(running)
                running = None
                if lost:  # what failed afterwards says nothing: it gets another process
                    return settled
            elif running:
                said.append(line)
        if running:
            outcome.failed[running] = "\n".join([*said, f"the program {end}"])
            settled.add(running)
        elif missing := [name for name in names if name not in settled]:
            end = end or "ended"
            last = "\n".join(lines[-20:])
            outcome.failed |= {name: f"did not run: the program {end}\n{last}" for name in missing}
            settled.update(missing)
        elif end and not bad:
            outcome.failed[f"after {names[-1]}"] = "\n".join([*lines[-20:], f"the program {end}"])
        return settled


def run(program, pattern, pool, parts, environment, seconds, before=(), wanted=None):
    """The outcome of the program's tests that match, in `parts` processes of a pool of threads: of those in `wanted`, names
    with wildcards between colons, if that is not None. `before` goes in front of each command."""
    names = tests_of(program, pattern, environment)
    if wanted is not None:
        names = [name for name in names if any(fnmatch.fnmatchcase(name, one) for one in wanted.split(":"))]
    if not names:
        return Outcome([], {"the suite": f"no test matches {wanted or pattern}"})
    runner = Part([*before, str(program)], environment, seconds)
    futures = [pool.submit(runner.run, part) for i in range(parts) if (part := names[i::parts])]
    outcome = Outcome()
    for future in futures:
        outcome.add(future.result())
    return outcome
