"""Completion scripts, tried in the shells themselves."""

import shutil
import subprocess

import pytest

from leastaction.cli import COMMANDS, main
from leastaction.cli.completion import script


def completed(*words):
    """What bash offers after these words, the last of which is not finished."""
    line = " ".join(f"'{word}'" for word in words)
    ask = f"{script('bash')}\nCOMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _leastaction; echo \"${{COMPREPLY[@]}}\""
    return subprocess.run(["bash", "-c", ask], capture_output=True, text=True, check=True).stdout.split()


@pytest.mark.skipif(not shutil.which("bash"), reason="bash is not installed")
def test_bash_completes_commands_options_and_choices():
    assert set(completed("leastaction", "")) == set(COMMANDS)
    assert completed("leastaction", "inf") == ["info"]
    assert "--duration" in completed("leastaction", "run", "robot.urdf", "--d")
    assert completed("leastaction", "run", "robot.urdf", "--limits", "st") == ["stop"]
    assert "rk4" in completed("leastaction", "run", "robot.urdf", "--integrator", "r")
    assert completed("leastaction", "completion", "f") == ["fish"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_option_of_every_command_is_known(shell, capsys):
    assert main(["completion", shell]) == 0
    text = capsys.readouterr().out
    for command in COMMANDS:
        assert command in text
    assert ("-l duration" if shell == "fish" else "--duration") in text


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_scripts_are_well_formed(shell):
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed")
    done = subprocess.run([shell, "-n"], input=script(shell), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
