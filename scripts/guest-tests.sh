#!/usr/bin/env bash
# Runs the unit tests of the components in Rust, natively and without a host, and checks their format and lints.
#
# They are workspaces of their own, which a test of the host's workspace does not reach. Builds lie in the user's cache folder.
set -euo pipefail
cd "$(dirname "$0")/.."
cache=${SLUICEBOX_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/sluicebox}
unset CARGO_TARGET_DIR CARGO_BUILD_TARGET
# Not optimised and without debug information: the tests are small, and this compiles soonest.
export CARGO_PROFILE_DEV_DEBUG=0
for workspace in transforms tests/guests/rust; do
    (
        cd "$workspace"
        cargo fmt --all --check
        cargo clippy --quiet --locked --all-targets --target-dir "$cache/guest-tests" -- -D warnings
        cargo test --quiet --locked --lib --target-dir "$cache/guest-tests"
    )
done
