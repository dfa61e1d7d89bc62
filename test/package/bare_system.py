"""A bare Debian 12 in a folder, made by mmdebstrap, which fetches a hundred megabytes. It needs root."""
import contextlib
import os
import shutil
import subprocess
import sys

ENVIRONMENT = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LC_ALL": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive"}


def run(*command, **options):
    result = subprocess.run([*map(str, command)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    if result.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: exit code {result.returncode}\n{result.stdout[-4000:]}")
    return result.stdout


def check(what, is_so, shown=""):
    if not is_so:
        sys.exit(f"FAILED: {what}\n{shown}")
    print(what, flush=True)


def in_own_mounts():
    """Runs this program again in a name space of mounts, of which nothing is left when it ends."""
    if os.environ.get("TENON_BARE_SYSTEM") != "mounts":
        os.execvpe("unshare", ["unshare", "-m", sys.executable, "-B", *sys.argv], os.environ | {"TENON_BARE_SYSTEM": "mounts"})


@contextlib.contextmanager
def bare_system(folder, mirror):
    """Gives a function that runs a shell's command inside. A system that is in the folder already is used as it is."""
    if not (folder / "etc").exists():
        run("mmdebstrap", "--variant=minbase", "--include=ca-certificates", "bookworm", folder, mirror)
    # Where this machine fetches through a proxy, the proxy's certificate is among these.
    shutil.copy("/etc/ssl/certs/ca-certificates.crt", folder / "etc/ssl/certs/ca-certificates.crt")
    # Programs ask /proc where they lie, to find their libraries beside themselves.
    run("mount", "--bind", "/proc", folder / "proc")
    try:
        yield lambda command: run("chroot", folder, "/bin/sh", "-ec", command, env=ENVIRONMENT)
    finally:
        run("umount", "--lazy", folder / "proc")  # before the folder is removed
