"""Every warning is an error in the tests; Hypothesis does not mind that the first call of a kernel loads it; no test opens a window,
nor is anything compiled in a second process."""

import os
import signal

import pytest
from hypothesis import settings

settings.register_profile("kernels", deadline=None)
settings.load_profile("kernels")

os.environ.setdefault("LEASTACTION_AHEAD", "0")  # the cores are busy with tests; those of compiling ahead switch it on themselves


def pytest_configure(config):
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # started in the background of a shell: tests of Ctrl-C would wait for ever
        signal.signal(signal.SIGINT, signal.default_int_handler)
    config.addinivalue_line("filterwarnings", "error")


@pytest.fixture(autouse=True)
def no_windows(monkeypatch):
    """`la.show` in examples of the documentation does everything but open a window."""
    monkeypatch.setattr("webbrowser.open", lambda address: True)
