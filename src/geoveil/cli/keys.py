"""`geoveil key`: make, show and trust the keys that sign certificates."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from geoveil.cli import terminal
from geoveil.cli.command import Program, command
from geoveil.cli.options import as_json


@click.group(cls=Program, examples=(("A key of the city's lab:", "geoveil key create city-lab"),))
def key() -> None:
    """Make, show and trust the keys that sign certificates.

    'geoveil points --sign NAME.pem' signs with the private key; 'geoveil verify --key NAME.pub.pem' checks.
    """


@command(
    "Two files in this folder:",
    "geoveil key create city-lab",
    "For a program:",
    "geoveil key create city-office --json",
    group=key,
)
@click.argument("name")
@click.option("--out", metavar="FOLDER", type=click.Path(file_okay=False), default=".", help="[default: this folder]")
@click.option(
    "--passphrase",
    is_flag=True,
    help="Encrypt the private key; the passphrase is asked for, or read from GEOVEIL_KEY_PASSPHRASE.",
)
@as_json
def create(name: str, out: str, passphrase: bool, as_json: bool) -> None:
    """Make a new key: NAME.pem is private and signs, NAME.pub.pem is public and checks."""
    from geoveil.certificates import SigningKey
    from geoveil.certificates.signing_keys import PASSPHRASE
    from geoveil.errors import FileUnavailable

    made, folder = SigningKey.create(name), Path(out)
    private, public = folder / f"{name}.pem", folder / f"{name}.pub.pem"
    for path in (private, public):
        if path.exists():
            raise FileUnavailable(str(path), "a file of this name exists", "a new file", "Choose another name.")
    secret = os.environ.get(PASSPHRASE) if passphrase else None
    if passphrase and not secret:
        if not sys.stdin.isatty():
            raise click.UsageError(f"Without a terminal, --passphrase reads {PASSPHRASE}: set it.")
        secret = click.prompt("Passphrase", hide_input=True, confirmation_prompt=True, err=True)
    made.save(private, passphrase=secret)
    made.public.save(public)
    if as_json:
        terminal.json({"private": str(private), "public": str(public), "fingerprint": made.public.fingerprint})
        return
    lines = [("private", f"{private}: keep it secret, and keep a copy"), ("public", f"{public}: publish it")]
    terminal.say(terminal.grid([*lines, ("fingerprint", made.public.fingerprint)]))


@command("Whose key is it?", "geoveil key show city-lab.pub.pem", group=key)
@click.argument("public", metavar="FILE", type=click.Path(readable=False))
@as_json
def show(public: str, as_json: bool) -> None:
    """Show the fingerprint of a public key, to compare it with the one that its owner publishes."""
    from geoveil.certificates import PublicKey

    shown = PublicKey.load(public)
    if as_json:
        terminal.json({"name": shown.name, "fingerprint": shown.fingerprint})
    else:
        terminal.answer(f"{shown.name}: {shown.fingerprint}")


@command("From now on, without --key:", "geoveil key trust city-lab.pub.pem", group=key)
@click.argument("public", metavar="FILE", type=click.Path(readable=False))
def trust(public: str) -> None:
    """Trust a public key: 'geoveil verify' then knows its signatures by its name.

    Compare its fingerprint first with the one that its owner publishes. Keys are kept in a folder of your settings, or
    in the folder GEOVEIL_TRUSTED_KEYS; removing the file there ends the trust.
    """
    from geoveil.certificates import PublicKey
    from geoveil.certificates.signing_keys import trusted_folder, trusted_keys

    trusted, folder = PublicKey.load(public), trusted_folder()
    if trusted in trusted_keys():
        terminal.say(f"{trusted} is trusted already.")
        return
    folder.mkdir(parents=True, exist_ok=True)
    kept = trusted.save(folder / f"{trusted.name}.pem")
    terminal.say(f"{trusted} is trusted: {kept}")
