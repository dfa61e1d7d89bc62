"""How tools/gpu_check runs GoogleTest programs: crashes, lost GPUs and slow tests cost one test each."""
import concurrent.futures
import os
import pathlib
import stat
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
from gpu import gtest  # noqa: E402

PROGRAM = '''#!{python}
"""Behaves as a GoogleTest program whose GPU can be lost."""
import os, signal, sys, time
TESTS = ["Suite.Good", "Suite.Wrong", "Suite.Crashes", "Suite.LosesTheGpu", "Suite.Slow", "Suite.Reported", "All/Many.Good/0", "All/Many.Good/1"]
options = dict(word.lstrip("-").split("=", 1) for word in sys.argv[1:] if "=" in word)
if "--gtest_list_tests" in sys.argv:
    print("Running main() from gtest_main.cc\\nSuite.")
    for name in TESTS[:6]: print("  " + name.split(".")[1])
    print("All/Many.\\n  Good/0  # GetParam() = 4-byte object\\n  Good/1  # GetParam() = 5")
    sys.exit(0)
lost = failed = False
for name in TESTS:
    if name not in options["gtest_filter"].split(":"): continue
    print("[ RUN      ] " + name, flush=True)
    if name == "Suite.Crashes": os.kill(os.getpid(), signal.SIGSEGV)
    if name == "Suite.Slow": time.sleep(60)
    if name == "Suite.LosesTheGpu": lost = True
    good = not lost and name != "Suite.Wrong"
    failed |= not good
    if name == "Suite.Reported": print("========= Invalid __global__ read of size 4 bytes")
    if lost: print("cudaMemcpy: an illegal memory access was encountered")
    elif not good: print("expected 1, got 2")
    where = ", where GetParam() = 5" if "/" in name and not good else ""
    print("[" + ("       OK" if good else "  FAILED ") + " ] " + name + where + " (3 ms)", flush=True)
print("[  FAILED  ] 1 test, listed below:\\n[  FAILED  ] Suite.Wrong" if failed else "[  PASSED  ]")
if options["gtest_filter"] == "Suite.Good": print("========= ERROR SUMMARY: 0 errors")
sys.exit(9 if "BAD_END" in os.environ and not failed else failed)
'''


class Runner(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.program = pathlib.Path(folder.name) / "program"
        self.program.write_text(PROGRAM.replace("{python}", sys.executable))
        self.program.chmod(self.program.stat().st_mode | stat.S_IXUSR)

    def run_it(self, parts, seconds=1, wanted=None):
        with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
            return gtest.run(self.program, "*", pool, parts, dict(os.environ), seconds, wanted=wanted)

    def test_each_bad_test_costs_itself_alone(self):
        for parts in (1, 2):
            outcome = self.run_it(parts)
            self.assertEqual(sorted(outcome.passed), ["All/Many.Good/0", "All/Many.Good/1", "Suite.Good"], parts)
            self.assertEqual(sorted(outcome.failed), ["Suite.Crashes", "Suite.LosesTheGpu", "Suite.Reported", "Suite.Slow", "Suite.Wrong"])

    def test_a_program_that_fails_at_its_end_is_noticed(self):
        outcome = gtest.Part([str(self.program)], dict(os.environ, BAD_END="1"), 5).run(["All/Many.Good/0"])
        self.assertEqual(outcome.passed, ["All/Many.Good/0"])
        self.assertIn("exit code 9", outcome.failed["after All/Many.Good/0"])

    def test_some_are_wanted(self):
        self.assertEqual(self.run_it(1, wanted="Suite.Go*:All/*/1").passed, ["Suite.Good", "All/Many.Good/1"])
        outcome = self.run_it(1, wanted="Suite.Better")
        self.assertEqual((outcome.passed, outcome.failed), ([], {"the suite": "no test matches Suite.Better"}))

    def test_what_they_printed_is_kept(self):
        failed = self.run_it(1).failed
        self.assertEqual(failed["Suite.Wrong"], "expected 1, got 2")
        self.assertIn("illegal memory access", failed["Suite.LosesTheGpu"])
        self.assertIn("signal 11", failed["Suite.Crashes"])
        self.assertIn("said nothing for 1 s", failed["Suite.Slow"])

    def test_a_program_that_does_not_start_is_an_error(self):
        self.program.write_text(f"#!{sys.executable}\nraise SystemExit('no library')\n")
        with self.assertRaisesRegex(RuntimeError, "no library"):
            self.run_it(1)


unittest.main()
