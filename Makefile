# Two commands start here: `make demo` and `make test`. Everything else about the build is cargo's business.
.DEFAULT_GOAL := help
.PHONY: help setup build demo atlas test lint picture figures install uninstall dist clean
SHELL := /bin/sh

# Where `make install` puts the program; DESTDIR is for packagers.
PREFIX ?= /usr/local
export PREFIX DESTDIR

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
	@scripts/demo-takes
	@binary=$$(scripts/binary --demo) && scripts/kernel "$$binary" && echo "$$binary run demo" >&2 && "$$binary" run demo

atlas: ## compute the atlas of answers and write it into docs/atlas: hours, and an interrupted one continues
	@binary=$$(scripts/binary) && scripts/kernel "$$binary" && "$$binary" atlas build --out docs/atlas --cells runs/atlas --blocks 6 --scale 0.3 --for 40m

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
	@binary=$$(scripts/binary) && scripts/install "$$binary" "$$DESTDIR$$PREFIX"

uninstall: ## remove what `make install` installed
	@scripts/install --remove "$$DESTDIR$$PREFIX"

dist: ## build a release in target/release-files: archive, Debian packages, SBOM, licences, checksums
	@scripts/dist/release

clean: ## remove what the build made (runs/ stays: it is evidence)
	scripts/cargo clean
