"""Where suites run, and how they start other programs."""
import dataclasses
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODELS = ROOT / ".cache/models"
LIBRARIES = ".gpu/lib"  # those of the system, beside the root that the archive is unpacked in


@dataclasses.dataclass
class Machine:
    """Where the suites run: the build's folder, the environment of its programs, and threads that start them."""
    build: pathlib.Path
    environment: dict
    jobs: int
    pool: object  # one process in each thread
    tests: str = None  # of GoogleTest's suites those that match, instead of all


@dataclasses.dataclass
class Suite:
    """A row of the result. `run` takes the machine and gives an Outcome."""
    name: str
    what: str
    programs: tuple  # in the build's folder
    run: object
    models: tuple = ()  # names of real models, in MODELS
    optional: bool = False  # left out where a program or a model is missing
    apart: bool = False  # too large for an archive with the others; left out as the optional ones are

    def missing(self, build):
        """What it needs and is not there."""
        needed = [*(build / path for path in self.programs), *(MODELS / model for model in self.models)]
        return [path for path in needed if not path.exists()]


def output_of(machine, command, seconds, environment=None, folder=ROOT):
    """A command's exit code and all that it printed; on a crash or after `seconds` an exit code that is not 0."""
    try:
        done = subprocess.run([str(word) for word in command], text=True, errors="replace", cwd=folder, timeout=seconds,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=machine.environment | (environment or {}))
        return done.returncode, done.stdout
    except subprocess.TimeoutExpired as late:
        said = late.stdout or b""
        return 124, (said.decode(errors="replace") if isinstance(said, bytes) else said) + f"\ntook longer than {seconds} s"
