#!/usr/bin/env bash
# Gives the installed rustc a standard library for wasm32-unknown-unknown.
#
# Prints on stdout the rustflags that builds of guests need: nothing where rustc has the target itself, else
# --sysroot=DIR. Safe to run again: then it only prints. All other words go to stderr.
#
#   flags=$(scripts/wasm-target.sh) && export CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS="$flags"
#
# WASM_STD=rustup|debian forces one way (debian: even where the toolchain has the target); WASM_SYSROOT=DIR moves what is
# built, which lies in the user's cache folder otherwise, outside the clone, so that a clean clone finds it again.
set -euo pipefail

target=wasm32-unknown-unknown
cache=${SLUICEBOX_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/sluicebox}
sysroot=${WASM_SYSROOT:-$cache/wasm-sysroot}
lib=$sysroot/lib/rustlib/$target/lib
way=${WASM_STD:-auto}

say() { echo "wasm-target: $*" >&2; }
has_core() { compgen -G "$1/libcore-*.rlib" >/dev/null; }
answer_if_there() {
    if [ "$way" != debian ] && has_core "$(rustc --print target-libdir --target $target)"; then exit 0; fi
    if has_core "$lib" && rustc -vV | cmp -s - "$sysroot/rustc-vV"; then
        echo "--sysroot=$sysroot"
        exit 0
    fi
}

# The toolchain has it, or an earlier run built it for this very compiler.
answer_if_there
# One builder at a time; who waited looks again.
mkdir -p "$cache"
exec 9>"$cache/wasm-target.lock"
if command -v flock >/dev/null; then flock 9; fi
answer_if_there

# rustup is what most people have. Where the download crawls, the way below is quicker than waiting.
if [ "$way" != debian ] && command -v rustup >/dev/null; then
    say "adding $target with rustup"
    if timeout "${WASM_RUSTUP_SECONDS:-60}" rustup target add $target >/dev/null 2>&1 &&
        has_core "$(rustc --print target-libdir --target $target)"; then
        exit 0
    fi
    say "rustup could not add $target"
fi
[ "$way" != rustup ] || exit 1

# Build std from Debian's rust-src of the same release. Needs no root and changes no toolchain.
version=$(rustc -vV | sed -n 's/^release: //p')
if ! command -v apt-get >/dev/null; then
    say "no target from rustup and no apt-get: add the standard library of rustc $version for $target by hand"
    exit 1
fi
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
chmod 755 "$tmp"
mkdir -p "$tmp"/lists/partial "$tmp"/cache/archives/partial "$tmp"/seed/src
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep -v security | head -n1 || true)
mirror=${mirror:-http://deb.debian.org/debian}
for suite in trixie-backports forky sid; do
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $suite main"
done >"$tmp/sources.list"
apt=(-qq -oDir::Etc::SourceList="$tmp/sources.list" -oDir::Etc::SourceParts=/dev/null
    -oDir::State::Lists="$tmp/lists" -oDir::Cache="$tmp/cache" -oAPT::Sandbox::User=root
    -oAcquire::Languages=none -oAcquire::IndexTargets::deb::DEP-11::DefaultEnabled=false)
apt-get "${apt[@]}" update >&2
deb=$(apt-cache "${apt[@]}" madison rust-src | awk -v v="$version+" '!found && index($3, v) == 1 {print $3; found = 1}')
if [ -z "$deb" ]; then
    say "Debian has no rust-src $version now: add the standard library for $target by hand"
    exit 1
fi
say "building std $version for $target from rust-src $deb (about a minute, once)"
(cd "$tmp" && apt-get "${apt[@]}" download "rust-src=$deb" >&2 &&
    dpkg-deb --fsys-tarfile rust-src_*.deb | tar -x "./usr/src/rustc-$version/library")

cat >"$tmp/seed/Cargo.toml" <<'SEED'
[package]
name = "seed"
version = "0.0.0"
edition = "2024"

[workspace]

[profile.release]
panic = "abort"
SEED
echo '#![no_std]' >"$tmp/seed/src/lib.rs"
# Bitcode inside lets guests use link-time optimisation, as with the library that rustup ships.
(cd "$tmp/seed" && env -u CARGO_ENCODED_RUSTFLAGS -u RUSTFLAGS -u CARGO_BUILD_TARGET \
    RUSTC_BOOTSTRAP=1 CARGO_TARGET_DIR="$tmp/out" \
    __CARGO_TESTS_ONLY_SRC_ROOT="$tmp/usr/src/rustc-$version/library" \
    CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS=-Cembed-bitcode=yes \
    cargo build --quiet --release --target $target -Zbuild-std=std,panic_abort >&2)
rm -rf "$sysroot.new"
mkdir -p "$sysroot.new/lib/rustlib/$target/lib"
cp "$tmp/out/$target/release/deps/"*.rlib "$sysroot.new/lib/rustlib/$target/lib/"
rm -f "$sysroot.new/lib/rustlib/$target/lib"/libseed-*
rustc -vV >"$sysroot.new/rustc-vV"
rm -rf "$sysroot"
mv "$sysroot.new" "$sysroot"
echo "--sysroot=$sysroot"
