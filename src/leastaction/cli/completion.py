"""`leastaction completion`: what a shell needs to know to complete commands, options and their choices."""

from __future__ import annotations

import argparse

HELP = "print a script that completes leastaction's commands and options in bash, zsh or fish"
EPILOG = """examples:
  source <(leastaction completion bash)            # in ~/.bashrc; in ~/.zshrc: completion zsh
  leastaction completion fish > ~/.config/fish/completions/leastaction.fish"""

_BASH = """_leastaction() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} words=""
    if [ "$COMP_CWORD" -eq 1 ]; then
        COMPREPLY=($(compgen -W "{commands}" -- "$word"))
        return
    fi
    case "${{COMP_WORDS[1]}} $before" in
{choices}
    esac
    if [ -z "$words" ] && [[ $word == -* ]]; then
        case "${{COMP_WORDS[1]}}" in
{options}
        esac
    fi
    COMPREPLY=($(compgen -W "$words" -- "$word"))
}}
complete -o default -F _leastaction leastaction
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=("bash", "zsh", "fish"), help="which shell")


def run(arguments: argparse.Namespace) -> None:
    print(script(arguments.shell), end="")


def script(shell: str) -> str:
    """Of all commands there are."""
    known = _commands()
    return _fish(known) if shell == "fish" else _bash(known, shell)


def _commands() -> dict[str, argparse.ArgumentParser]:
    from . import make_parser

    (commands,) = (action for action in make_parser()._actions if isinstance(action, argparse._SubParsersAction))
    return dict(commands.choices)


def _bash(known: dict[str, argparse.ArgumentParser], shell: str) -> str:
    choices, options = [], []
    for command, parser in known.items():
        flags = [flag for action in parser._actions for flag in action.option_strings]
        options.append(f'        {command}) words="{" ".join(flags)}";;')
        for action in parser._actions:
            values = " ".join(map(str, action.choices or ()))
            if not values:
                continue
            # what stands in front of a value: its option, or, where it has none, the command
            choices += [f'        "{command} {before}") words="{values}";;' for before in action.option_strings or [command]]
    text = _BASH.format(commands=" ".join(known), choices="\n".join(choices), options="\n".join(options))
    return f"autoload -U +X bashcompinit && bashcompinit\n{text}" if shell == "zsh" else text


def _fish(known: dict[str, argparse.ArgumentParser]) -> str:
    lines = []
    for command, parser in known.items():
        lines.append(f"complete -c leastaction -n __fish_use_subcommand -a {command} -d {_quoted(parser.description or '')}")
        seen = f"'__fish_seen_subcommand_from {command}'"
        for action in parser._actions:
            values = " ".join(map(str, action.choices or ()))
            given = f" -xa {_quoted(values)}" if values else ""
            about = f" -d {_quoted((action.help or '').replace('%%', '%'))}"
            for flag in action.option_strings:
                kind = "-l" if flag.startswith("--") else "-s"
                lines.append(f"complete -c leastaction -n {seen} {kind} {flag.lstrip('-')}{given}{about}")
            if not action.option_strings and values:
                lines.append(f"complete -c leastaction -n {seen} -f -a {_quoted(values)}")
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
