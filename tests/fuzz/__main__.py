"""Coverage-guided fuzzing of the transcript readers with Atheris, which is installed by hand: see README.md in this directory."""

import argparse
import importlib
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
CONFORMANCE = HERE.parent / "conformance/text"
EXAMPLES = (
    b"version: 2.2\n\n<|start|>user<|message|>a<|end|>\n<|start|>assistant<|channel|>final<|message|>b<|return|>\n",
    b'{"header": {"version": "2.2"}, "messages": [{"role": "assistant", "tool_call": {"id": "1", "recipient": "f.x", "arguments": "{}"}}]}',
)


def main() -> int:
    """Fuzz for a number of seconds. What breaks a promise is written to a file ``crash-…`` in the directory of the corpus."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=300)
    parser.add_argument("--corpus", type=Path, default=Path(tempfile.gettempdir()) / "openchatml-corpus")
    arguments = parser.parse_args()
    try:
        atheris = importlib.import_module("atheris")
    except ImportError:
        print("Atheris is not installed, so nothing was fuzzed. tests/fuzz/README.md says how to install it.")
        return 1
    with atheris.instrument_imports(include=["renderer"]):
        promises = importlib.import_module("tests.fuzz.promises")
    _sow(arguments.corpus)
    options = [
        f"-max_total_time={arguments.seconds}",
        f"-dict={HERE / 'tokens.dict'}",
        f"-artifact_prefix={arguments.corpus}/",
        "-max_len=1500",
    ]
    atheris.Setup([sys.argv[0], *options, str(arguments.corpus)], promises.check)
    atheris.Fuzz()
    return 0


def _sow(corpus: Path) -> None:
    """Begin with the cases of the conformance suite."""
    corpus.mkdir(parents=True, exist_ok=True)
    seeds = [*EXAMPLES, *(case.read_bytes() for case in sorted(CONFORMANCE.glob("*.ocml")))]
    for number, seed in enumerate(seeds):
        (corpus / f"seed-{number}").write_bytes(seed)


if __name__ == "__main__":
    sys.exit(main())
