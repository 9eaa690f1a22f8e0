"""`tracehouse token`: access to the service of a store."""

from __future__ import annotations

from typing import Annotated

import typer

from tracehouse.cli.help import command_group
from tracehouse.cli.options import DEFAULT_STORE, StorePath, with_options
from tracehouse.cli.output.options import OutputOptions
from tracehouse.cli.output.streams import write_lines, write_note

app = command_group(
    "Create, list and revoke access tokens of a store's service. A running service applies "
    "changes at once.",
    short="Create, list and revoke access tokens of a store's service.",
)

_Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the token.")]


@app.command()
def create(
    name: _Name,
    *,
    scope: Annotated[
        list[str],
        typer.Option(
            metavar="ingest|read|sql|triage|upkeep|admin",
            help="What the bearer may do; admin allows everything.  [repeatable]",
        ),
    ],
    pool: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Only for dumps of devices in this pool.  [repeatable]"),
    ] = None,
    expires: Annotated[
        int | None,
        typer.Option(
            min=1, max=36500, metavar="DAYS", help="Let the token expire after this many days."
        ),
    ] = None,
    store: StorePath = DEFAULT_STORE,
) -> None:
    """Create a token and print its secret, which is not stored and cannot be shown again.

    Raises:
        BadParameter: A scope does not exist.
    """
    from tracehouse.cli.serve.access.audit import audit_command
    from tracehouse.cli.serve.access.tokens import TokenScope, create_token

    if not set(scope) <= set(TokenScope):
        raise typer.BadParameter(f"wanted one of {', '.join(TokenScope)}", param_hint="'--scope'")
    scopes = [TokenScope(one) for one in scope]
    secret = create_token(store, name, scopes=scopes, pools=pool or (), expires_days=expires)
    audit_command(store, "token_created", name)
    write_note("note: the secret is shown only once; send it as 'Authorization: Bearer SECRET'")
    write_lines([secret])


@app.command("list")
@with_options
def list_(store: StorePath = DEFAULT_STORE, *, options: OutputOptions) -> None:
    """List the tokens, without their secrets."""
    import pyarrow as pa

    from tracehouse.cli.serve.access.tokens import read_tokens

    texts, time = pa.list_(pa.string()), pa.timestamp("us", "UTC")
    schema = pa.schema(
        {
            "name": pa.string(),
            "scopes": texts,
            "pools": texts,
            "created_at": time,
            "expires_at": time,
        }
    )
    tokens = read_tokens(store)
    options.write_rows((token.model_dump(exclude={"sha256"}) for token in tokens), schema)


@app.command()
def revoke(name: _Name, *, store: StorePath = DEFAULT_STORE) -> None:
    """Revoke a token: a running service refuses its next request."""
    from tracehouse.cli.serve.access.audit import audit_command
    from tracehouse.cli.serve.access.tokens import revoke_token

    revoke_token(store, name)
    audit_command(store, "token_revoked", name)
    write_note(f"note: the token '{name}' is revoked")
