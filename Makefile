# The everyday commands; Meson does the work. CONTRIBUTING.md says more.
CC := $(if $(filter default,$(origin CC)),gcc,$(CC))
PREFIX ?= /usr/local
FUZZ_SECONDS ?= 60
export CC

all: build/vestal

build/vestal: deps web
	@tools/configure build release
	@ninja -C build --quiet

run: deps-run all
	@tools/demo

test: deps-test all
	@tools/run-tests

test-long: deps-test deps-fresh all
	@tools/run-tests --long
	@FUZZ_SECONDS=$(FUZZ_SECONDS) tools/fuzz
	@tools/test-fresh --if-possible

bench: all
	@bench/run

bench-server: all
	@bench/server

bench-fair: all
	@bench/fair

bench-symbols: all
	@bench/symbols

bench-agent: all deps-bench
	@bench/agent

bench-real: all deps-bench
	@bench/real

bench-web: all
	@bench/web

bench-library: all deps-bench
	@bench/library

fuzz: deps-test
	@FUZZ_SECONDS=$(FUZZ_SECONDS) tools/fuzz $(TARGETS)

install: all
	@tools/install-files "$(DESTDIR)" "$(PREFIX)"

# New pictures of all pages, for tests/browser/shots: look at each before it is committed.
shots: deps-test all
	@tools/renew-shots

# README's commands on a bare Debian: a root of its own; LOAD=6 adds six busy loops.
test-fresh: deps-fresh
	@tools/test-fresh

format check-format:
	@tools/format $@

web:
	@tools/build-web

deps:
	@tools/install-deps build

deps-run:
	@tools/install-deps build run

deps-test:
	@tools/install-deps build test

deps-fresh:
	@tools/install-deps fresh

deps-bench:
	@tools/install-deps bench

clean:
	rm -rf build build-* web/dist

.PHONY: all build/vestal run test test-long test-fresh shots bench bench-server bench-fair bench-symbols bench-agent bench-real bench-library bench-web fuzz install format check-format web deps \
	deps-run deps-test deps-fresh deps-bench clean
