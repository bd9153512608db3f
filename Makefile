# Short commands for CMake; `make help` lists them.
PREFIX ?= /usr/local
SECONDS ?= 60
JOBS ?= $(shell nproc)
export SOA_JOBS = $(JOBS)
export CMAKE_GENERATOR ?= $(if $(shell command -v ninja),Ninja,Unix Makefiles)
unexport MAKEFLAGS SECONDS

PAIRS ?= 1000000
.PHONY: all demo view python test bench bench-python python-asan compare counts gjk-campaign identity-campaign kill-campaign io-fault-campaign alloc-fault-campaign oscillator-campaign grapple-figures playground install fuzz format format-check lint surface api setup clean help

configure = mkdir -p build && { cmake --preset release $(1) $(CMAKE_ARGS) >build/configure.log 2>&1 || { cat build/configure.log; exit 1; }; \
  sed -n '/^CMake Warning/,/^-- /{/^-- /!p}' build/configure.log; }
build = env -u MAKELEVEL cmake --build build -j $(JOBS)

all: ## build the release and its tests: build/soa; then (cd build && ctest)
	@scripts/setup.sh --check build || { echo "install them with: make setup" >&2; exit 1; }
	@$(call configure)
	@$(build)

demo: ## install what is missing, build, and run the main job; results in build/demo
	@scripts/setup.sh build
	@$(call configure)
	@$(build) --target soa_program
	@build/soa demo --out build/demo

view: ## install what is missing, build, and show the satellite being caught in the browser; Ctrl-C ends
	@scripts/setup.sh build
	@$(call configure)
	@$(build) --target soa_program
	@build/soa view grapple --open

test: ## install what is missing, then run every test: gcc, sanitizers, clang
	@scripts/setup.sh build test
	@scripts/test.sh

bench: ## install the peers and measure against them: build/bench.json, build/bench.svg
	@scripts/setup.sh build bench
	@scripts/peers.sh
	@$(call configure,-DSOA_BENCH=ON)
	@$(build) --target bench

compare: ## answers and times of every public call against those of AGAINST=COMMIT; TASK=count: instructions
	@scripts/setup.sh --check build || { echo "install them with: make setup" >&2; exit 1; }
	@scripts/compare.py --against $(or $(AGAINST),HEAD) --task $(or $(TASK),time) $(COMPARE_ARGS)

bench-python: ## time calls through Python against C, Pinocchio and MuJoCo in ROUNDS (101): rows added to build/bench.json
	@scripts/setup.sh build bench python
	@$(call configure,-DSOA_BENCH=ON)
	@$(build) --target soa_installed
	@scripts/python.sh
	@scripts/peers.sh
	@$(build) --target python_calls
	@python=build/peers/bin/python; $$python -c 'import soa, numpy' 2>/dev/null || python=build/python/bin/python; \
	  $$python bench/python.py --calls build/bench/python_calls.so --json build/bench.json --rounds $(or $(ROUNDS),101)

counts: ## count operations as R87 does: tables printed, build/operation-counts.svg drawn
	@scripts/setup.sh --check build || { echo "install them with: make setup" >&2; exit 1; }
	@$(call configure)
	@$(build) --target soa_counts >build/counts.log || { cat build/counts.log; exit 1; }
	@build/soa_counts build/operation-counts.svg

gjk-campaign: ## judge PAIRS (1000000) distances of convex shapes, random and adversarial, by enumeration of features
	@scripts/setup.sh --check build test || { echo "install them with: make setup" >&2; exit 1; }
	@$(call configure)
	@$(build) --target test_distance >build/gjk.log || { cat build/gjk.log; exit 1; }
	@SOA_PAIRS=$(PAIRS) build/test_distance

grapple-figures: ## run both grapples and draw the pictures of docs/grapple.md: docs/images/grapple-*.svg
	@scripts/setup.sh --check build || { echo "install them with: make setup" >&2; exit 1; }
	@$(call configure)
	@$(build) --target soa_grapple_figures soa_program >build/figures.log || { cat build/figures.log; exit 1; }
	@build/soa_grapple_figures scenarios docs/images
	@build/soa sim scenarios/grapple.yaml --diagram build/grapple.dot
	@if command -v dot >/dev/null; then dot -Tsvg build/grapple.dot -o docs/images/grapple-phases.svg; else echo "without Graphviz the diagram stays build/grapple.dot"; fi

identity-campaign: ## try the papers' identities TRIES (10000) times in all, at random states of models of every family
	@scripts/setup.sh --check build || { echo "install them with: make setup" >&2; exit 1; }
	@$(call configure)
	@$(build) --target soa_program >build/identity-campaign.log || { cat build/identity-campaign.log; exit 1; }
	@scripts/identity-campaign.sh build/soa $(or $(TRIES),10000) $(SEED)

kill-campaign: ## kill runs at KILLS (1,000) random instants and take them up again: the same bytes
	@scripts/setup.sh --check build || { echo "install them with: make setup" >&2; exit 1; }
	@$(call configure)
	@$(build) --target soa_program >build/kill-campaign.log || { cat build/kill-campaign.log; exit 1; }
	@scripts/kill-campaign.sh build/soa $(or $(KILLS),1000)

io-fault-campaign: ## fail every call that opens, writes, synchronises, renames or closes a file: nothing is lost
	@scripts/setup.sh --check build || { echo "install them with: make setup" >&2; exit 1; }
	@$(call configure)
	@$(build) --target soa_program >build/io-fault-campaign.log || { cat build/io-fault-campaign.log; exit 1; }
	@scripts/io-fault-campaign.sh build/soa $(or $(EVERY),1)

oscillator-campaign: ## oscillators of 1 Hz to 1 MHz by every method, order and tolerance: errors within 100 tolerances, or a reason
	@scripts/setup.sh --check build test || { echo "install them with: make setup" >&2; exit 1; }
	@$(call configure)
	@$(build) --target test_oscillators >build/oscillators.log || { cat build/oscillators.log; exit 1; }
	@SOA_OSCILLATORS=all build/test_oscillators

alloc-fault-campaign: ## fail every allocation up to the 2,000th and 1,000 later ones, in every command: no crash, no false success
	@scripts/setup.sh --check build || { echo "install them with: make setup" >&2; exit 1; }
	@$(call configure)
	@$(build) --target soa_program >build/alloc-fault-campaign.log || { cat build/alloc-fault-campaign.log; exit 1; }
	@scripts/alloc-fault-campaign.py build/soa --every $(or $(EVERY),1)

playground: ## libsoa in a page, for a browser: build/web/playground.html
	@scripts/setup.sh build playground
	@$(call configure,-DSOA_PLAYGROUND=ON)
	@$(build) --target soa_web
	@echo "open build/web/playground.html in a browser"

python: ## the Python package as a wheel, installed in build/python
	@scripts/setup.sh build python
	@$(call configure)
	@$(build) --target soa_installed
	@scripts/python.sh

install: ## build what is installed, and install it below PREFIX (/usr/local); DESTDIR is honoured
	@scripts/setup.sh --check build || { echo "install them with: make setup" >&2; exit 1; }
	@$(call configure)
	@$(build) --target soa_installed
	@cmake --install build --prefix '$(PREFIX)'
	@if [ -z "$(DESTDIR)" ] && [ "$$(id -u)" = 0 ]; then ldconfig; fi

python-asan: python ## the tests of the Python package under the address and undefined-behaviour sanitizers
	@scripts/python-asan.sh

fuzz: ## fuzz the readers for SECONDS (60) in all
	@scripts/setup.sh build fuzz
	@scripts/fuzz.sh $(SECONDS)

format: ## lay out all C and C++ by .clang-format
	@scripts/setup.sh format
	@scripts/format.sh

format-check: ## name the files that `make format` would change
	@scripts/setup.sh format
	@scripts/format.sh --check

lint: ## layout, clang-tidy, order of rooms, names of the interface, figures of the surface, and the page's TypeScript
	@scripts/setup.sh build lint
	@$(call configure,-DCMAKE_EXPORT_COMPILE_COMMANDS=ON)
	@$(build) --target soa_program >build/lint.log || { cat build/lint.log; exit 1; }
	@scripts/lint.sh build

surface: ## how the code reads: comma statements, long lines, ternaries, long functions; AGAINST=REVISION compares
	@scripts/surface.py $(if $(AGAINST),--against $(AGAINST))

api: ## the reference of the public headers: build/api/html/index.html, and build/api/index.md by what functions compute
	@scripts/setup.sh api
	@mkdir -p build/api
	@doxygen docs/api.doxyfile
	@scripts/api-index.py build/api/index.md

setup: ## install what building needs, the Python package too
	@scripts/setup.sh build python

clean: ## remove everything that was built
	rm -rf build build-*

help: ## this list
	@echo "make [TARGET] [PREFIX=$(PREFIX)] [SECONDS=$(SECONDS)] [JOBS=$(JOBS)] [CMAKE_ARGS=...]"
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1|\2/p' $(firstword $(MAKEFILE_LIST)) | awk -F'|' '{ printf "%-16s %s\n", $$1, $$2 }'
