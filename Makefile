# GNU make. CC=, CXX= and CFLAGS= can be overridden; everything is built under build/.
# Examples, tests and benchmarks are found by their names: a new file needs no change here.

BUILD    = build
CFLAGS   = -O2 -g
WARN     = -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wdouble-promotion \
	-Wcast-qual -Wundef
C99      = -std=c99 $(WARN) -Wstrict-prototypes -I.
CXX11    = -std=c++11 -x c++ $(WARN) -I.
# of rn_real; WHOLE=1: all that there is, at full length
VARIANTS = float $(if $(WHOLE),double)
DEMO     = 04_cartpole
JOBS    := $(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1)

HEADERS  := aggregators.h $(wildcard resnharpg.h)
PAGES    := README.md examples/README.md examples/paper/README.md examples/web/README.md \
	examples/integrations/sdl_chipmunk/README.md tests/README.md
EXAMPLES := $(patsubst examples/%.c,$(BUILD)/%,$(wildcard examples/[0-9]*.c))
LONGEST  := test_both_bits test_agg_rules test_env_planar test_agg_stages test_rn_trainer test_rn_saving
NAMES    := $(patsubst tests/%.c,%,$(wildcard tests/test_*.c))
TESTS    := $(foreach n,$(filter $(NAMES),$(LONGEST)) $(filter-out $(LONGEST),$(NAMES)),\
	$(addprefix $(BUILD)/tests/,$(addsuffix /$(n),$(VARIANTS))))
PRIVATE  := $(patsubst tests/%.c,%,$(shell grep -l '^.define .*_IMPLEMENTATION' tests/test_*.c))
OWN_CODE := $(foreach v,float double,$(addprefix $(BUILD)/tests/$(v)/,$(PRIVATE)))
HAVE_CXX := $(shell command -v $(firstword $(CXX)) 2>/dev/null)
SNIPPETS := $(patsubst $(BUILD)/docs/%.c,%,$(wildcard $(BUILD)/docs/*.c))
# as C99 README's programs are whole, with the code of the headers; WHOLE=1: all of them
WHOLE_DOCS := $(if $(WHOLE),$(SNIPPETS),$(filter README_%,$(SNIPPETS)))
DOCS     := $(addprefix $(BUILD)/docs/c99/,$(WHOLE_DOCS)) \
	$(addprefix $(BUILD)/docs/linked/,$(filter-out $(WHOLE_DOCS),$(SNIPPETS))) \
	$(if $(HAVE_CXX),$(addprefix $(BUILD)/docs/c++11/,$(SNIPPETS)))
BENCHES  := $(filter-out peers speed federation scale,$(patsubst bench/%.c,%,$(wildcard bench/*.c)))

MAKEFLAGS += --no-print-directory
export WARN DOC_WARN

# the original greatest.h from GREATEST=dir instead of tests/greatest.h
ifdef GREATEST
  ifeq ($(wildcard $(GREATEST)/greatest.h),)
    $(error there is no $(GREATEST)/greatest.h)
  endif
  TEST_FLAGS = -isystem $(GREATEST) -DGREATEST_EXTERNAL
endif

# build $@ from $<: $(call build,compiler,flags). In two steps: coverage notes lie beside the
# object, and the list of included files tells which libraries to link. (The headers need none, but
# a program may include <math.h>.) A compiler that does not make such lists (tcc): all libraries,
# and a change in any header compiles everything again.
ifneq ($(shell $(CC) -MM -MP -x c /dev/null 2>/dev/null),)
DEPS    = -MD -MP -MF $@.d -MT $@
LIBS    = $$(grep -q '/pthread\.h' $@.d && echo -pthread; \
	grep -q '/mujoco\.h' $@.d && echo -lmujoco; grep -q '/zmq\.h' $@.d && echo -lzmq; \
	grep -q '/SDL\.h' $@.d && echo -lSDL2; grep -q '/chipmunk\.h' $@.d && echo -lchipmunk; \
	grep -q '/math\.h' $@.d && echo -lm)
else
LIBS    = -pthread -lm
ANY     = $(wildcard *.h examples/*.h examples/*/*.h tests/*.h tests/*/*.h bench/*.h)
endif
SAY     = echo "  CC  $@"
compile = mkdir -p $(@D); rm -f $@; $(SAY); $(1) $(2) $(CFLAGS) $(CODE) $(DEPS) -c $<
build   = @$(call compile,$(1),$(2)) -o $@.o && \
	$(1) $(CFLAGS) $@.o $(filter %.a,$^) -o $@ $(LDFLAGS) $(LIBS)
archive = @$(call compile,$(1),$(2)) -o $(@:.a=.o) && $(AR) rcs $@ $(@:.a=.o)

all: $(EXAMPLES)  ## build the examples (the default)
	@echo "built: $(EXAMPLES)"
	@echo "start with $(firstword $(EXAMPLES)), or \`make demo\`; examples/README.md says what each shows."
	@echo "\`make test\` tests everything ($(TAKES)); \`make help\` lists the rest."

demo: $(BUILD)/$(DEMO)  ## run the demonstration
	@$(BUILD)/$(DEMO)

picture: $(BUILD)/02_attack_table $(BUILD)/04_cartpole $(BUILD)/14_watch  ## draw the pictures of the lessons again
	@$(BUILD)/02_attack_table examples/attack_table.svg
	@$(BUILD)/04_cartpole examples/cartpole.svg
	@$(BUILD)/14_watch --task Hopper --train 1500 --seed 12 --seconds 10 examples/watch.svg

figure1: $(BUILD)/paper/figure1  ## the paper's figure 1 (build/figure1.svg, .csv, .md); QUICK=1 is short, AUTHORS=1: their settings
	@$< $(if $(QUICK),--quick) $(if $(AUTHORS),--authors)

ablation: $(BUILD)/paper/ablation  ## bad seeds counted: figure 1's recipes run by run, and without each ingredient (build/ablation.md, .csv); QUICK=1
	@$< $(if $(QUICK),--quick)

figure2: $(BUILD)/paper/figure2  ## the paper's figure 2, MuJoCo's tasks (build/figure2.svg, .csv, .md); QUICK=1 is short
	@$< $(if $(QUICK),--quick)

figure3: $(BUILD)/paper/figure3  ## the paper's figure 3, Fed-ADMM (build/figure3.svg, .csv, .md); QUICK=1 is short
	@$< $(if $(QUICK),--quick)

baselines: $(BUILD)/paper/baselines  ## Res-NHARPG, FedPG-BR and Byz-PG (build/baselines.svg, .csv, .md); QUICK=1 is short
	@$< $(if $(QUICK),--quick)

attacks: $(BUILD)/paper/attacks  ## every rule against every attack, the worst among them (build/attacks*.svg, .csv, .md); QUICK=1, STORED=1: what is done so far, MAP=1: examples/attacks_map.svg again, CHEAP=1: half the trajectories only
	@$< $(if $(QUICK),--quick) $(if $(STORED),--stored) $(if $(MAP),--map) $(if $(CHEAP),--cheap)

ensemble: $(BUILD)/paper/ensemble  ## groups that vote, or one federation of all? (build/ensemble.md); QUICK=1
	@$< $(if $(QUICK),--quick)

detection: $(BUILD)/paper/detection  ## who lies? false alarms and delays of server.watch, attack by attack (build/detection.svg, .csv, .md); QUICK=1
	@$< $(if $(QUICK),--quick)

hetero: $(BUILD)/paper/hetero  ## agents whose CartPoles differ: mean and worst return (build/hetero.svg, .csv, .md); QUICK=1
	@$< $(if $(QUICK),--quick)

delay: $(BUILD)/paper/delay  ## agents whose rows come late: wait, a quorum, their last rows (build/delay.svg, .csv, .md); QUICK=1
	@$< $(if $(QUICK),--quick)

table1: $(BUILD)/paper/table1  ## the paper's table 1: lambda, the largest ratio found, cost (build/table1.md, .svg); QUICK=1
	@$< $(if $(QUICK),--quick)

variance: $(BUILD)/paper/variance  ## error of an agent's d, estimator by estimator (build/variance.svg, .csv, .md); QUICK=1
	@$< $(if $(QUICK),--quick)

onesetting: $(BUILD)/paper/onesetting  ## six tasks, one setting, three of ten flip signs (build/onesetting.svg, .csv, .md); QUICK=1, ONCE=1
	@$< $(if $(QUICK),--quick) $(if $(ONCE),--once)

speedup: $(BUILD)/paper/speedup  ## the paper's theorem measured: error and gap against t, N and T (build/speedup.md, .svg); QUICK=1
	@$< $(if $(QUICK),--quick)

TAKES = about $(shell expr $(if $(WHOLE),200,120) / $(JOBS)) seconds if the machine (cores: $(JOBS)) is free
SOME  = TAKES="some minutes"
SLOW  = $(SOME) $(if $(QUICK),,WHOLE=1)
export TEST_WHOLE = $(WHOLE)
test:  ## run the tests and every example of the documentation; V=1 shows their output, WHOLE=1: in double too, and longer
	@$(MAKE) -k $(BUILD)/docs/stamp || true
	@$(MAKE) run-tests

bench:  ## measure speed at plain -O2, with -march=native and beside numpy; BENCH_QUICK=1 is short
	@for b in $(BENCHES); do \
	    $(MAKE) -j$(JOBS) $(BUILD)/bench/O2/$$b $(BUILD)/bench/native/$$b || exit 1; \
	    echo "== bench/$$b.c, $(BENCH_O2)"; $(BUILD)/bench/O2/$$b || exit 1; \
	    echo "== bench/$$b.c, -march=native"; \
	    $(BUILD)/bench/native/$$b $$([ $$b != rules ] || echo --no-hostile) || exit 1; \
	done
	@$(if $(BENCH_QUICK),:,$(MAKE) $(BUILD)/bench/double/rules; \
	    echo "== bench/rules.c, double"; $(BUILD)/bench/double/rules)
	@$(MAKE) peers

# the first python3 that has numpy; PYTHON= names another
PYTHON = $(shell for p in python3 /usr/bin/python3; do \
	$$p -c 'import numpy' 2>/dev/null && { echo $$p; break; }; done)
peers: $(BUILD)/bench/O2/peers.so  ## what a user would write in numpy beside the same rule here (build/bench.md); BENCH_QUICK=1
	@python="$(PYTHON)"; if [ -z "$$python" ]; then \
	    echo "peers skipped: no python3 here can import numpy (PYTHON= names one)"; \
	else echo "== bench/peers.py"; $$python bench/peers.py $< $(BUILD)/bench.md; fi

speed: $(BUILD)/bench/O2/speed  ## draw bench/speed.svg, the time of every rule against n, again
	@$< bench/speed.svg

mujoco:  ## the real MuJoCo and our simulator side by side on thousands of states (needs libmujoco-dev)
	@echo '#include <mujoco/mujoco.h>' | $(CC) -E - >/dev/null 2>&1 || \
	    { echo "there is no mujoco/mujoco.h: install MuJoCo (Debian: libmujoco-dev)"; exit 1; }
	@$(MAKE) $(BUILD)/integrations/mujoco/compare
	@$(BUILD)/integrations/mujoco/compare

HAVE_ZMQ = echo '\#include <zmq.h>' | $(CC) -E - >/dev/null 2>&1 || \
	    { echo "there is no zmq.h: install ZeroMQ (Debian: libzmq3-dev)"; exit 1; }
zeromq:  ## build the federation over ZeroMQ, build/integrations/zeromq/federation (needs libzmq3-dev)
	@$(HAVE_ZMQ)
	@$(MAKE) $(BUILD)/integrations/zeromq/federation

GAME = $(BUILD)/integrations/sdl_chipmunk/game
game:  ## a lander that learns while you play it, build/integrations/sdl_chipmunk/game (needs libsdl2-dev, libchipmunk-dev)
	@printf '%s\n' '#include <SDL2/SDL.h>' '#include <chipmunk/chipmunk.h>' | $(CC) -E - >/dev/null 2>&1 || \
	    { echo "there is no SDL2/SDL.h or chipmunk/chipmunk.h (Debian: libsdl2-dev libchipmunk-dev)"; exit 1; }
	@$(MAKE) $(GAME)
	@echo "play: $(GAME)"

SEEDS ?= 10
gamecheck: game  ## the game without a player: SEEDS=10 of learning, frame times, score, keys (Xvfb and xdotool if there)
	@sh tests/game.sh $(GAME) $(SEEDS) $(BUILD)/gamecheck

SEED = 1
federation: zeromq  ## agents and server as processes over ZeroMQ, all that can go wrong does; SEED=1 (needs libzmq3-dev)
	@$(MAKE) $(BUILD)/tests/federation/chaos
	@$(BUILD)/tests/federation/chaos $(BUILD)/integrations/zeromq/federation \
	    $(BUILD)/federation $(SEED)

load:  ## what the protocol costs beside ZeroMQ alone, 10 to 1000 agents; BENCH_QUICK=1 (needs libzmq3-dev)
	@$(HAVE_ZMQ)
	@$(MAKE) $(BUILD)/bench/O2/federation
	@$(BUILD)/bench/O2/federation

mpi:  ## aggregation and training on MPI, the bits of one process on 1 to 7 ranks; MPI=mpich (needs libopenmpi-dev or libmpich-dev)
	@CC="$(CC)" sh tests/mpi/run.sh $(BUILD)/mpi $(MPI)

scale: $(BUILD)/bench/O2/scale  ## stages: beside memory, against n, dim and ranks of MPI (build/mpi, if it is there); BENCH_QUICK=1
	@$<
	@sh bench/ranks.sh $(BUILD)/mpi

# the page and the code of the headers beside it, as a script with the WebAssembly inside: a folder
# that needs no server
WEB_PAGE = $(patsubst examples/%,$(BUILD)/%,$(wildcard examples/web/*.html examples/web/*.css examples/web/*.js))
web: $(BUILD)/web/playground.js $(WEB_PAGE)  ## the playground: open build/web/index.html in a browser (needs emscripten)
	@echo "open $(BUILD)/web/index.html in a browser"

# real Chromium, driven by playwright-core, which npm puts under build/
webtest: web  ## the playground in real Chromium; PICTURE=examples/web/playground.png draws README's (needs chromium, npm)
	@$(MAKE) $(BUILD)/tests/web/curve
	@sh tests/web/run.sh $(BUILD)/web $(BUILD)/tests/web/curve $(BUILD)/webtest $(PICTURE)

strict: $(BUILD)/docs/stamp  ## the warning matrix (compiler, language, precision, linkage), and builds that must fail
	@sh tests/strict/run.sh $(BUILD)/strict $(BUILD)/docs

SANITIZE = -O1 -g -fno-omit-frame-pointer -fno-sanitize-recover=all
asan:  ## all tests under the address and undefined-behaviour sanitizers
	@$(MAKE) test $(SLOW) BUILD=$(BUILD)/asan \
	    CFLAGS="$(SANITIZE) -fsanitize=address,undefined,float-cast-overflow"

# valgrind computes long double as double: programs whose reference needs more than that cannot
# pass (asan and msan run them)
NO_VALGRIND = test_agg_gm test_agg_precision test_agg_scores test_rn_estimator test_rn_math
valgrind:  ## the float tests under valgrind
	@if command -v valgrind >/dev/null; then \
	    TEST_QUICK=1 RUNNER="valgrind -q --error-exitcode=99 --leak-check=full" \
	    $(MAKE) test $(SLOW) DOCS= BUILD=$(BUILD)/valgrind CFLAGS="-O1 -g" VARIANTS=float \
	    NAMES="$(filter-out $(NO_VALGRIND),$(NAMES))"; \
	else echo "skipped: valgrind is not installed"; fi

portability:  ## compilers, languages, machines, systems: one table, the same bits; QUICK=1 is short, ONLY=text picks rows
	@sh tests/portability/run.sh $(BUILD)/portability "$(ONLY)"

golden: $(BUILD)/tests/float/test_both_bits $(BUILD)/tests/double/test_both_bits  ## store new hashes for the test of the bits
	@{ echo '/* Made by `make golden` for tests/test_both_bits.c: environment, rule, a hash of'; \
	   echo '   theta after each round. "rows": the rule on fixed rows of 1, 2, 37, 300, 2048, 5000'; \
	   echo '   numbers. "moves": the environment under fixed actions, every 100 steps. */'; \
	   echo '#ifdef AGG_DOUBLE' && $(BUILD)/tests/double/test_both_bits print && \
	   echo '#else'             && $(BUILD)/tests/float/test_both_bits print && \
	   echo '#endif'; } >$(BUILD)/golden.h && \
	mv $(BUILD)/golden.h tests/golden.h

HAVE_CLANG = command -v clang >/dev/null || \
	    { echo "there is no clang: install it (Debian: clang, libclang-rt-dev)"; exit 1; }
msan:  ## all tests under the memory sanitizer: nothing uninitialised is looked at; ORIGINS=1 says where it is from (needs clang)
	@$(HAVE_CLANG)
	@$(MAKE) test $(SLOW) BUILD=$(BUILD)/msan CC=clang CXX=clang++ \
	    CFLAGS="$(SANITIZE) -fsanitize=memory $(if $(ORIGINS),-fsanitize-memory-track-origins)"

tsan:  ## the tests with threads, pools of 2 to 8, under the thread sanitizer
	@$(MAKE) test $(SLOW) BUILD=$(BUILD)/tsan VARIANTS="float double" NAMES="test_both_threads test_agg_laws test_rn_trainer" \
	    CFLAGS="-O1 -g -fno-omit-frame-pointer -fsanitize=thread"

# Every fuzzer as float and as double. A hang is an input that takes longer than 10 s; what the
# calls promise about time is at the top of each tests/fuzz/*.c. What is found is kept in
# $(BUILD)/fuzz/corpus and added to next time.
SECONDS = 60
FUZZERS = $(patsubst tests/fuzz/%.c,%,$(wildcard tests/fuzz/*.c))
FUZZ    = $(SANITIZE) -fsanitize=fuzzer,address,undefined,float-cast-overflow
fuzz: VARIANTS = float double
fuzz:  ## libFuzzer on both headers, SECONDS=60 for each program (needs clang)
	@$(HAVE_CLANG)
	@$(MAKE) -j$(JOBS) CC=clang CFLAGS="$(FUZZ)" \
	    $(foreach v,$(VARIANTS),$(addprefix $(BUILD)/fuzz/$(v)/,$(FUZZERS)))
	@sh tests/fuzz/run.sh $(BUILD)/fuzz $(SECONDS) "$(VARIANTS)" "$(FUZZERS)"

ROUNDS = 1000000
soak: $(BUILD)/tests/soak  ## random tiny federations, attacked, broken off and resumed, ROUNDS=1000000 of them
	@$(BUILD)/tests/soak $(ROUNDS)

format:  ## all C files as .clang-format says (needs clang-format 14); make lint checks it
	@sh tests/format.sh fix

lint:  ## the format; clang-tidy, cppcheck and gcc -fanalyzer on the headers and the programs
	@sh tests/lint.sh $(BUILD)

GCOV    = gcov
COVERED = $(BUILD)/coverage
# always_inline=unused: one copy of each function, or a line would have branches for each place it
# was inlined
COVERAGE = -O0 -g -DNDEBUG --coverage -fprofile-update=atomic -Dalways_inline=unused
# programs that train for minutes at -O0 and reach nothing that the others do not
NO_COVERAGE = test_both_bits $(filter test_env_% test_ex_%,$(NAMES))
coverage: NAMES := $(filter-out $(NO_COVERAGE),$(NAMES))
coverage: $(BUILD)/tests/merge_coverage  ## line and branch coverage of the headers by the tests (needs gcc and gcov)
	@rm -rf $(COVERED)
	@$(MAKE) test $(SOME) WHOLE=1 DOCS= BUILD=$(COVERED) CC=gcc LDFLAGS=--coverage \
	    NAMES="$(NAMES)" COVER="$(COVERAGE)"
	@$(MAKE) test $(SOME) WHOLE=1 DOCS= BUILD=$(COVERED)/plain CC=gcc LDFLAGS=--coverage VARIANTS=float \
	    NAMES="$(NAMES)" COVER="$(COVERAGE) -DAGG_NO_DISPATCH"
	@for data in $(COVERED)/tests/*/*.gcda $(COVERED)/plain/tests/*/*.gcda; do \
	    $(GCOV) -b -c -t $$data; done >$(COVERED)/all.gcov
	@$(BUILD)/tests/merge_coverage $(COVERED)/all.gcov tests/uncovered.txt $(HEADERS)

hardening:  ## all of this at once: portability's table, then a line with counts for each of the others; QUICK=1
	@sh tests/hardening.sh $(BUILD)/hardening

PREFIX  = /usr/local
VERSION = $(shell sed -n 's/^.define RN_VERSION_[MP][A-Z]* //p' resnharpg.h | paste -s -d .)
install:  ## the headers and a pkg-config file, to DESTDIR/PREFIX
	@mkdir -p "$(DESTDIR)$(PREFIX)/include" "$(DESTDIR)$(PREFIX)/share/pkgconfig"
	@cp $(HEADERS) "$(DESTDIR)$(PREFIX)/include"
	@printf '%s\n' "prefix=$(PREFIX)" 'Name: resnharpg' 'Version: $(VERSION)' \
	    'Cflags: -I"$${prefix}/include"' \
	    'Description: Byzantine-robust aggregation and federated policy gradients, two C headers' \
	    >"$(DESTDIR)$(PREFIX)/share/pkgconfig/resnharpg.pc"

uninstall:  ## what install put there
	@for h in $(HEADERS); do rm -f "$(DESTDIR)$(PREFIX)/include/$$h"; done
	@rm -f "$(DESTDIR)$(PREFIX)/share/pkgconfig/resnharpg.pc"

# A version script: nothing but the API can be seen. Before 1.0 a minor version may change it, so the
# soname has both numbers. resnharpg.i: the API as the preprocessor sees it, for other languages.
SHARED = $(BUILD)/shared
SONAME := libresnharpg.so.$(basename $(VERSION))
shared: $(SHARED)/libresnharpg.so.$(VERSION)  ## a shared library (floats) of both headers, build/shared/libresnharpg.so
	@ln -sf $(<F) $(SHARED)/$(SONAME) && ln -sf $(SONAME) $(SHARED)/libresnharpg.so
	@echo '#include "resnharpg.h"' | $(CC) -std=c99 -I. -E -P - >$(SHARED)/resnharpg.i

languages: shared  ## Python (ctypes) and C++ on the shared library (needs python3 and a C++ compiler)
	@sh tests/languages.sh $(SHARED)

packaging:  ## install, pkg-config, CMake; a C++ program and one of two files, built as a user would
	@sh tests/packaging/run.sh $(BUILD)/packaging

clean:  ## remove build/
	@rm -rf $(BUILD)

help:  ## this list
	@sed -n 's/^\([a-z0-9]*\):.*## /\1 /p' Makefile | \
	    while read -r target what; do printf '  make %-11s %s\n' $$target "$$what"; done

# ---- what the targets above are made of

# Several programs at a time, each is run as soon as it is compiled. (Which examples there are is
# known when make starts anew after they were extracted.)
PROGRAMS = $(TESTS) $(DOCS)
LIBRARY  = $(BUILD)/tests/$(1)/library.a
run-tests:
	@$(if $(HAVE_CXX),,echo "no C++ compiler: the documentation is checked as C99 only")
	@sh tests/run.sh begin $(BUILD) "$(TAKES)" $(PROGRAMS)
	@$(MAKE) -k -j$(JOBS) $(PROGRAMS:=.result) || true
	@sh tests/run.sh end $(BUILD) $(PROGRAMS)

# One make for each: a single one would compile all programs before it runs the first. Those that
# have the code of the headers themselves begin while it is compiled for the others.
$(addsuffix .result,$(filter-out $(OWN_CODE),$(TESTS))): $(foreach v,$(VARIANTS),$(call LIBRARY,$(v)))
$(addsuffix .result,$(filter-out $(BUILD)/docs/c99/%,$(DOCS))): $(call LIBRARY,float)
$(PROGRAMS:=.result): %.result: always
	@$(MAKE) -s $* && sh tests/run.sh one $(BUILD) $*

$(BUILD)/docs/stamp: $(BUILD)/tests/extract_docs $(PAGES) $(HEADERS)
	@rm -rf $(@D) && mkdir -p $(@D)
	@$< $(@D) $(PAGES) $(HEADERS) && touch $@

DOUBLE       = -DAGG_DOUBLE
LINKED       = $(TEST_FLAGS) -DTEST_LINKED
BENCH_O2     = -O2
BENCH_NATIVE = -O2 -march=native
$(BUILD)/bench/O2/%:     CFLAGS = $(BENCH_O2)
$(BUILD)/bench/native/%: CFLAGS = $(BENCH_NATIVE)
$(BUILD)/bench/native/estimator: CFLAGS = -O3 -march=native
$(BUILD)/bench/double/%: CFLAGS = $(BENCH_O2)
$(BUILD)/bench/%: C99 += '-DBENCH_FLAGS="$(CFLAGS)"'
$(BUILD)/bench/O2/peers.so: CFLAGS += -fPIC
$(BUILD)/bench/O2/peers.so: LDFLAGS += -shared

# an example may print a float, say = {0} and leave a variable unused
DOC_WARN = -Wno-double-promotion -Wno-unused -Wno-missing-field-initializers

$(BUILD)/paper/%:        C99 += -Iexamples
# The least sum of compiling and running: the headers' code, which all programs share, is optimised,
# the programs hardly. A program that has the code itself, because it tests private functions, takes
# nothing from library.a. An example of aggregators.h alone runs in no time. COVER: flags for the code
# of the headers alone.
# The programs of examples/ say ..._IMPLEMENTATION, so that one command builds each; here that code
# is compiled once for all of them: BROUGHT says that it is there.
BROUGHT = -DAGGREGATORS_IMPLEMENTED -DRESNHARPG_IMPLEMENTED
$(BUILD)/tests/%: CFLAGS = -Og -g1
$(BUILD)/docs/%:  CFLAGS = $$(grep -q resnharpg.h $< && echo -Og || echo -O0) -g1
$(BUILD)/tests/float/% $(BUILD)/tests/double/% $(BUILD)/docs/c99/% $(BUILD)/docs/linked/% $(BUILD)/docs/c++11/%: SAY = :
$(BUILD)/tests/%/library.a: CFLAGS = -O2 -g1
$(BUILD)/tests/%/library.a: SAY = echo "compiling the code of both headers for all of them ($@)"
$(BUILD)/tests/%/test_env_planar $(BUILD)/tests/%/test_rn_policies: CFLAGS = -O1 -g1
$(addprefix $(BUILD)/tests/%/,library.a $(PRIVATE)): CODE = $(COVER)
$(call LIBRARY,float):   tests/library.c   $(BUILD)/flags ; $(call archive,$(CC),$(C99))
$(call LIBRARY,double):  tests/library.c   $(BUILD)/flags ; $(call archive,$(CC),$(C99) $(DOUBLE))
$(BUILD)/library.a:      tests/library.c   $(BUILD)/flags ; $(call archive,$(CC),$(C99))
# the one program in double has the code itself
$(BUILD)/paper/speedup:  examples/paper/speedup.c $(BUILD)/flags ; $(call build,$(CC),$(C99))
$(BUILD)/%:              examples/%.c      $(BUILD)/library.a $(BUILD)/flags
	$(call build,$(CC),$(C99) $(BROUGHT) -DAGGI_CORE)
$(SHARED)/%.map: resnharpg.h
	@mkdir -p $(@D); echo 'RESNHARPG_$(basename $(VERSION)) { global: agg_*; rn_*; local: *; };' >$@
$(SHARED)/libresnharpg.so.$(VERSION): CFLAGS += -fPIC
$(SHARED)/libresnharpg.so.$(VERSION): LDFLAGS += -shared -Wl,-soname,$(SONAME) \
	-Wl,--version-script=$(SHARED)/resnharpg.map
$(SHARED)/libresnharpg.so.$(VERSION): tests/library.c $(SHARED)/resnharpg.map $(BUILD)/flags
	$(call build,$(CC),$(C99))
$(BUILD)/bench/O2/%:     bench/%.c         $(BUILD)/flags ; $(call build,$(CC),$(C99))
$(BUILD)/bench/native/%: bench/%.c         $(BUILD)/flags ; $(call build,$(CC),$(C99))
$(BUILD)/bench/double/%: bench/%.c         $(BUILD)/flags ; $(call build,$(CC),$(C99) $(DOUBLE))
$(BUILD)/bench/O2/peers.so: bench/peers.c  $(BUILD)/flags ; $(call build,$(CC),$(C99))
$(BUILD)/fuzz/float/library.a:  tests/library.c $(BUILD)/flags ; $(call archive,$(CC),$(C99))
$(BUILD)/fuzz/double/library.a: tests/library.c $(BUILD)/flags ; $(call archive,$(CC),$(C99) $(DOUBLE))
$(BUILD)/fuzz/float/%:  tests/fuzz/%.c $(BUILD)/fuzz/float/library.a $(BUILD)/flags
	$(call build,$(CC),$(C99) $(LINKED) -Itests)
$(BUILD)/fuzz/double/%: tests/fuzz/%.c $(BUILD)/fuzz/double/library.a $(BUILD)/flags
	$(call build,$(CC),$(C99) $(LINKED) -Itests $(DOUBLE))
$(BUILD)/tests/soak:     CFLAGS = -O2 -g
$(BUILD)/tests/float/%:  tests/%.c $(call LIBRARY,float) $(BUILD)/flags
	$(call build,$(CC),$(C99) $(LINKED))
$(BUILD)/tests/double/%: tests/%.c $(call LIBRARY,double) $(BUILD)/flags
	$(call build,$(CC),$(C99) $(LINKED) $(DOUBLE))
$(filter $(BUILD)/tests/float/%,$(OWN_CODE)): $(BUILD)/tests/float/%: tests/%.c $(BUILD)/flags
	$(call build,$(CC),$(C99) $(LINKED))
$(filter $(BUILD)/tests/double/%,$(OWN_CODE)): $(BUILD)/tests/double/%: tests/%.c $(BUILD)/flags
	$(call build,$(CC),$(C99) $(LINKED) $(DOUBLE))
$(BUILD)/tests/%:        tests/%.c         $(BUILD)/flags ; $(call build,$(CC),$(C99))
$(BUILD)/docs/c99/%:     $(BUILD)/docs/%.c $(BUILD)/flags ; $(call build,$(CC),$(C99) $(DOC_WARN))
# the others are linked with that code (make strict compiles them whole as well, as C++ too)
$(BUILD)/docs/linked/%: $(BUILD)/docs/%.c $(call LIBRARY,float) $(BUILD)/flags
	$(call build,$(CC),$(C99) $(DOC_WARN) $(BROUGHT))
$(BUILD)/docs/c++11/%: $(BUILD)/docs/%.c $(call LIBRARY,float) $(BUILD)/flags
	$(call build,$(CXX),$(CXX11) $(DOC_WARN) $(BROUGHT))

$(BUILD)/web/%: examples/web/% ; @mkdir -p $(@D); cp $< $@
# NODE_PATH: where Debian keeps what its emcc needs
$(BUILD)/web/playground.js: examples/web/playground.c $(HEADERS) $(wildcard examples/*.h examples/envs/*.h)
	@command -v emcc >/dev/null || { echo "there is no emcc: install emscripten (Debian: emscripten)"; exit 1; }
	@mkdir -p $(@D); echo "  EMCC  $@"; NODE_PATH=/usr/share/nodejs emcc -std=c99 -O2 -msimd128 -I. \
	    -Wno-pass-failed $< -o $@ -sSINGLE_FILE=1 -sENVIRONMENT=web -sFILESYSTEM=0 \
	    -sMODULARIZE=1 -sEXPORT_NAME=createPlayground -sALLOW_MEMORY_GROWTH=1 \
	    -sEXPORTED_RUNTIME_METHODS=UTF8ToString

# changes when the compiler or its flags do, so that everything is built again
FLAGS := $(CC) $(CXX) $(CFLAGS) $(LDFLAGS) $(TEST_FLAGS) $(COVER)
$(BUILD)/flags: always $(ANY)
	@mkdir -p $(@D); echo '$(FLAGS)' | cmp -s - $@ || echo '$(FLAGS)' > $@
	@$(if $(filter-out always,$?),touch $@)

-include $(wildcard $(BUILD)/*.d $(BUILD)/*/*.d $(BUILD)/*/*/*.d)
.PHONY: $(shell sed -n 's/^\([a-z0-9]*\):.*\#\# .*/\1/p' Makefile) run-tests always
.SECONDARY:
