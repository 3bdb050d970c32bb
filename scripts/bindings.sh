#!/usr/bin/env bash
# Makes the bindings of guests anew from wit/: those of the Rust SDK and those of the guest in C. Run it after a change of the
# contract, and commit what it writes. Tests compare the checksums of wit/ that it leaves beside the bindings.
set -euo pipefail
cd "$(dirname "$0")/.."
version=0.61.1
tools=${SLUICEBOX_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/sluicebox}/tools
bindgen=$tools/bin/wit-bindgen

if [ "$("$bindgen" --version 2>/dev/null)" != "wit-bindgen-cli $version" ]; then
    echo "bindings: building wit-bindgen $version, once (some minutes)" >&2
    env -u CARGO_TARGET_DIR cargo install --quiet --locked --root "$tools" wit-bindgen-cli --version $version \
        --no-default-features --features c,rust
fi

sums() { (cd wit && cksum -- *.wit); }

# One world a file. The first one on each plane has the types; the others take them from there.
rust=guest-sdk/src/bindings
mkdir -p $rust
types() { echo "sluicebox:component/$1@0.1.0=crate::bindings::$2::sluicebox::component::${1//-/_}"; }
generate() {
    local name=$1
    shift
    "$bindgen" rust wit --world "$name-component" --runtime-path ::wit_bindgen::rt --pub-export-macro --format \
        --generate-all -d PartialEq "$@" --out-dir $rust >/dev/null
    mv "$rust/${name//-/_}_component.rs" "$rust/${name//-/_}.rs"
}
shared=(--with "$(types types batch_transform)" --with "$(types log batch_transform)")
generate batch-transform
generate batch-validator "${shared[@]}" --with "$(types batch-types batch_transform)"
generate record-transform "${shared[@]}"
generate record-validator "${shared[@]}" --with "$(types record-types record_transform)"
sums >$rust/wit.cksum
cargo fmt -p sluicebox-guest-sdk

c=tests/guests/c/bindings
mkdir -p $c
"$bindgen" c wit --world record-transform-component --out-dir $c >/dev/null
sums >$c/wit.cksum
