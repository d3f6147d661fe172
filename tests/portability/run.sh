#!/bin/sh
# Both headers with every compiler, language and optimisation, on every machine and system at hand:
# one table, a row for each target. Called by `make portability`. Installs nothing; what is missing
# is said in it.
# usage: tests/portability/run.sh BUILD_DIR [TEXT]   TEXT: only rows with it in their name
#
# headers  the programs of tests/strict with static functions, and in double: they build, run and end
#          well
# float    tests/test_both_bits.c meets the hashes of tests/golden.h: the same bits. Under an emulator
# double   it trains in whole rounds only, elsewhere with all thread counts, tick budgets and resume
#          points too (QUICK=1: in the first row of a target).
# tests    how many of the programs tests/test_*.c pass (TEST_QUICK=1), once for each target; not with
#          QUICK=1
#
# QUICK=1: three rows for gcc, two for clang, of their other versions whether they build without a C
#          library, one row for each other target; the headers without the program of aggregators.h
#          alone, and after the first row of a target in double only (the bits are tried in both).
# ALL=1:   a missing target is a failure.
set -u
build=$1
only=${2:-}
here=tests/portability
mkdir -p "$build"
WINEDEBUG=-all
WINEPREFIX=$(pwd)/$build/wine
NODE_PATH=/usr/share/nodejs # where Debian keeps what its emcc needs
export WINEDEBUG WINEPREFIX NODE_PATH

# the target of the rows to come: C and C++ compiler, what runs the program, its suffix, flags, tests
# to leave out
target() {
    cc=$1 cxx=$2 always=$3 runner='' suffix='' without='' emulated='' tested=''
}
have() { # NAME COMMAND...
    name=$1
    shift
    for command; do
        if ! command -v "$command" >/dev/null 2>&1; then
            echo "MISSING: $name: no $command"
            return 1
        fi
    done
}

build_program() { # LANGUAGE FLAGS SOURCE
    case $1 in
    c++*) compiler="$cxx -x c++" ;;
    *) compiler=$cc ;;
    esac
    rm -f "$build/program$suffix"
    # shellcheck disable=SC2086
    $compiler -std=$1 -I. $2 "$3" $always -o "$build/program$suffix" -lm >"$build/log" 2>&1
}
run_program() {
    # shellcheck disable=SC2086
    TEST_QUICK=1 TEST_WHOLE=${whole:-} timeout 1200 $runner "$build/program$suffix" "$@" >"$build/log" 2>&1 </dev/null
}
show_log() { sed 's/^/    | /' "$build/log" | grep -v '| *$' | cut -c 1-160 | head -n 12 >>"$build/failures"; }

try_headers() { # LANGUAGE FLAGS
    uses="tests/strict/aggregators.c tests/strict/resnharpg.c"
    if [ -n "${QUICK:-}" ]; then uses=tests/strict/resnharpg.c; fi
    for option in -DAGG_DOUBLE "-DAGG_STATIC -DRN_STATIC"; do
        for use in $uses; do
            if ! build_program "$1" "$2 $option" $use; then echo "NO BUILD"; show_log; return; fi
            if ! run_program; then echo "FAILED"; show_log; return; fi
        done
        if [ -n "${QUICK:-}" ] && [ -n "$tested" ]; then break; fi
    done
    echo ok
}
try_bits() { # LANGUAGE FLAGS
    whole=1 # in a subshell: not of the others
    if ! build_program "$1" "$2" tests/test_both_bits.c; then echo "NO BUILD"; show_log; return; fi
    # shellcheck disable=SC2086
    if run_program ${short:+-s golden_hashes}; then echo same; return; fi
    if grep -q '^Pass:' "$build/log"; then echo OTHER; else echo CRASHED; fi
    show_log
}
try_tests() { # LANGUAGE FLAGS
    good=0 all=0
    for test in tests/test_*.c; do
        case " $without test_both_bits " in *" $(basename "$test" .c) "*) continue ;; esac
        all=$((all + 1))
        if build_program "$1" "$2" "$test" && run_program; then
            good=$((good + 1))
        else
            echo "  $test:" >>"$build/failures"
            show_log
        fi
    done
    echo "$good/$all"
}

row() { # NAME LANGUAGE FLAGS
    note=$(echo "$3" | sed 's/-DAGG_NO_DISPATCH/no dispatch/')
    case "$1 $2 $3" in *"$only"*) ;; *) return ;; esac
    : >"$build/failures"
    short=$emulated
    if [ -n "${QUICK:-}" ]; then short=$short$tested; fi
    headers=$(try_headers "$2" "$3")
    float=$(try_bits "$2" "$3")
    double=$(try_bits "$2" "$3 -DAGG_DOUBLE")
    tests=''
    if [ -z "${QUICK:-}" ] && [ -z "$tested" ]; then tests=$(try_tests "$2" "$3"); fi
    tested=1
    line=$(printf '%-22s %-6s %-24s %-9s %-9s %-9s %s' "$1" "$2" "$note" "$headers" "$float" "$double" "$tests")
    if [ "$headers $float $double" != "ok same same" ] || [ "${tests%/*}" != "${tests#*/}" ]; then
        printf '%s  FAILED\n%s\n' "$line" "$(cat "$build/failures")"
    else
        echo "$line"
    fi
    echo row >>"$build/rows"
}
more() { if [ -z "${QUICK:-}" ]; then "$@"; fi; } # not in short
single() { # NAME LANGUAGE FLAGS VERDICT command: a row with one answer
    name=$1 language=$2 flags=$3 verdict=$4
    shift 4
    case "$name $language $flags" in *"$only"*) ;; *) return ;; esac
    line=$(printf '%-22s %-6s %-24s' "$name" "$language" "$flags")
    if "$@" >"$build/log" 2>&1; then
        echo "$line $verdict"
    else
        printf '%s FAILED\n%s\n' "$line" "$(sed 's/^/    | /' "$build/log" | head -n 12)"
    fi
    echo row >>"$build/rows"
}

pairs() { # NAME: every language with every optimisation, or in short one of each
    plain="-DAGG_NO_DISPATCH"
    if [ -n "${QUICK:-}" ]; then
        row "$1" c99 -O2
        row "$1" c++20 "-O3 -march=native"
        case $1 in gcc*) row "$1" c99 "-O1 $plain" ;; esac
        return
    fi
    for language in c99 c11 c17 c++11 c++20; do
        for flags in -O2 -O0 -Os -O3 "-O3 -march=native"; do row "$1" $language "$flags"; done
    done
    row "$1" c99 "-O2 $plain"
    row "$1" gnu11 "-O3 -march=native"
}

# Nothing of the C library but memcpy, memmove and memset is included or called. The user is an
# ordinary program.
freestanding() { # COMPILER
    "$1" -std=c99 -O2 -ffreestanding -nostdinc -isystem "$("$1" -print-file-name=include)" -I$here/freestanding -I. \
        -DRN_NO_STDLIB '-DAGG_ASSERT(x)=((void)0)' -DSTRICT_IMPLEMENTATION_ONLY -c tests/strict/resnharpg.c \
        -o "$build/free.o" || return 1
    nm -u "$build/free.o" | sed 's/.* //' | grep -v -x -E 'memcpy|memmove|memset|__cpu_model|__cpu_indicator_init|_GLOBAL_OFFSET_TABLE_' && return 1
    "$1" -std=c99 -I. -DSTRICT_USER tests/strict/resnharpg.c "$build/free.o" -o "$build/program" && "$build/program"
}
refuses() { # TEXT command...
    text=$1
    shift
    ! "$@" -I. -fsyntax-only tests/strict/aggregators.c >"$build/said" 2>&1 && cat "$build/said" && grep -q "$text" "$build/said"
}
version() { "$1" -dumpversion | cut -d. -f1,2; }

natives() { # CC CXX
    have "$1" "$1" "$2" || return
    target "$1" "$2" -pthread
    case $1 in
    *-*) more pairs "$1" ;;
    *) pairs "$1 $(version "$1")" ;;
    esac
    single "$1" c99 "-ffreestanding -nostdinc" ok freestanding "$1"
}
i387() {
    have "gcc, i387" gcc || return
    single "gcc, i387" c99 -mfpmath=387 "refused with a reason" refuses "excess precision" gcc -mfpmath=387
}
tcc_rows() {
    have tcc tcc || return
    target tcc "" -lpthread
    # its long double, in which many references are computed, makes NaN; constants must be literal
    without="test_rn_estimator test_rn_math test_rn_saving test_rn_trainer"
    without="$without test_agg_rules test_env_inverted_pendulum"
    row tcc c99 ""
}
musl() {
    have musl musl-gcc || return
    target musl-gcc "" "-static -pthread"
    row musl c99 -O2
    more row musl c17 -Os
}
i686() {
    have "i686 linux" i686-linux-gnu-gcc i686-linux-gnu-g++ || return
    target i686-linux-gnu-gcc i686-linux-gnu-g++ "-msse2 -mfpmath=sse -static -pthread"
    row "i686 linux" c99 -O2
    more row "i686 linux" c++20 -O3
    single "i686 linux, i387" c99 "" "refused with a reason" refuses "excess precision" i686-linux-gnu-gcc
}
emulated() { # MACHINE
    have "$1 linux" "$1-linux-gnu-gcc" "$1-linux-gnu-g++" "qemu-$1" || return
    target "$1-linux-gnu-gcc" "$1-linux-gnu-g++" "-static -pthread"
    runner=qemu-$1 emulated=1
    row "$1 linux" c99 -O2
    more row "$1 linux" c++20 -O3
}
aarch64_clang() {
    have "aarch64 linux, clang" clang aarch64-linux-gnu-gcc qemu-aarch64 || return
    target "clang --target=aarch64-linux-gnu" "" "-static -pthread"
    runner=qemu-aarch64 emulated=1 tested=1
    row "aarch64 linux, clang" c11 -O2
}
windows() {
    have "x86_64 windows" x86_64-w64-mingw32-gcc x86_64-w64-mingw32-g++ wine || return
    target x86_64-w64-mingw32-gcc x86_64-w64-mingw32-g++ "-static -pthread"
    runner=wine suffix=.exe
    row "x86_64 windows, wine" c99 -O2
    more row "x86_64 windows, wine" c++20 -O3
}
wasm() {
    have wasm32 emcc em++ node || return
    target emcc em++ "-s ALLOW_MEMORY_GROWTH=1"
    runner="node --no-experimental-fetch" suffix=.js
    # they need threads, or a long double whose functions are better than double
    without="test_rn_estimator test_agg_laws test_rn_trainer"
    row "wasm32, node" c99 -O2
    more row "wasm32, node" c++20 "-O3 -msimd128"
}

# two lanes side by side, each in a directory of its own
lane() { # NAME
    build=$build/$1
    rm -rf "$build"
    mkdir -p "$build"
    "$1"
}
one() {
    natives gcc g++
    i387
    natives clang-16 clang++-16
    tcc_rows
    windows
    emulated aarch64
}
two() {
    natives clang clang++
    natives gcc-11 g++-11
    musl
    i686
    wasm
    emulated s390x
    more aarch64_clang
}
table() {
    printf '%-22s %-6s %-24s %-9s %-9s %-9s %s\n' target lang flags headers float double "$([ -n "${QUICK:-}" ] || echo tests)"
    lane one &
    (lane two)
    wait
}

rm -f "$build"/*/rows
table | tee "$build/table"
rows=$(cat "$build"/*/rows 2>/dev/null | wc -l)
broken=$(grep -c 'FAILED$' "$build/table")
missing=$(grep -c '^MISSING' "$build/table")
echo
echo "portability: $rows rows, $broken failed, $missing not installed"
[ "$broken" -eq 0 ] && [ "$rows" -gt 0 ] && { [ -z "${ALL:-}" ] || [ "$missing" -eq 0 ]; }
