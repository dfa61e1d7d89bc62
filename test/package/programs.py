"""Where the sources and the fetched models are, and programs that must end well."""
import pathlib
import subprocess

SOURCE = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = SOURCE / "examples"
MODELS = SOURCE / ".cache/models"


def run(*command):
    result = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=300)
    if result.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, command))}\n{result.stdout}{result.stderr}")
    return result.stdout
