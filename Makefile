# The menu. `make` prints it.

CARGO  ?= cargo
TARGET := $(or $(CARGO_TARGET_DIR),target)
DUEMQ  := $(TARGET)/release/duemq
SEED   ?= 1

.DEFAULT_GOAL := help
.PHONY: help run build test check fix bench sim audit acceptance acceptance-restarts

help: ## Print this menu.
	@echo 'make TARGET, where TARGET is'
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | awk -F '\t' '{ printf "  %-19s %s\n", $$1, $$2 }'

build: ## Build the release binary.
	$(CARGO) build --release --locked -p server

run: build ## Build and serve on the standard ports; data in ./duemq-data.
	$(DUEMQ) serve

test: ## Run all Rust tests, then real RocketMQ clients against the release binary.
	$(CARGO) test --workspace --locked
	$(MAKE) acceptance

acceptance: build ## Run only the real clients (what acceptance/passing.txt lists) on a fresh server.
	acceptance/with-server $(DUEMQ) acceptance/passing

acceptance-restarts: build ## Run the remoting suites and mqadmin with the server restarted between cases (20 minutes).
	RESTART=TERM acceptance/with-server $(DUEMQ) acceptance/run java-remoting java-remoting4 go-remoting mqadmin

check: ## Format, lints, documentation, house rules. Reads only.
	$(CARGO) fmt --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	RUSTDOCFLAGS='-D warnings' $(CARGO) doc --workspace --no-deps --document-private-items --locked
	$(CARGO) test --locked -p server --test it tidy

fix: ## Write what check would complain of, where a tool can.
	$(CARGO) clippy --workspace --all-targets --fix --allow-dirty --allow-staged
	$(CARGO) fmt

sim: ## Run the whole-node simulation under a seed: make sim SEED=4711
	$(CARGO) run --release --locked -p sim -- $(SEED)

bench: build ## Measure it, and Apache RocketMQ beside it; needs the standard ports and Maven (docs/performance.md).
	$(CARGO) build --release --locked -p bench
	rm -f $(TARGET)/bench.jsonl
	bench/run $(TARGET)/bench.jsonl
	bench/table $(TARGET)/bench.jsonl

audit: ## Check licences, advisories and sources of all dependencies (cargo-deny).
	@command -v cargo-deny > /dev/null || { echo 'cargo-deny is missing: cargo install --locked cargo-deny' >&2; exit 1; }
	$(CARGO) deny --all-features check
