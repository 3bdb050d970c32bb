#!/usr/bin/env bash
# Sees to the system packages that a build or the tests need: installs the missing ones where apt is there and we may, else names them.
#   scripts/setup.sh build|test
set -euo pipefail
what=${1:-build}
say() { echo "setup: $*" >&2; }

# command or file that shows that it is there : Debian package
needs=(
    "pkg-config:pkg-config"
    "make:make"
    "cc:gcc"
    "c++:g++"
    "/usr/include/openssl/ssl.h:libssl-dev"
    "/usr/include/zlib.h:zlib1g-dev"
)
if [ "$what" = test ]; then
    needs+=("java:openjdk-17-jre-headless" "mvn:maven" "openssl:openssl" "curl:curl")
fi

missing=()
for need in "${needs[@]}"; do
    sign=${need%%:*} package=${need##*:}
    case "$sign" in
        /*) [ -e "$sign" ] || missing+=("$package") ;;
        *) command -v "$sign" >/dev/null || missing+=("$package") ;;
    esac
done
command -v cargo >/dev/null || { say "Rust is missing: install it with rustup (https://rustup.rs), the version is in rust-toolchain.toml"; exit 1; }
if [ ${#missing[@]} -eq 0 ]; then
    say "all system packages for '$what' are there"
    exit 0
fi
if ! command -v apt-get >/dev/null; then
    say "please install what Debian calls: ${missing[*]}"
    exit 1
fi
sudo=""
[ "$(id -u)" = 0 ] || sudo=sudo
say "installing ${missing[*]}"
$sudo apt-get -qq update
DEBIAN_FRONTEND=noninteractive $sudo apt-get -qq install -y --no-install-recommends "${missing[@]}" >/dev/null
