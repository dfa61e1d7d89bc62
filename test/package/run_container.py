"""Does what deploy/Containerfile says in a bare Debian 12, without an engine of containers, and asks the server there.

    .venv/bin/python test/package/run_container.py [--wheels dist] [--mirror http://deb.debian.org/debian] [--system FOLDER]

It needs root, as bare_system.py says, and the wheel of `./dev wheel`. The server runs with the file's user, entry point and command, in this
machine's network, on the ports that the file exposes.
"""
import argparse
import json
import pathlib
import re
import shlex
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

from bare_system import ENVIRONMENT, bare_system, check, in_own_mounts

ROOT = pathlib.Path(__file__).resolve().parents[2]
SECONDS = 60


def instructions():
    """(RUN, its command) and so on, of lines that end in a backslash joined."""
    text = re.sub(r"\\\n", " ", (ROOT / "deploy/Containerfile").read_text())
    return [line.split(maxsplit=1) for line in text.splitlines() if line.strip() and not line.startswith("#")]


def build(steps, wheels, system, inside):
    for kind, rest in steps:
        if kind == "FROM":
            check("it is made of Debian 12", "debian:bookworm" in rest, rest)
        elif kind == "COPY":
            pattern, to = rest.split()
            found = sorted(wheels.glob(pattern))
            check(f"there is a {pattern}", found, wheels)
            for path in found:
                shutil.copy(path, system / to.lstrip("/"))
        elif kind == "RUN":
            print(f"$ {rest}", flush=True)
            inside(rest)


def answer(path, server):
    """What the server says, once it says something."""
    until = time.monotonic() + SECONDS
    while server.poll() is None:
        try:
            with urllib.request.urlopen(f"http://localhost:8000{path}", timeout=5) as reply:
                return reply.read().decode()
        except (urllib.error.URLError, ConnectionError) as error:
            if time.monotonic() > until:
                return str(error)
            time.sleep(0.2)
    return f"it ended with status {server.returncode}"


def serve(steps, system):
    last = {kind: rest for kind, rest in steps}
    model = system / "models/batch_norm/1"
    model.mkdir(parents=True, exist_ok=True)
    shutil.copy(ROOT / "lint/testdata/exports/batch_norm.onnx", model / "model.onnx")
    command = [*json.loads(last["ENTRYPOINT"]), *json.loads(last["CMD"])]
    with socket.socket() as unused:
        check("nobody is at port 8000", unused.connect_ex(("localhost", 8000)) != 0)
    print(f"$ {shlex.join(command)}", flush=True)
    server = subprocess.Popen(["chroot", f"--userspec={last['USER']}", system, *command], env=ENVIRONMENT, stderr=subprocess.STDOUT)
    try:
        told = answer("/v2/models/batch_norm", server)
        check("the server tells of its model", '"batch_norm"' in told, told)
        check("the server runs as the file's user", last["USER"] in subprocess.run(
            ["chroot", system, "id", "-nu", str(pathlib.Path(f"/proc/{server.pid}").stat().st_uid)], capture_output=True, text=True).stdout)
        server.send_signal(signal.SIGTERM)
        check("it ends by SIGTERM with status 0", server.wait(SECONDS) == 0, server.returncode)
    finally:
        server.kill()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wheels", type=pathlib.Path, default=ROOT / "dist")
    parser.add_argument("--mirror", default="http://deb.debian.org/debian")
    parser.add_argument("--system", type=pathlib.Path, help="where to leave the system, in a folder that is not there yet")
    options = parser.parse_args()
    if options.system and options.system.exists():
        parser.error(f"{options.system} is there already: a container file begins with a new system")
    in_own_mounts()
    steps = instructions()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        system = options.system or pathlib.Path(name) / "system"
        with bare_system(system, options.mirror) as inside:
            build(steps, options.wheels.absolute(), system, inside)
            serve(steps, system)


if __name__ == "__main__":
    main()
