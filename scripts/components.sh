#!/usr/bin/env bash
# Builds all components, ours and those of the tests, and puts them into a folder: components.sh OUT
#
# Prints one line per component. Safe to run again, and quick when nothing has changed. Builds lie in the user's cache
# folder, apart from the host's, for they have another target, profile and lock file.
set -euo pipefail
cd "$(dirname "$0")/.."
[ $# = 1 ] || { echo "usage: components.sh OUT" >&2; exit 2; }
mkdir -p "$1"
out=$(cd "$1" && pwd)
cache=${SLUICEBOX_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/sluicebox}
build=$cache/components
target=wasm32-unknown-unknown

flags=$(scripts/wasm-target.sh)

# Flags meant for the host's build (warnings, coverage) have no place in a guest's.
unset RUSTFLAGS CARGO_ENCODED_RUSTFLAGS CARGO_BUILD_TARGET CARGO_BUILD_RUSTFLAGS RUSTC_WORKSPACE_WRAPPER CARGO_TARGET_DIR
if [ -n "$flags" ]; then export CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS=$flags; fi

# Puts a component where it belongs, leaving alone what is the same, so that nothing is compiled anew because of its date.
put() {
    local name=$1 file=$2 state="built"
    if cmp -s "$file" "$out/$name.wasm"; then
        state="unchanged"
    else
        cp "$file" "$out/.$name.new"
        mv "$out/.$name.new" "$out/$name.wasm"
    fi
    echo "component $name: $(($(wc -c <"$file") / 1024)) KiB, $state"
}

# All members of a cargo workspace, built where its own configuration is seen.
rust() {
    (cd "$1" && cargo build --quiet --locked --release --target $target --target-dir "$build")
    local manifest name
    for manifest in "$1"/*/Cargo.toml; do
        name=$(sed -n 's/^name = "\(.*\)"$/\1/p' "$manifest" | head -n1)
        put "$name" "$build/$target/release/${name//-/_}.wasm"
    done
}

rust transforms
rust tests/guests/rust
tests/guests/c/build.sh "$build/c"
for file in "$build"/c/*.wasm; do
    put "$(basename "$file" .wasm)" "$file"
done
