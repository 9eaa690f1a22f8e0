"""`tracehouse completion SHELL`: what lets a shell complete our command lines."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from cli.output.streams import write_text


class Shell(StrEnum):
    """Shells that can complete our command lines."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def completion(
    shell: Annotated[Shell, typer.Argument(metavar="bash|zsh|fish", help="The shell.")],
) -> None:
    """Print the script that lets a shell complete commands and options.

    bash and zsh read it from ~/.bashrc or ~/.zshrc, fish from
    ~/.config/fish/completions/tracehouse.fish.
    """
    from typer._completion_shared import get_completion_script

    script = get_completion_script(
        prog_name="tracehouse", complete_var="_TRACEHOUSE_COMPLETE", shell=shell
    )
    write_text(f"{script.strip()}\n")
