"""What a wheel gets beside the sources: intermediate code, from which new machines start sooner (src/leastaction/compiling/bitcode.py).

    LEASTACTION_BUILD_BITCODE=1 pip wheel .         made for the Python and the kind of machine that build; takes minutes
    LEASTACTION_BUILD_BITCODE=FOLDER pip wheel .    what `leastaction cache --bitcode FOLDER` has made there, with one Python or several

Without the variable a wheel has the sources only, and building it needs nothing but hatchling.  Either way it can be installed everywhere:
where the intermediate code does not fit, kernels are compiled from source.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

WANTED = os.environ.get("LEASTACTION_BUILD_BITCODE", "0")


class Bitcode(BuildHookInterface):
    made = None

    def dependencies(self):
        """What compiling the kernels needs."""
        return self.metadata.core.dependencies if WANTED == "1" else []

    def initialize(self, version, build_data):
        if self.target_name != "wheel" or version == "editable" or WANTED in ("", "0"):
            return
        folder = WANTED
        if WANTED == "1":
            folder = self.made = tempfile.mkdtemp()
            path = [str(Path(self.root) / "src"), os.environ.get("PYTHONPATH")]  # by which pip finds what it has installed for this
            environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, path))}
            subprocess.run([sys.executable, "-m", "leastaction", "cache", "--bitcode", folder], env=environment, check=True)
        elif not Path(WANTED).is_dir():
            raise FileNotFoundError(f"LEASTACTION_BUILD_BITCODE={WANTED} is neither 0, 1 nor a folder")
        build_data["force_include"][str(Path(folder).absolute())] = "leastaction/bitcode"

    def finalize(self, version, build_data, artifact_path):
        if self.made:
            shutil.rmtree(self.made)
