"""`tracehouse completion SHELL`: shell completion of commands and options."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from tracehouse.cli.output.streams import write_text


class Shell(StrEnum):
    """Shells with completion."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def completion(
    shell: Annotated[Shell, typer.Argument(metavar="bash|zsh|fish", help="Your shell.")],
) -> None:
    """Print the script that makes a shell complete commands and options.

    Append it to ~/.bashrc or ~/.zshrc; for fish, save it as
    ~/.config/fish/completions/tracehouse.fish.
    """
    from typer._completion_shared import get_completion_script

    script = get_completion_script(
        prog_name="tracehouse", complete_var="_TRACEHOUSE_COMPLETE", shell=shell
    )
    write_text(f"{script.strip()}\n")
