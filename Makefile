# The commands of this repository. Each does its own set-up and says so in a line.
# One profile, one set of features and one target folder for all of them, so that dependencies are compiled once.

CACHE ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/sluicebox
export CARGO_TARGET_DIR ?= $(CACHE)/target
export SLUICEBOX_CACHE ?= $(CACHE)
CARGO ?= cargo

# Always the same packages and targets: cargo unifies features over what it is asked to build, and other features mean other dependencies.
BUILD = $(CARGO) build --release --workspace --bins --examples

.PHONY: demo test bench lint deny setup setup-test components dist

## A topic of 200,000 orders becomes a table, before your eyes.
demo: setup components
	$(BUILD)
	@"$(CARGO_TARGET_DIR)/release/examples/demo"

## Everything that must hold. CI runs this.
test: setup-test components deny
	$(CARGO) fmt --all --check
	@scripts/guest-tests.sh
	$(BUILD)
	$(CARGO) test --release --workspace

## Speed, from counted ground truth; also written as bench.json in the target folder.
bench: setup-test components
	$(BUILD)
	@"$(CARGO_TARGET_DIR)/release/examples/bench"

## Form and lints. Checking compiles the dependencies' interfaces once more, so it is not part of the tests.
lint: setup
	$(CARGO) fmt --all --check
	$(CARGO) clippy --release --workspace --all-targets -- -D warnings

## Licences, bans and sources of dependencies; advisories where their database is at hand.
deny:
	@scripts/deny.sh

setup:
	@scripts/setup.sh build

setup-test:
	@scripts/setup.sh test

components: setup
	@scripts/components.sh "$(CARGO_TARGET_DIR)/components"
	@mkdir -p examples/orders/components
	@cp "$(CARGO_TARGET_DIR)/components/luhn.wasm" "$(CARGO_TARGET_DIR)/components/mask.wasm" examples/orders/components/

## A binary to publish, with link-time optimisation.
dist: setup
	$(CARGO) build --profile dist -p sluicebox-server
