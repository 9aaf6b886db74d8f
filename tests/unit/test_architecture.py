"""docs/architecture.md is true to the source tree: rooms, the way of a step, layers."""

import ast
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import leastaction

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
PACKAGE = Path(leastaction.__file__).parent

# one step after the first node is set up: every function of the package that is called, in the order of first calls
TRACE = """
import os, sys
import leastaction as la
from leastaction.simulator import Simulator
root = os.path.dirname(la.__file__)
simulator = Simulator(la.examples.chain(2).compile(), dt=1e-2, q=[0.7, 0.2])
seen = {}
def trace(frame, event, argument):
    file = frame.f_code.co_filename
    if file.startswith(root):
        seen.setdefault((os.path.relpath(file, root), frame.f_code.co_name))
sys.settrace(trace)
simulator.run(1)
sys.settrace(None)
for file, function in seen:
    print(file.replace(os.sep, "/"), function)
"""


def section(heading):
    return PAGE.split(f"## {heading}\n", 1)[1].split("\n## ", 1)[0]


def test_every_room_is_on_the_page_and_nothing_else():
    there = {p.name + "/" if p.is_dir() else p.name for p in PACKAGE.iterdir() if p.name not in ("__init__.py", "__pycache__")}
    named = set(re.findall(r"`([\w.]+/?)`", re.sub(r"Inside `kernels/`.*", "", section("The house"), flags=re.DOTALL)))
    assert named == there
    kernels = {p.name + "/" for p in (PACKAGE / "kernels").iterdir() if p.is_dir() and p.name != "__pycache__"}
    inside = section("The house").split("Inside `kernels/`", 1)[1]
    assert set(re.findall(r"`(\w+/)`", inside)) == kernels


def test_every_file_of_the_package_that_is_named_exists():
    """On this page, on all others, and in docstrings and comments."""
    rooms = "|".join(p.name for p in PACKAGE.iterdir() if p.is_dir() and p.name != "__pycache__")
    path = re.compile(rf"(?<![\w/.])((?:{rooms})/[\w/]+\.py)\b")
    sources = [path for path in PACKAGE.rglob("*.py") if "__pycache__" not in path.parts]  # generated code is kept there
    pages = [*(ROOT / "docs").glob("*.md"), ROOT / "README.md", ROOT / "papers" / "README.md", *sources]
    new = re.findall(r"^```python file=(\S+)", (ROOT / "docs" / "extending.md").read_text(encoding="utf-8"), re.MULTILINE)
    for page in pages:
        for name in path.findall(page.read_text(encoding="utf-8")):
            assert (PACKAGE / name).exists() or name in new, f"{page.relative_to(ROOT)} speaks of {name}, which does not exist"


def test_every_folder_says_what_it_is():
    for folder in (p for p in PACKAGE.rglob("*") if p.is_dir() and (p / "__init__.py").exists()):
        assert (folder / "__init__.py").read_text(encoding="utf-8").startswith('"""'), f"{folder.name}/__init__.py has no docstring"


def test_the_way_of_a_step_is_the_one_it_takes():
    wanted = re.findall(r"^\| `([\w/.]+)` \| `(\w+)` \|", section("The way of a step"), re.MULTILINE)
    env = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run([sys.executable, "-c", TRACE], env=env, capture_output=True, text=True, check=True)
    calls = [tuple(line.split()) for line in done.stdout.splitlines()]
    places = [calls.index(call) for call in wanted]
    assert places == sorted(places), [w for w, a, b in zip(wanted[1:], places, places[1:], strict=False) if b < a]
    rooms = {file.rsplit("/", 1)[0] for file, _ in calls}
    assert {file.rsplit("/", 1)[0] for file, _ in wanted} >= rooms - {"checks.py", "progress.py", "model.py", "state.py", "kernels/forces"}


def test_layers_are_those_of_the_linter():
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]
    layers = [re.sub(r"[()]", "", layer) for layer in contracts[0]["layers"]]
    assert re.findall(r"^    (\S.*)$", section("Who may import whom"), re.MULTILINE) == layers


RECORDS = {"m", "w", "mid", "con", "net", "flow", "frames", "lag"}  # always named tuples ...
NUMBERS = {"t", "h", "f"}  # ... and always numbers


def test_a_letter_means_one_thing():
    """The table of docs/theory.md: a number is never looked into, a record never computed with."""
    for path in (p for room in ("kernels", "yardsticks") for p in (PACKAGE / room).rglob("*.py")):
        for function in (n for n in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(n, ast.FunctionDef)):
            if not function.decorator_list:
                continue  # not compiled
            where = f"{path.relative_to(PACKAGE)}: {function.name}"
            parameters = {a.arg for a in function.args.args}
            for node in ast.walk(function):
                if isinstance(node, (ast.Attribute, ast.Subscript)) and isinstance(node.value, ast.Name):
                    assert node.value.id not in NUMBERS & parameters, f"{where}: {node.value.id} is a number"
                if isinstance(node, ast.BinOp):
                    for side in (node.left, node.right):
                        assert not (isinstance(side, ast.Name) and side.id in RECORDS & parameters), f"{where}: {side.id} is a record"


KERNELS = {"sweeps", "equations", "method", "how", "node", "dynamics"}  # parameters that are kernels or records of kernels


def test_records_of_kernels_are_only_passed_to_inlined_functions():
    """Elsewhere they would become addresses in machine code, which then cannot be kept on disk."""
    for path in (p for room in ("kernels", "yardsticks") for p in (PACKAGE / room).rglob("*.py")):
        for function in (n for n in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(n, ast.FunctionDef)):
            marks = {d.id for d in function.decorator_list if isinstance(d, ast.Name)}
            if marks and KERNELS & {a.arg for a in function.args.args}:
                assert marks == {"inlined"}, f"{path.relative_to(PACKAGE)}: {function.name}"
