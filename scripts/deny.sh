#!/usr/bin/env bash
# cargo deny: licences, bans and sources always; advisories where their database can be had, else one line says that it could not.
set -euo pipefail
tools=${SLUICEBOX_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/sluicebox}/tools
deny=$(command -v cargo-deny || echo "$tools/bin/cargo-deny")
if [ ! -x "$deny" ]; then
    echo "deny: building cargo-deny, once" >&2
    env -u CARGO_TARGET_DIR cargo install --quiet --locked --root "$tools" cargo-deny --version 0.20.2
fi
"$deny" --all-features check --hide-inclusion-graph licenses bans sources
if timeout 60 "$deny" --all-features check --hide-inclusion-graph advisories 2>"$tools/advisories.log"; then
    echo "deny: no advisory concerns us" >&2
elif grep -qiE "failed to (fetch|open|clone)|unable to|network|timed out|could not" "$tools/advisories.log" || [ ! -s "$tools/advisories.log" ]; then
    echo "deny: the database of advisories is not at hand; advisories were not checked" >&2
else
    cat "$tools/advisories.log" >&2
    exit 1
fi
