"""`remanence completion`: a script that completes commands, options and their values, for bash, zsh or fish.

The scripts are made of the declarations of the commands, and start no Python while somebody types.
"""

from __future__ import annotations

import re
from argparse import Action, ArgumentParser, Namespace
from typing import NamedTuple

from remanence.cli.output import Result
from remanence.cli.parser import COMMANDS, command, make_parser, subcommands

_FILE_OPTIONS = re.compile(r"DIR|FILE")
_BASH = """_remanence() {
  local cur prev word path="" plain="" options="" values="" i
  cur="${COMP_WORDS[COMP_CWORD]}"
  prev="${COMP_WORDS[COMP_CWORD-1]}"
  for ((i = 1; i < COMP_CWORD; i++)); do
    word="${path:+$path }${COMP_WORDS[i]}"
    case "$word" in
    @NAMES@) path="$word" ;;
    esac
  done
  case "$path" in
@WORDS@
  esac
  case "$path $prev" in
@VALUES@
  esac
  COMPREPLY=()
  case "$values" in
    "") if [[ "$cur" == -* ]]; then COMPREPLY=($(compgen -W "$options" -- "$cur"))
        elif [[ -n "$plain" ]]; then COMPREPLY=($(compgen -W "$plain" -- "$cur"))
        else compopt -o filenames; COMPREPLY=($(compgen -f -- "$cur")); fi ;;
    @files) compopt -o filenames; COMPREPLY=($(compgen -f -- "$cur")) ;;
    @spaces) COMPREPLY=($(compgen -W "$(remanence spaces 2>/dev/null)" -- "$cur")) ;;
    @any) ;;
    *) COMPREPLY=($(compgen -W "$values" -- "$cur")) ;;
  esac
}
complete -F _remanence remanence
"""
_ZSH_GROUP = """@NAME@() {
  local curcontext="$curcontext" state
  local -a line commands
  _arguments -C \\
    @SPECS@
  case $state in
    command)
      commands=(
@ROWS@
      )
      _describe command commands ;;
    rest)
      local next="@NAME@_${line[1]//-/_}"
      (( $+functions[$next] )) && $next ;;
  esac
}
"""
_ZSH_COMMAND = """@NAME@() {
  _arguments \\
    @SPECS@
}
"""
_ZSH_END = """__remanence_space_names() {
  local -a names
  names=(${(f)"$(remanence spaces 2>/dev/null)"})
  compadd -a names
}
if [ "$funcstack[1]" = "_remanence" ]; then _remanence "$@"; else compdef _remanence remanence; fi
"""
_FISH = """function __remanence_at
    set -l path
    for word in (commandline -opc)[2..-1]
        switch (string join ' ' -- $path $word)
            case @NAMES@
                set path $path $word
        end
    end
    test "$path" = "$argv[1]"
end
function __remanence_spaces
    remanence spaces 2>/dev/null
end
"""


@command("completion", "completion bash", "shell")
def completion(args: Namespace) -> Result:
    """Print a completion script. For bash, put `eval "$(remanence completion bash)"` into ~/.bashrc."""
    script = {"bash": _bash, "zsh": _zsh, "fish": _fish}[args.shell]()
    return Result({"shell": args.shell, "script": script}, script)


class _Command(NamedTuple):
    """A command, or all of them as "": its parser, and the commands that follow it with their summaries."""

    name: str
    parser: ArgumentParser
    below: dict[str, str]


def _commands() -> list[_Command]:
    """The command line itself, then every command."""
    root = make_parser()
    parsers = {"": root, **dict(subcommands(root))}
    helps = {each.name: each.help.partition(".")[0].rstrip() for each in COMMANDS}
    found = []
    for name, parser in parsers.items():
        group = f"{name} " if name else ""
        verbs = [each.removeprefix(group) for each in helps if each.startswith(group)]
        found.append(_Command(name, parser, {verb: helps[group + verb] for verb in verbs if " " not in verb}))
    return found


def _options(parser: ArgumentParser) -> list[Action]:
    return [action for action in parser._actions if action.option_strings]


def _arguments(parser: ArgumentParser) -> list[Action]:
    """The positional arguments that have given values."""
    return [action for action in parser._actions if not action.option_strings and action.choices]


def _choices(action: Action) -> list[str]:
    return [str(choice) for choice in action.choices or ()]


def _takes_value(action: Action) -> bool:
    return action.nargs != 0


def _bash() -> str:
    """Two tables, the words after each command and the values of each option, and a function that looks in them."""
    words, values, flags = [], [], []
    commands = _commands()
    for name, parser, below in commands:
        given = [choice for action in _arguments(parser) for choice in _choices(action)] if not below else []
        strings = [text for action in _options(parser) for text in action.option_strings]
        words.append(f'    "{name}") plain="{" ".join([*below, *given])}"; options="{" ".join(strings)}" ;;')
        for action in _options(parser):
            for text in action.option_strings:
                if _choices(action):
                    values.append(f'    "{name} {text}") values="{" ".join(_choices(action))}" ;;')
                elif _takes_value(action):
                    flags.append(f'    "{name} {text}") values="{_kind(action)}" ;;')
    names = "|".join(f'"{each.name}"' for each in commands if each.name)
    script = _BASH.replace("@NAMES@", names).replace("@WORDS@", "\n".join(words))
    return script.replace("@VALUES@", "\n".join(values + flags))


def _kind(action: Action) -> str:
    """What the value of an option is: "@files", "@spaces", or "@any"."""
    if not {"--space", "--also"}.isdisjoint(action.option_strings):
        return "@spaces"
    return "@files" if _FILE_OPTIONS.search(str(action.metavar or "")) else "@any"


def _zsh() -> str:
    """A function for each command with the specifications that `_arguments` takes."""
    functions = []
    for name, parser, below in _commands():
        specs = [_zsh_option(action) for action in _options(parser)]
        if below:
            rows = [f"    {_quoted(f'{verb}:{summary}')}" for verb, summary in below.items()]
            specs += ["'1: :->command'", "'*:: :->rest'"]
            body = _ZSH_GROUP.replace("@ROWS@", "\n".join(rows))
        else:
            given = [f"'*:{a.dest}:({' '.join(_choices(a))})'" for a in _arguments(parser)]
            specs += given or ["'*:argument:_files'"]
            body = _ZSH_COMMAND
        function = "_remanence" + "".join(f"_{part}" for part in name.replace("-", "_").split())
        text = body.replace("@NAME@", function).replace("@SPECS@", " \\\n    ".join(specs))
        functions.append(text)
    return "#compdef remanence\n\n" + "\n".join(functions) + _ZSH_END


def _zsh_option(action: Action) -> str:
    text = re.sub(r"([\[\]:])", r"\\\1", action.help or "")
    again = "*" if type(action).__name__ == "_AppendAction" else ""
    value = ""
    if _choices(action):
        value = f":value:({' '.join(_choices(action))})"
    elif _takes_value(action):
        value = {"@files": ":file:_files", "@spaces": ":space:__remanence_space_names", "@any": ":value: "}[
            _kind(action)
        ]
    return " ".join(_quoted(f"{again}{option}[{text}]{value}") for option in action.option_strings)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _fish() -> str:
    """One line for each command and each option, with the condition under which it is offered."""
    commands = _commands()
    names = " ".join(f"'{each.name}'" for each in commands if each.name)
    lines = [_FISH.replace("@NAMES@", names).rstrip()]
    for name, parser, below in commands:
        here = f"-n '__remanence_at \"{name}\"'"
        for verb, summary in below.items():
            lines.append(f"complete -c remanence {here} -f -a {verb} -d {_fish_quoted(summary)}")
        for argument in [] if below else _arguments(parser):
            lines.append(f"complete -c remanence {here} -f -a '{' '.join(_choices(argument))}'")
        for action in _options(parser):
            parts = [f"-l {o[2:]}" if o.startswith("--") else f"-s {o[1:]}" for o in action.option_strings]
            value = ""
            if _choices(action):
                value = f" -x -a '{' '.join(_choices(action))}'"
            elif _takes_value(action):
                value = {"@files": " -r -F", "@spaces": " -x -a '(__remanence_spaces)'", "@any": " -x"}[_kind(action)]
            lines.append(f"complete -c remanence {here} {' '.join(parts)}{value} -d {_fish_quoted(action.help or '')}")
    return "\n".join(lines) + "\n"


def _fish_quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
