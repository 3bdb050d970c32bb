#!/usr/bin/env bash
# Builds the guest in C: build.sh OUT. Needs clang and wasi-libc, which it installs where apt is there; the linker is rustc's.
set -euo pipefail
cd "$(dirname "$0")"
[ $# = 1 ] || { echo "usage: build.sh OUT" >&2; exit 2; }
mkdir -p "$1"
out=$(cd "$1" && pwd)
root=../../..
include=/usr/include/wasm32-wasi
lib=/usr/lib/wasm32-wasi

say() { echo "guest in C: $*" >&2; }

if ! (cd $root/wit && cksum -- *.wit) | cmp -s - bindings/wit.cksum; then
    say "wit/ has changed since its bindings were made: run scripts/bindings.sh"
    exit 1
fi

missing=()
command -v clang >/dev/null || missing+=(clang)
[ -e $include/stdlib.h ] && [ -e $lib/libc.a ] || missing+=(wasi-libc)
if [ ${#missing[@]} -gt 0 ]; then
    if ! command -v apt-get >/dev/null; then
        say "${missing[*]} missing and no apt here: install clang, and a wasi-libc with $include and $lib"
        exit 1
    fi
    sudo=
    [ "$(id -u)" = 0 ] || sudo=sudo
    say "installing ${missing[*]}"
    install() { DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq --no-install-recommends "${missing[@]}" >"$out/apt.log" 2>&1; }
    install || { $sudo apt-get update -qq >"$out/apt.log" 2>&1 && install; } || { cat "$out/apt.log" >&2; exit 1; }
fi

# Nothing to do while the result is newer than all that it is made of.
if [ -z "$(find split.c build.sh bindings $root/wit -newer "$out/split.wasm" -print -quit 2>&1)" ]; then exit 0; fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for source in split.c bindings/record_transform_component.c; do
    clang --target=wasm32-wasi --sysroot=/nonexistent -isystem $include -Ibindings -std=c11 -O2 -Wall -Wextra -Werror \
        -Wno-unused-parameter -c $source -o "$work/$(basename $source .c).o"
done
# The linker that ships with rustc: makes a component, by the type that the generated object carries.
tools=$(rustc --print sysroot)/lib/rustlib/$(rustc -vV | sed -n 's/^host: //p')/bin
"$tools/wasm-component-ld" --wasm-ld-path "$tools/gcc-ld/wasm-ld" --wasi-adapter none -m wasm32 --no-entry --strip-all \
    -L$lib $lib/crt1-reactor.o "$work/split.o" "$work/record_transform_component.o" \
    bindings/record_transform_component_component_type.o -lc -o "$work/split.wasm"
mv "$work/split.wasm" "$out/split.wasm"
