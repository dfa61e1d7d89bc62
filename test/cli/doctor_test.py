"""`tenon doctor`: what it finds wrong with the machine, the environment and libraries of plugins, and what it says helps."""
import json
import os
import re
import subprocess
import unittest

from support import ON_CPU, PLUGIN, SOURCE, CliTest, run

CRASHES = "__attribute__((constructor)) static void crash(void) { *(volatile int*)0 = 0; }\n"
NOTHING = "int nothing(void) { return 0; }\n"


class Doctor(CliTest):
    def findings(self, *options, environment=None, code=None):
        """(level, what, fix) of each, without those of this machine's own processors."""
        result = run("doctor", "--json", *options, environment=environment)
        facts = json.loads(result.stdout)
        found = [(f["level"], f["what"], f["fix"]) for f in facts["findings"]]
        self.assertEqual(result.returncode, 1 if any(level == "error" for level, _, _ in found) else 0, result.stderr)
        return found

    def expect_one(self, what, fix, level, *options, environment=None):
        new = [f for f in self.findings(*options, environment=environment) if f not in self.findings()]
        self.assertEqual(len(new), 1, new)
        self.assertEqual(new[0][0], level, new)
        self.assertRegex(new[0][1], what)
        self.assertRegex(new[0][2], fix)

    def library(self, name, source, *flags):
        path = self.folder / name
        subprocess.run(["cc", "-shared", "-fPIC", "-x", "c", "-", "-x", "none", "-o", path, *flags], input=source, text=True, check=True)
        return path

    def test_sound_plugins_have_no_finding(self):
        self.assertEqual([f for f in self.findings(f"--plugins={PLUGIN}") if "plugin" in f[1]], [])

    def test_a_file_that_is_no_library(self):
        path = self.folder / "libtext.so"
        path.write_text("not a library")
        self.expect_one("libtext.so.*not a shared library", "`file` says what it is", "error", f"--plugins={path}")

    def test_a_library_that_is_not_there(self):
        for name in (self.folder / "none.so", "./none.so", "none of such a name.so"):
            self.expect_one(f"^{name}: cannot open", "^name a file that is there", "error", f"--plugins={name}")
        self.expect_one(f"^{self.folder}: is a directory", "^name the .so file in it", "error", f"--plugins={self.folder}")

    def test_a_library_that_another_one_needs(self):
        inner = self.library("libinner.so.7", "int inner(void) { return 1; }\n", "-Wl,-soname,libinner.so.7")
        outer = self.library("libouter.so", "int inner(void); int outer(void) { return inner(); }\n", inner)
        inner.unlink()
        self.expect_one("libouter.so.*libinner.so.7: cannot open", "apt-file search libinner.so.7", "error", f"--plugins={outer}")

    def test_a_library_for_tensorrt_8(self):
        inner = self.library("libnvinfer.so.8", "int inner(void) { return 1; }\n", "-Wl,-soname,libnvinfer.so.8")
        outer = self.library("libouter.so", "int inner(void); int outer(void) { return inner(); }\n", inner)
        inner.unlink()
        self.expect_one("libouter.so", "older TensorRT", "error", f"--plugins={outer}")

    def test_a_symbol_that_nobody_has(self):
        path = self.library("libsymbol.so", "extern int _ZN4mine4helpEi(int); int call(void) { return _ZN4mine4helpEi(1); }\n", "-Wl,-z,now")
        self.expect_one("undefined symbol", r"has mine::help\(int\)", "error", f"--plugins={path}")

    def test_a_library_that_crashes_while_it_is_loaded(self):
        self.expect_one("libcrash.so: when it is loaded, it was ended by signal SIG(SEGV|ABRT)", "gdb", "error",
                        f"--plugins={self.library('libcrash.so', CRASHES)}")

    def test_a_library_without_plugins(self):
        self.expect_one("registers no plugin", "REGISTER_TENSORRT_PLUGIN", "warning", f"--plugins={self.library('libempty.so', NOTHING)}")

    def test_every_library_is_looked_at(self):
        crash, empty = self.library("libcrash.so", CRASHES), self.library("libempty.so", NOTHING)
        new = [f for f in self.findings(f"--plugins={crash}", f"--plugins={empty}", f"--plugins={PLUGIN}") if f not in self.findings()]
        self.assertEqual([level for level, _, _ in new], ["error", "warning"])

    def test_variables(self):
        for name, value, what, fix, level in (("TENON_TARGET", "tpu", 'no target "tpu"', "cpu or cuda", "error"),
                                              ("TENON_THREADS", "many", "TENON_THREADS", "what the message says", "error"),
                                              ("TENON_THREADS", "1000", "1000 threads, and this process may use", "TENON_THREADS=", "warning"),
                                              ("TENON_THREDS", "2", "TENON_THREDS is set, and changes nothing", "TENON_THREADS", "warning")):
            with self.subTest(name=name, value=value):
                found = [f for f in self.findings(environment={name: value}) if f not in self.findings()]
                found = [f for f in found if "quota" not in f[1]]
                self.assertEqual([f[0] for f in found], [level], found)
                self.assertRegex(found[0][1], what)
                self.assertRegex(found[0][2], fix)

    def test_all_variables_that_sources_read_are_known(self):
        read = re.compile(r'(?:getenv|environment|environment_number)\("(TENON_\w+)"')
        names = {name for folder in ("src", "cudart", "hostcuda/runtime", "tools/tenon", "python/native")
                 for path in (SOURCE / folder).rglob("*.cc") if not path.name.endswith("_test.cc") for name in read.findall(path.read_text())}
        self.assertGreater(len(names), 8)
        found = self.findings(environment={f"{name}X": "1" for name in names})
        for name in names:
            self.assertTrue(any(what.startswith(f"{name}X is set") and fix.endswith(f" {name}") for _, what, fix in found), f"{name}: {found}")

    def test_a_limit_of_instructions(self):
        found = self.findings(environment={"TENON_ISA": "baseline"})
        self.assertTrue(any("TENON_ISA=baseline limits" in what for _, what, _ in found), found)
        self.assertTrue(any("no vector instructions beyond SSE4.1" in what for _, what, _ in found), found)

    def test_another_tensorrt_on_the_loaders_path(self):
        (self.folder / "theirs").mkdir()
        (self.folder / "theirs/libnvinfer.so.10").write_text("")
        path = f"{self.folder / 'theirs'}:{os.environ.get('LD_LIBRARY_PATH', '')}"
        found = self.findings(environment={"LD_LIBRARY_PATH": path})
        self.assertTrue(any("theirs/libnvinfer.so.10, which is not beside this libtenon" in what for _, what, _ in found), found)

    def test_a_python_package_of_another_version(self):
        package = self.folder / "tenon-9.9.dist-info"
        package.mkdir()
        (package / "METADATA").write_text("Metadata-Version: 2.1\nName: tenon\nVersion: 9.9\n")
        found = self.findings(environment={"PYTHONPATH": str(self.folder)})
        self.assertTrue(any("package tenon of version 9.9" in what for _, what, _ in found), found)

    def test_fewer_processors_than_threads(self):
        if (os.cpu_count() or 1) < 2 or len(os.sched_getaffinity(0)) < 2:
            self.skipTest("one processor")
        tenon = os.environ["TENON"]
        result = subprocess.run(["taskset", "-c", str(min(os.sched_getaffinity(0))), tenon, "doctor", "--json"], capture_output=True,
                                text=True, env=os.environ | {"TENON_THREADS": "2"} | ON_CPU)
        found = json.loads(result.stdout)["findings"]
        self.assertTrue(any("2 threads, and this process may use 1 processor:" in f["what"] and "TENON_THREADS=1" in f["fix"] for f in found), found)

    def test_text_for_people(self):
        result = run("doctor", f"--plugins={self.library('libcrash.so', CRASHES)}")
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stdout, r"(?m)^error: .*libcrash.so: .*\n  fix: ")
        self.assertRegex(result.stderr, "^tenon: 1 error found")


if __name__ == "__main__":
    unittest.main()
