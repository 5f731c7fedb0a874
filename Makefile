# A few lines over the CMake presets: `cmake --preset release` and `ctest --test-dir build` do the same by hand.
PRESET ?= release
BUILD  := $(if $(filter release,$(PRESET)),build,build/$(PRESET))
JOBS   ?= $(shell nproc)
PREFIX ?= /usr/local
PYTHON := build/venv/bin/python

.PHONY: all setup build check sanitize demo bench bench-message-logging bench-simulated soak install clean
all: build

setup:
	@sh tools/setup.sh

build: setup
	@cmake --preset $(PRESET) --log-level=WARNING
	@cmake --build $(BUILD) -j$(JOBS)

check: build
	@bash tools/check.sh $(BUILD) $(JOBS) $(CTEST_ARGS)

# AddressSanitizer with UndefinedBehaviorSanitizer: unit tests, and the examples without kills. ThreadSanitizer: ring and log,
# with threads as the two sides.
sanitize: setup
	@cmake --preset asan --log-level=WARNING && cmake --build build/asan -j$(JOBS)
	@bash tools/check.sh build/asan $(JOBS) -L 'unit|example'
	@cmake --preset tsan --log-level=WARNING && cmake --build build/tsan -j$(JOBS) --target rail_shm_test segment_test
	@bash tools/check.sh build/tsan $(JOBS) -R '^unit\.(rail_shm|segment)$$'

# Builds only what the demo shows: the library, the commands and the examples, not the tests.
demo: setup
	@cmake --preset $(PRESET) --log-level=WARNING
	@cmake --build $(BUILD) -j$(JOBS) --target mpi_abi tools/all examples/all
	@$(PYTHON) tools/demo.py --build $(BUILD)

bench: build
	@$(PYTHON) bench/run.py --build $(BUILD) $(BENCH_ARGS)

bench-message-logging: build
	@$(PYTHON) bench/message_logging/run.py --build $(BUILD) $(BENCH_ARGS)

bench-simulated: build
	@$(PYTHON) bench/message_logging/simulated.py --build $(BUILD) $(BENCH_ARGS)

soak: build
	@HOLDFAST_ALL_STORIES=1 bash tools/check.sh $(BUILD) $(JOBS) -R '^(recovery\.(head_loss|disk_level|event_loggers|node_loss|partitions|threads)|house\.headers_alone)$$'
	@$(PYTHON) tools/build_mpi4py.py $(BUILD)
	@for n in 1 2 3 4; do $(PYTHON) tests/mpi4py/suite.py $(BUILD) $$n --all || exit 1; done
	@if [ -n "$(MPICH_TESTS)" ]; then $(PYTHON) tests/mpich/suite.py $(MPICH_TESTS) --build $(BUILD) && \
	  $(PYTHON) tests/mpich/suite.py $(MPICH_TESTS) --build $(BUILD) --kills 1; fi
	@for program in small neighbors groups; do for nodes in 1 3; do \
	  $(PYTHON) tests/recovery/every_call.py --build $(BUILD) --nodes $$nodes --program $(BUILD)/bin/recovery_$$program || exit 1; \
	done; done
	@for nodes in 1 2; do \
	  $(PYTHON) tests/recovery/every_point.py --build $(BUILD) --nodes $$nodes --program $(BUILD)/bin/recovery_rendezvous || exit 1; \
	done
	@$(PYTHON) tests/recovery/random_kills.py --build $(BUILD) --cases 5000 --log docs/soak.log $(SOAK_ARGS)
	@for more in "" "--log-level disk" "--log-level node+disk" "--event-loggers 3" "--event-loggers 3 --event-copies 2"; do \
	  for protocol in pessimist optimist; do \
	    $(PYTHON) tests/recovery/random_kills.py --build $(BUILD) --cases 200 --lose-nodes --protocol $$protocol $$more || exit 1; \
	  done; \
	done
	@$(PYTHON) tests/recovery/level_kills.py --build $(BUILD) --cases 2880 --at-once 3 --log docs/soak.log
	@$(PYTHON) tests/recovery/soak_no_alarm.py --build $(BUILD) --seconds 600 --log docs/soak.log

install: build
	@cmake --install $(BUILD) --prefix $(abspath $(PREFIX))

clean:
	@rm -rf build
