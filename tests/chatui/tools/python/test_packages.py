"""What gpt-oss typically writes for ``python``, run for real in the sandbox with the environment of ``make python-tool``."""

import hashlib
import os
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command

from chatui.env import environment
from chatui.tools.python import availability, packages, tool
from renderer.harmony.prompt import SystemMessage
from tests.support import environment as changed
from tests.support.places import CACHE
from tests.support.sandbox import MEMORY_MEBIBYTES, CodeOutcome, Interpreter, attempts, is_there, sandbox_with_packages, use, within
from tests.support.system_checks import said

pytestmark = pytest.mark.slow

DEFAULT_MEBIBYTES = type(environment()).model_fields["python_memory_mb"].default
CSV = "day,sales\n2026-01-01,10\n2026-01-02,14\n2026-01-03,18\n2026-02-01,22\n"
PNG = b"\x89PNG\r\n\x1a\n"


def ran(*codes: str, memory: int = DEFAULT_MEBIBYTES) -> list[tuple[CodeOutcome, dict[str, bytes]]]:
    """The outcomes of one interpreter's calls, each with the files that reach the person."""

    async def task(interpreter: Interpreter) -> list[tuple[CodeOutcome, dict[str, bytes]]]:
        outcomes = []
        for code in codes:
            outcome = await interpreter.run(code, 120, 4000)
            copied = await interpreter.take(20, 2_000_000)
            outcomes.append((outcome, {each.name: each.data for each in copied.made}))
        return outcomes

    return within(task, sandbox_with_packages(memory))


TYPICAL = {
    "read a table": (
        (
            f"import pandas as pd\nopen('/mnt/data/sales.csv', 'w').write({CSV!r})\n"
            "df = pd.read_csv('/mnt/data/sales.csv', parse_dates=['day'])\n"
            "print(df.describe())\ndf.groupby(df.day.dt.month)['sales'].sum()"
        ),
        ["mean   2026-01-09 12:00:00  16.0", "1    42\n2    22"],
        ["sales.csv"],
    ),
    "plot and show": (
        (
            "import matplotlib.pyplot as plt\nimport numpy as np\nx = np.linspace(0, 2 * np.pi, 200)\nplt.figure(figsize=(8, 4))\n"
            "plt.plot(x, np.sin(x), label='sin')\nplt.legend(); plt.grid(True); plt.title('Sine')\nplt.show()"
        ),
        [],
        ["figure_1.png"],
    ),
    "two plots, each shown": (
        "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()\nplt.bar(['a', 'b'], [1, 2])\nplt.show()\nlen(plt.get_fignums())",
        ["0\n"],
        ["figure_1.png", "figure_2.png"],
    ),
    "a plot that is saved and then shown, as one picture": (
        (
            "import matplotlib\nmatplotlib.use('Agg')\nimport matplotlib.pyplot as plt\nfig, ax = plt.subplots()\n"
            "ax.hist([1, 2, 2, 3], bins=3)\n"
            "plt.tight_layout()\nplt.savefig('/mnt/data/histogram.png', dpi=150, bbox_inches='tight')\nplt.show()"
        ),
        [],
        ["histogram.png"],
    ),
    "a table's own plot, not shown": ("import pandas as pd\npd.Series([1, 3, 2]).plot(kind='bar'); None", [], ["figure_1.png"]),
    "solve": ("import sympy as sp\nx = sp.symbols('x')\nsp.solve(sp.Eq(x**2 - 5*x + 6, 0), x)", ["[2, 3]\n"], []),
    "solve a system": (
        "import numpy as np\nnp.linalg.solve(np.array([[2, 1], [1, 3]]), np.array([3, 5]))",
        ["array([0.8, 1.4])\n"],
        [],
    ),
    "integrate": (
        (
            "import sympy as sp\nfrom scipy import integrate\nimport numpy as np\nx = sp.symbols('x')\n"
            "print(sp.integrate(sp.exp(-x**2), (x, -sp.oo, sp.oo)))\n"
            "print(round(integrate.quad(lambda t: np.exp(-t**2), -np.inf, np.inf)[0], 6))"
        ),
        ["sqrt(pi)\n1.772454\n"],
        [],
    ),
    "a differential equation": (
        (
            "from scipy.integrate import solve_ivp\nimport numpy as np\ns = solve_ivp(lambda t, y: -y, (0, 1), [1.0], rtol=1e-8)\n"
            "print(s.success, round(float(s.y[0][-1]), 5))"
        ),
        ["True 0.36788\n"],
        [],
    ),
    "regression": (
        (
            "import numpy as np\nfrom scipy import stats\nrng = np.random.default_rng(0)\nx = np.arange(50)\n"
            "y = 3 * x + 7 + rng.normal(0, .1, 50)\n"
            "r = stats.linregress(x, y)\nprint(round(r.slope, 2), round(r.intercept), round(r.rvalue**2, 3), np.polyfit(x, y, 1).round(1))"
        ),
        ["3.0 7 1.0 [3. 7.]\n"],
        [],
    ),
    "minimize": (
        "from scipy.optimize import minimize\nr = minimize(lambda v: (v[0] - 1)**2 + (v[1] + 2)**2, [0, 0])\nr.x.round(3)",
        ["array([ 1., -2.])\n"],
        [],
    ),
    "write a workbook, and read it": (
        (
            "import pandas as pd\nfrom openpyxl import load_workbook\nfrom openpyxl.styles import Font\n"
            "pd.DataFrame({'a': [1, 2], 'b': [3.5, 4]}).to_excel('/mnt/data/out.xlsx', index=False, sheet_name='Data')\n"
            "book = load_workbook('/mnt/data/out.xlsx')\nbook['Data']['A1'].font = Font(bold=True)\nbook['Data']['C2'] = '=A2+B2'\n"
            "book.save('/mnt/data/out.xlsx')\npd.read_excel('/mnt/data/out.xlsx', sheet_name='Data').shape"
        ),
        ["(2, 2)\n"],
        ["out.xlsx"],
    ),
    "change a picture": (
        (
            "from PIL import Image, ImageDraw, ImageFilter\nim = Image.new('RGB', (120, 80), 'white')\n"
            "ImageDraw.Draw(im).text((10, 30), 'Hello', fill='black')\n"
            "im = im.resize((60, 40)).rotate(90, expand=True).filter(ImageFilter.BLUR)\n"
            "im.save('/mnt/data/small.jpg', quality=80)\nprint(im.size)\nim.show()"
        ),
        ["(40, 60)\n"],
        ["figure_1.png", "small.jpg"],
    ),
    "a picture as the last value": ("from PIL import Image\nImage.new('L', (5, 5))", ["size=5x5"], ["figure_1.png"]),
    "display": ("import pandas as pd\ndisplay(pd.DataFrame({'a': [1]}))\ndisplay('text')", ["   a\n0  1\ntext\n"], []),
    "time zones": ("import pandas as pd\npd.Timestamp('2026-07-01', tz='UTC').tz_convert('Asia/Seoul').hour", ["9\n"], []),
    "what is not there": ("import sklearn", ["No module named 'sklearn'"], []),
}


@pytest.fixture(scope="module")
def typical() -> dict[str, tuple[CodeOutcome, dict[str, bytes]]]:
    """The outcomes of the table, in one interpreter, which has no files when each of them begins."""
    empty = "import os\nfor name in os.listdir('/mnt/data'): os.unlink(name)"
    outcomes = ran(*(code for each, _, _ in TYPICAL.values() for code in (empty, each)))
    return dict(zip(TYPICAL, outcomes[1::2], strict=True))


@pytest.mark.parametrize("name", TYPICAL)
def test_what_models_typically_write_works(name: str, typical: dict[str, tuple[CodeOutcome, dict[str, bytes]]]) -> None:
    _, expected, files = TYPICAL[name]
    outcome, kept = typical[name]
    assert outcome.has_failed is (name == "what is not there"), outcome.text
    assert all(text in outcome.text for text in expected), outcome.text
    assert sorted(kept) == files
    assert all(data.startswith(PNG) for file, data in kept.items() if file.endswith(".png"))
    assert "Warning" not in outcome.text


def test_a_figure_can_be_shown_again_in_a_later_call() -> None:
    _, (later, files) = ran(
        "import matplotlib.pyplot as plt\nfig, ax = plt.subplots()\nax.plot([1, 2])\nplt.show()", "ax.set_title('Later')\nfig"
    )
    assert later.text.startswith("<Figure size") and list(files) == ["figure_2.png"]


def test_all_packages_can_be_imported_within_half_of_the_memory() -> None:
    """So that the other half is for data."""
    imports = "import pandas, matplotlib.pyplot, scipy.stats, scipy.optimize, scipy.integrate, scipy.signal, numpy, openpyxl, PIL, sympy"
    [(outcome, _), (work, _)] = ran(
        imports, "import numpy\nnumpy.linalg.svd(numpy.ones((300, 300)))[1].shape", memory=DEFAULT_MEBIBYTES // 2
    )
    assert not outcome.has_failed, outcome.text
    assert work.text == "(300,)\n"


def test_too_much_memory_is_an_error_that_leaves_the_interpreter_alive() -> None:
    failed, after = ran("import numpy as np\nx = np.ones((20000, 20000))", "np.ones(3).sum()")
    assert failed[0].has_failed and "Unable to allocate" in failed[0].text
    assert "3.0" in after[0].text


def test_nothing_escapes_from_it_and_nothing_beside_it_is_seen() -> None:
    found = sandbox_with_packages(MEMORY_MEBIBYTES)
    own = str(packages.place(Path(found.hidden[1])))
    assert own in found.trees
    assert not any(attempts(found).values())
    [(listed, _), (written, _)] = ran(f"import os\nsorted(os.listdir({os.path.dirname(own)!r}))", f"open({own + '/x.py'!r}, 'w')")
    assert listed.text == "['python-tool']\n" and "Read-only file system" in written.text


@pytest.fixture
def _offered(monkeypatch: pytest.MonkeyPatch) -> None:
    found = sandbox_with_packages(MEMORY_MEBIBYTES)
    use(monkeypatch, lambda: found)
    is_there(monkeypatch)


@pytest.mark.usefixtures("_offered")
def test_the_model_is_told_of_the_packages_with_their_versions() -> None:
    versions = packages.versions(Path(sandbox_with_packages(MEMORY_MEBIBYTES).hidden[1]))
    assert set(versions) == set(packages.NAMES)
    definition = tool.PYTHON.definition
    for name, version in versions.items():
        assert f"{name} {version}" in definition.description and f"{name} {version}" in definition.note


def test_a_model_with_token_ids_is_told_of_them_after_the_trained_words() -> None:
    plain = SystemMessage(python=True).text(has_functions=False)
    told = SystemMessage(python=True, python_note="Installed: numpy 2.4.6.").text(has_functions=False)
    before, after = plain.split("\n\n# Valid channels")
    assert told == f"{before}\n\nInstalled: numpy 2.4.6.\n\n# Valid channels{after}"


@pytest.mark.django_db
def test_an_environment_of_another_release_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = packages.place(tmp_path)
    (place / "bin").mkdir(parents=True)
    (place / "bin" / "python3").touch()
    monkeypatch.setattr(availability, "why_off", lambda: "")
    changed.change(monkeypatch, {"data_dir": tmp_path, "tools": {"python": ()}, "backend_url": "http://127.0.0.1:9"})
    [found] = said("I041")
    assert "python_tool" in str(found.msg)
    (place / "requirements.sha256").write_text(hashlib.sha256(packages.LOCK.read_bytes()).hexdigest())
    assert said("I041") == []


def test_what_cannot_be_installed_leaves_the_older_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = packages.place(tmp_path)
    place.mkdir()
    (place / "old").touch()
    (lock := tmp_path / "lock").write_text("no-such-package==1 --hash=sha256:" + "0" * 64)
    monkeypatch.setattr(packages, "LOCK", lock)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(packages.PackagesError, match="no-such-package"):
        packages.build(tmp_path, lambda _: None)
    assert [each.name for each in tmp_path.iterdir() if each != lock] == ["python-tool"] and (place / "old").exists()


def test_the_command_says_what_is_there_and_what_comes_next(monkeypatch: pytest.MonkeyPatch) -> None:
    sandbox_with_packages(MEMORY_MEBIBYTES)
    values: dict[str, dict[str, object]] = {
        "CHATUI_TOOLS=python": {"tools": {}},
        "because the sandbox": {"tools": {"python": ()}},
        "is not used": {"python_program": "/usr/bin/python3"},
    }
    monkeypatch.setattr(availability, "why_off", lambda: "the sandbox cannot start")
    for expected, settings in values.items():
        changed.change(monkeypatch, {"data_dir": CACHE, "backend_url": "http://127.0.0.1:9", **settings})
        said = StringIO()
        call_command("python_tool", stdout=said)
        assert "pandas 3." in said.getvalue() and expected in said.getvalue()
