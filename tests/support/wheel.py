"""python -m support.wheel [PYTHON ...]: build wheel and sdist into dist/, install them in new environments, use them as a stranger would.

The wheel brings intermediate code along (hatch_build.py) for the Python that builds it: its first simulations are timed with that and from
source, on this processor and for x86-64-v3.  Without arguments: every Python from 3.11 to 3.14 on the path or in pyenv.  The wheel goes
into each of them that Numba has wheels for, the sdist into the first, where the extra `all` is looked at too: do its parts go together?
The last line says all of it in short.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from pathlib import Path

from benchmarks.cold import FEATURE, FEATURES

ROOT = Path(__file__).parents[2]
FIRST, OTHERS = 5.0, 12.0  # s until the first simulation, and until any other feature is there
BITCODE = "leastaction/bitcode/"

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

ANOTHER_PROCESSOR = {"NUMBA_CPU_NAME": "x86-64-v3", "NUMBA_CPU_FEATURES": "+avx,+avx2,+fma,+bmi,+bmi2,+f16c,+lzcnt,+movbe,+popcnt"}


def build(into: Path, work: Path) -> tuple[Path, Path]:
    """(wheel, sdist)"""
    maker = new_environment(work / "maker", sys.executable)
    run(maker, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "hatchling")
    run(maker, "-m", "hatchling", "build", "-t", "sdist", "--directory", str(into), cwd=ROOT)
    made = os.environ.get("LEASTACTION_BUILD_BITCODE", "1")  # what hatch_build.py asks for is installed by pip
    run(maker, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", str(into), str(ROOT), LEASTACTION_BUILD_BITCODE=made)
    return max(into.glob("*.whl"), key=os.path.getmtime), max(into.glob("*.tar.gz"), key=os.path.getmtime)


def check_contents(wheel: Path, sdist: Path) -> None:
    """All that git knows of the package is in the wheel, and nothing else but intermediate code; the sdist can be built from and tested."""
    known = subprocess.run(["git", "ls-files", "src/leastaction"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    wanted = {name.removeprefix("src/") for name in known}
    names = zipfile.ZipFile(wheel).namelist()
    inside = {name for name in names if not name.split("/")[0].endswith(".dist-info") and not name.startswith(BITCODE)}
    assert inside == wanted, f"in the wheel but not in git: {sorted(inside - wanted)}; missing: {sorted(wanted - inside)}"
    with tarfile.open(sdist) as archive:
        names = {"/".join(name.split("/")[1:]) for name in archive.getnames()}
    assert {"pyproject.toml", "LICENSE", "README.md", "hatch_build.py", *known} <= names, sorted(set(known) - names)[:5]


def new_environment(folder: Path, python: str) -> Path:
    subprocess.run([python, "-m", "venv", str(folder)], check=True)
    return folder / "bin" / "python"


def run(python: Path, *words: str, cwd: Path | None = None, **environment: str) -> str:
    where, settings = cwd or python.parent, {**os.environ, **environment}
    done = subprocess.run([str(python), *words], cwd=where, capture_output=True, text=True, env=settings)
    if done.returncode:
        sys.exit(f"{python} {' '.join(words)[:200]}\n{done.stdout}\n{done.stderr}")
    return done.stdout


def cold_starts(python: Path, work: Path) -> list[str]:
    """Processor seconds until the first result of a feature with an empty cache; names of those that took too long."""
    print("processor seconds of the first use   from the wheel   from source")
    late = []
    for what in FEATURES:
        found = {}
        for way, settings in (("wheel", {}), ("source", {"LEASTACTION_BITCODE": "0", "LEASTACTION_AHEAD": "0"})):
            cache = str(work / f"cache {what} {way}")
            found[way] = run(python, "-c", FEATURE, what, LEASTACTION_CACHE_DIR=cache, **settings).split()
        assert found["wheel"][1] == found["source"][1], f"{what}: other numbers than from source"
        seconds = float(found["wheel"][0])
        print(f"{what:35} {seconds:16.1f} {float(found['source'][0]):13.1f}", flush=True)
        late += [what] if seconds > (FIRST if what == FEATURES[0] else OTHERS) else []
    if platform.machine() == "x86_64":
        found = run(python, "-c", FEATURE, FEATURES[0], LEASTACTION_CACHE_DIR=str(work / "another"), **ANOTHER_PROCESSOR).split()
        print(f"{FEATURES[0] + ', x86-64-v3':35} {float(found[0]):16.1f}")
    return late


def main() -> None:
    found = sys.argv[1:] or [p for minor in range(11, 15) if (p := a_python(f"3.{minor}"))]
    used: list[str] = []
    left_out: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        into = ROOT / "dist"
        into.mkdir(exist_ok=True)
        wheel, sdist = build(into, Path(folder))
        check_contents(wheel, sdist)
        print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.2f} MB; {sdist.name}: {sdist.stat().st_size / 1e6:.2f} MB; complete", flush=True)
        late = []
        for k, (what, python) in enumerate([(sdist, found[0]), *((wheel, p) for p in found)]):
            began = time.perf_counter()
            there = new_environment(Path(folder) / f"user{k}", python)
            if k > 1 and not has_numba(there, Path(folder)):
                left_out.append(python)
                print(f"{python}: left out, Numba has no wheel for it", flush=True)
                continue
            run(there, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", str(what))
            installed = time.perf_counter() - began
            tag = run(there, "-c", "import sys; print(sys.implementation.cache_tag)").strip()
            if what is wheel and tag == sys.implementation.cache_tag:
                late = cold_starts(there, Path(folder))
            words = run(there, "-c", USE).strip()
            print(f"{what.suffix[1:]:4} on {words}, installed in {installed:.0f} s", flush=True)
            if what is wheel:
                used.append(words.split(",")[0].removeprefix("Python "))
            else:
                run(there, "-m", "pip", "install", "--dry-run", "--quiet", "--disable-pip-version-check", f"{wheel}[all]")
                print("leastaction[all] resolves", flush=True)
            shutil.rmtree(there.parents[1])
    others = f", without Numba on {', '.join(left_out)}" if left_out else ""
    print(f"{'SLOW' if late else 'good'}: {wheel.name} and {sdist.name} complete, used on Python {', '.join(used)}{others}, [all] resolves")
    if late:
        sys.exit(f"slower than {FIRST:g} s for {FEATURES[0]}, {OTHERS:g} s for the others: {', '.join(late)}")


def a_python(version: str) -> str:
    """One of this version that can be started; empty if there is none."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    for python in (f"python{version}", *(str(path) for path in sorted(pyenv.glob(f"{version}.*/bin/python{version}"), reverse=True))):
        if shutil.which(python) and subprocess.run([python, "-c", ""], capture_output=True).returncode == 0:
            return python
    return ""


def has_numba(python: Path, folder: Path) -> bool:
    """Is there a wheel of Numba for this Python?"""
    words = ("-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary=:all:")
    return subprocess.run([str(python), *words, "-d", str(folder / "numba"), "numba"], capture_output=True).returncode == 0


if __name__ == "__main__":
    main()
