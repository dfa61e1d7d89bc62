"""`tenon completion`: shells complete what the command line has, asked as a user's keys ask them."""
import os
import pty
import re
import select
import shlex
import shutil
import signal
import subprocess
import time
import unittest

from support import CliTest


def options_of_help(text):
    return set(re.findall(r"(?<![\w-])(--[A-Za-z][\w-]*)", re.split(r"(?m)^Subcommands:", text)[0]))


class Bash(CliTest):
    def complete(self, line, folder=None):
        """What bash would offer behind the line; words of a line are parted as bash does, also at =."""
        script = self.folder / "completion.bash"
        if not script.exists():
            script.write_text(self.succeed("completion", "bash"))
        words = [part for word in shlex.split(line) for part in re.split("(=)", word) if part]
        if line.endswith((" ", "=")):
            words.append("")
        # compopt works only while keys are read: what it is asked is said.
        program = f"""source {script}; compopt() {{ echo "compopt $*"; }}
            COMP_WORDS=({' '.join(map(shlex.quote, words))}); COMP_CWORD={len(words) - 1}; _tenon; printf '%s\\n' "${{COMPREPLY[@]}}" """
        result = subprocess.run(["bash", "--norc", "-c", program], capture_output=True, text=True, cwd=folder)
        self.assertEqual(result.stderr, "")
        return [word for word in result.stdout.splitlines() if word]

    def test_commands(self):
        shown = set(re.findall(r"(?m)^  (\w[\w-]*)  +\S", re.split(r"(?m)^Subcommands:", self.succeed("--help"))[1]))
        self.assertGreater(len(shown), 10)
        self.assertEqual(set(self.complete("tenon ")), shown)
        self.assertEqual(self.complete("tenon bu"), ["build"])
        self.assertEqual(self.complete("tenon completion f"), ["compopt -o default"])  # a positional argument

    def test_options_of_every_command(self):
        for command in set(self.complete("tenon ")) - {"serve", "load"}:  # other programs, which have options of their own
            with self.subTest(command=command):
                offered = {word.removesuffix("=") for word in self.complete(f"tenon {command} --")}
                shown = options_of_help(self.succeed(command, "--help"))
                self.assertLessEqual({word for word in offered if not word.startswith("compopt")}, shown)
                self.assertIn("--help", offered)
        self.assertIn("--minShapes=", self.complete("tenon build --min"))
        self.assertIn("--json", self.complete("tenon inspect net.plan --"))

    def test_values(self):
        self.assertEqual(self.complete("tenon dump --stage="), ["import", "optimize", "plan"])
        self.assertEqual(self.complete("tenon dump --stage=o"), ["optimize"])
        self.assertEqual(self.complete("tenon dump --stage p"), ["plan"])

    def test_commands_below_commands(self):
        self.assertIn("check", self.complete("tenon plugins "))
        self.assertIn("--seeds=", self.complete("tenon plugins check lib.so --"))
        self.assertNotIn("--seeds=", self.complete("tenon plugins --"))

    def test_files_are_left_to_the_shell(self):
        self.assertEqual(self.complete("tenon build mod"), ["compopt -o default"])
        self.assertEqual(self.complete("tenon run net.plan --inputs="), ["compopt -o default"])


class OtherShells(CliTest):
    def test_zsh(self):
        if not shutil.which("zsh"):
            self.skipTest("there is no zsh")
        script = self.folder / "_tenon"
        script.write_text(self.succeed("completion", "zsh"))
        checked = subprocess.run(["zsh", "-f", "-n", script], capture_output=True, text=True)
        self.assertEqual(checked.stderr, "")
        (self.folder / ".zshrc").write_text(f"PS1=; fpath=({self.folder} $fpath); autoload -U compinit; compinit -D -u; echo it is READY\n")
        pid, terminal = pty.fork()  # zsh completes at a terminal alone: keys are typed into one
        if pid == 0:
            os.execvpe("zsh", ["zsh", "-i"], os.environ | {"ZDOTDIR": str(self.folder), "TERM": "dumb"})
        self.addCleanup(os.waitpid, pid, 0)
        self.addCleanup(os.close, terminal)
        self.addCleanup(os.kill, pid, signal.SIGKILL)
        said = ""

        def wait_for(text):
            nonlocal said
            until = time.monotonic() + 60
            while text not in said:
                self.assertLess(time.monotonic(), until, f"{text!r} is not in {said!r}")
                if select.select([terminal], [], [], 1)[0]:
                    said += re.sub(r"\x1b\[[\d;?]*[a-zA-Z]|[\x07\x08\r]", "", os.read(terminal, 4096).decode(errors="replace"))
            said = ""

        wait_for("it is READY")
        for keys, shown in (("tenon dump --stag\t", "e="), ("i\t", "mport"), ("\x15tenon inspe\t", "ct"), ("\x15tenon plugins che\t", "ck"),
                            ("--see\t", "ds=")):
            os.write(terminal, keys.encode())
            wait_for(shown)

    def test_fish(self):
        if not shutil.which("fish"):
            self.skipTest("there is no fish")
        script = self.folder / "tenon.fish"
        script.write_text(self.succeed("completion", "fish"))

        def complete(line):
            result = subprocess.run(["fish", "--no-config", "-c", f"source {script}; complete -C {shlex.quote(line)}"], capture_output=True,
                                    text=True, cwd=self.folder)
            self.assertEqual(result.stderr, "")
            return [row.split("\t")[0] for row in result.stdout.splitlines()]

        self.assertEqual(complete("tenon bui"), ["build"])
        self.assertEqual(complete("tenon dump --stage="), ["--stage=import", "--stage=optimize", "--stage=plan"])
        self.assertIn("--minShapes", complete("tenon build --min"))
        self.assertIn("check", complete("tenon plugins "))
        self.assertIn("--seeds", complete("tenon plugins check --se"))
        self.assertNotIn("--seeds", complete("tenon plugins --se"))


if __name__ == "__main__":
    unittest.main()
