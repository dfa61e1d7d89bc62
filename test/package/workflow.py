"""Reads what a GitHub workflow runs: of YAML, what examples/test_without_a_gpu uses of it."""
import re


def matrix(text, name):
    """The values of a row of the matrix."""
    (values,) = re.findall(rf"(?m)^ +{name}: \[(.+)\]$", text)
    return values.split(", ")


def environment(text):
    """What the job's `env` sets."""
    (block,) = re.findall(r"(?m)^    env:\n((?:      .+\n)+)", text)
    return dict(line.strip().split(": ", 1) for line in block.splitlines())


def commands(text):
    """The name and the command of each step that has one."""
    found = re.findall(r"(?m)^      - name: (.+)\n        run: (?:(?!\|)(.+)|\|((?:\n          .+)+))$", text)
    return [(name, line or re.sub(r"\n {10}", "\n", block).strip()) for name, line, block in found]


def filled_in(text, values):
    """The text with the values of its ${{ expressions }}; one that has none is an error."""
    return re.sub(r"\$\{\{ (.+?) \}\}", lambda found: values[found[1]], text)
