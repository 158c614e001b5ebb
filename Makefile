# Two commands start here: `make demo` and `make test`. Everything else about the build is cargo's business.
.DEFAULT_GOAL := help
.PHONY: help setup build demo test lint picture figures install uninstall dist clean
SHELL := /bin/sh

# Where `make install` puts the program; DESTDIR is for packagers.
PREFIX ?= /usr/local
SHARE = $(DESTDIR)$(PREFIX)/share

help: ## say what there is
	@sed -n 's/^\([a-z]*\):.*## /  make \1\t/p' Makefile | expand -t 18

# What `make setup` prepares for: build, demo, native, uml, vm, layers, programs or tests.
LEVEL ?= demo

setup: ## list and install the packages that LEVEL (demo) uses and this machine lacks; LEVEL=tests is everything
	@scripts/setup $(LEVEL)

build: ## build the program and print where it is
	@scripts/setup build
	@scripts/binary

demo: ## compare four filesystems for daily backups on a modelled USB disk, without root: some minutes, and once the kernel
	@scripts/setup demo
	@binary=$$(scripts/binary --demo) && scripts/kernel "$$binary" && echo "$$binary run demo" >&2 && "$$binary" run demo

test: ## run every test that can run here, and say which cannot and why; FULL=1 has long tests try every combination
	@scripts/setup tests
	@FULL="$(FULL)" scripts/test-tiers

lint: ## format, lints and links of the documentation, as .ci/run enforces them
	scripts/cargo fmt --all --check
	scripts/cargo clippy --locked --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" scripts/cargo doc --quiet --locked --workspace --no-deps --document-private-items
	@if command -v shellcheck >/dev/null; then \
		echo shellcheck && shellcheck -x .ci/run $$(grep -slE '^.!.*sh$$' scripts/* scripts/dist/*); \
	else \
		echo "shellcheck is not installed: the scripts were not checked" >&2; \
	fi

# The recorded run whose report is pictured; make picture RUN=runs/mine pictures another.
RUN ?= tests/runs/demo

picture: ## render docs/pictures/report.png, the README's picture of a real report (needs chromium)
	@binary=$$(scripts/binary) && scripts/picture "$$binary" "$(RUN)" docs/pictures/report.png

figures: ## run the demo and put its figures into README.md
	@binary=$$(scripts/binary) && scripts/kernel "$$binary" && scripts/demo-figures "$$binary"

install: ## build and install into PREFIX (/usr/local)
	@binary=$$(scripts/binary) && install -D -m 755 "$$binary" "$(DESTDIR)$(PREFIX)/bin/fsverdict" && \
		mkdir -p "$(SHARE)/man/man1" "$(SHARE)/bash-completion/completions" "$(SHARE)/zsh/site-functions" "$(SHARE)/fish/vendor_completions.d" && \
		"$$binary" man "$(SHARE)/man/man1" && install -D -m 644 -t "$(SHARE)/man/man5" "$(SHARE)/man/man1/fsverdict-plan.5" && rm "$(SHARE)/man/man1/fsverdict-plan.5" && \
		"$$binary" completions bash >"$(SHARE)/bash-completion/completions/fsverdict" && \
		"$$binary" completions zsh >"$(SHARE)/zsh/site-functions/_fsverdict" && \
		"$$binary" completions fish >"$(SHARE)/fish/vendor_completions.d/fsverdict.fish"
	@echo "installed $(DESTDIR)$(PREFIX)/bin/fsverdict, its man pages and completions"

uninstall: ## remove what `make install` installed
	rm -f "$(DESTDIR)$(PREFIX)/bin/fsverdict" "$(SHARE)/man/man1/fsverdict.1" "$(SHARE)"/man/man1/fsverdict-*.1
	rm -f "$(SHARE)/bash-completion/completions/fsverdict" "$(SHARE)/zsh/site-functions/_fsverdict" "$(SHARE)/fish/vendor_completions.d/fsverdict.fish"

dist: ## build a release in target/release-files: archive, Debian packages, SBOM, licences, checksums
	@scripts/dist/release

clean: ## remove what the build made (runs/ stays: it is evidence)
	scripts/cargo clean
