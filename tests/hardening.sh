#!/bin/sh
# What the headers are put through, by one command: the table of `make portability`, then the last
# line, with its counts, of every other check. The whole of what each says is in LOGS.
# QUICK=1: about half an hour on two cores. Without: hours.
# usage: tests/hardening.sh LOGS     (called by `make hardening`)
set -u
logs=$1
failed=0
mkdir -p "$logs"
if [ -n "${QUICK:-}" ]; then
    seconds=5 rounds=50000 precision=VARIANTS=float # the sanitizers' runs as float only
    export SEED=1                                   # of the fuzzers
else
    seconds=600 rounds=1000000 precision=
fi

check() { # NAME COMMAND...
    name=$1
    begin=$(date +%s)
    shift
    printf '%-12s ' "$name"
    if "$@" >"$logs/$name.log" 2>&1; then
        said=$(tail -n 1 "$logs/$name.log")
        printf '%s (%d s)\n' "$said" $(($(date +%s) - begin))
    else
        printf 'FAILED:\n'
        tail -n 40 "$logs/$name.log" | sed 's/^/    | /'
        failed=$((failed + 1))
    fi
}

make portability || failed=$((failed + 1))
echo
check packaging make packaging
check asan make asan $precision
check msan make msan $precision
check tsan make tsan
check valgrind make valgrind
check fuzz make fuzz SECONDS=$seconds
check soak make soak ROUNDS=$rounds
check coverage make coverage
check lint make lint
echo "hardening: $failed failed"
[ "$failed" -eq 0 ]
