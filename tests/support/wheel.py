"""python -m support.wheel [PYTHON ...]: build wheel and sdist, install them in new environments, and use them there as a stranger would.

Without arguments: every Python from 3.11 to 3.14 on the path.  The wheel goes into each of them, the sdist into the first.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[2]

USE = """
import os, sys, tempfile, time
import leastaction as la
assert "site-packages" in la.__file__, la.__file__
from importlib.resources import files
assert (files("leastaction") / "py.typed").is_file() and (files("leastaction") / "__init__.pyi").is_file()
began = time.perf_counter()
run = la.simulate(la.examples.robot_arm().compile(), dt=1e-3, duration=0.1)
first = time.perf_counter() - began
os.chdir(tempfile.mkdtemp())
run.to_html("run.html")
run.save("run.npz")
again = la.open("run.npz")
assert again.q.tobytes() == run.q.tobytes() and run.message == "finished"
import numba, numpy
print(f"Python {sys.version.split()[0]}, Numba {numba.__version__}, NumPy {numpy.__version__}: first simulation {first:.1f} s")
"""


def build(into: Path) -> tuple[Path, Path]:
    """(wheel, sdist)"""
    maker = new_environment(into / "maker", sys.executable)
    run(maker, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "hatchling")
    run(maker, "-m", "hatchling", "build", "--directory", str(into), cwd=ROOT)
    return next(into.glob("*.whl")), next(into.glob("*.tar.gz"))


def check_contents(wheel: Path, sdist: Path) -> None:
    """All that git knows of the package is in the wheel, and nothing else; the sdist can be built from and tested."""
    known = subprocess.run(["git", "ls-files", "src/leastaction"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    wanted = {name.removeprefix("src/") for name in known}
    inside = {name for name in zipfile.ZipFile(wheel).namelist() if not name.split("/")[0].endswith(".dist-info")}
    assert inside == wanted, f"in the wheel but not in git: {sorted(inside - wanted)}; missing: {sorted(wanted - inside)}"
    with tarfile.open(sdist) as archive:
        names = {"/".join(name.split("/")[1:]) for name in archive.getnames()}
    assert {"pyproject.toml", "LICENSE", "README.md", *known} <= names, sorted(set(known) - names)[:5]


def new_environment(folder: Path, python: str) -> Path:
    subprocess.run([python, "-m", "venv", str(folder)], check=True)
    return folder / "bin" / "python"


def run(python: Path, *words: str, cwd: Path | None = None) -> str:
    done = subprocess.run([str(python), *words], cwd=cwd or python.parent, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{python} {' '.join(words)[:200]}\n{done.stdout}\n{done.stderr}")
    return done.stdout


def main() -> None:
    found = sys.argv[1:] or [p for p in (f"python3.{minor}" for minor in range(11, 15)) if works(p)]
    with tempfile.TemporaryDirectory() as folder:
        wheel, sdist = build(Path(folder))
        check_contents(wheel, sdist)
        print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.2f} MB; {sdist.name}: {sdist.stat().st_size / 1e6:.2f} MB; complete")
        for k, (what, python) in enumerate([(sdist, found[0]), *((wheel, p) for p in found)]):
            began = time.perf_counter()
            there = new_environment(Path(folder) / f"user{k}", python)
            run(there, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", str(what))
            installed = time.perf_counter() - began
            print(f"{what.suffix[1:]:4} on {run(there, '-c', USE).strip()}, installed in {installed:.0f} s", flush=True)
            shutil.rmtree(there.parents[1])


def works(python: str) -> bool:
    return shutil.which(python) is not None and subprocess.run([python, "-c", ""], capture_output=True).returncode == 0


if __name__ == "__main__":
    main()
