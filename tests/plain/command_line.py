"""Every option and argument of the commands, given all sorts of text: they do it, or say in a sentence why not."""

import argparse
import signal

import pytest

import leastaction as la
from leastaction.cli import main, make_parser

TEXTS = [
    "", "nobody", "a\0b", "-1", "0", "0.5", "nan", "inf", "1e400", "9" * 5000, "m.sexp", "r.npz", "[", "{}", "upper=1j", "upper=nan",
    "nobody=1", "upper=", "=", "1,2", "-", "..", "\N{SNOWMAN}", "x=1:2:3", "dt=0:0:0", "integrator=nobody",
]  # fmt: skip
WORKING = {
    "info": ["m.sexp"], "run": ["m.sexp", "--dt", "0.01", "--duration", "0.02"], "sweep": ["m.sexp", "--param", "upper=0:1:2"],
    "convert": ["m.sexp", "o.urdf"], "gallery": ["--list", "heavy-top"], "completion": ["bash"],
}  # fmt: skip
PATIENCE = 60  # s for one command


def lines(name):
    """A working command with one of its words exchanged, or one more option."""
    words = WORKING[name]
    commands = next(action for action in make_parser()._actions if isinstance(action, argparse._SubParsersAction))
    for option in commands.choices[name]._actions:
        if option.option_strings and option.nargs != 0:
            word = option.option_strings[-1]
            yield from ([name, *words, *([f"{word}={text}"] if option.nargs is None else [word, text])] for text in TEXTS)
    for k, word in enumerate(words):
        if not word.startswith("-"):
            yield from ([name, *words[:k], text, *words[k + 1 :]] for text in TEXTS)


@pytest.mark.parametrize("name", WORKING)
def test_every_word(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    model = la.examples.double_pendulum().compile()
    la.simulate(model, dt=0.01, steps=3).save("r.npz")

    def hangs(*_):
        raise AssertionError(f"takes more than {PATIENCE} s")

    before = signal.signal(signal.SIGALRM, hangs)
    try:
        for line in lines(name):
            la.save(model.description, "m.sexp")  # some lines write over it
            signal.alarm(PATIENCE)
            try:
                code = main(line)
            except SystemExit as error:  # of argparse, which has said why
                code = error.code
            except BaseException as error:
                raise AssertionError(f"{[word[:40] for word in line]}: {type(error).__name__}: {error}") from error
            said = capsys.readouterr()
            assert code in (0, 1, 2) and (code == 0 or said.out + said.err) and "Traceback" not in said.err, line
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
