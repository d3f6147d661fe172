#!/bin/sh
# Runs every fuzzer, as float and as double, on its seeds and on what earlier runs found: a line for
# each, then the sum. SEED=1 in the environment, and nothing found earlier: the same inputs in the
# same order each time, for checks that must not depend on luck.
# usage: tests/fuzz/run.sh DIR SECONDS "VARIANT.." "NAME.."     (called by `make fuzz`)
set -u
dir=$1 seconds=$2 variants=$3 names=$4

run_fuzzer() { # NAME VARIANT
    corpus=$dir/corpus/$1-$2
    log=$dir/$2/$1.log
    mkdir -p "$corpus"
    if ! "$dir/$2/$1" "-max_total_time=$seconds" "-seed=${SEED:-0}" -timeout=10 -max_len=600 -print_final_stats=1 \
        "-artifact_prefix=$dir/$2-$1-" "$corpus" "tests/fuzz/seeds/$1" >"$log" 2>&1; then
        grep -v '^#' "$log" | head -n 60
        echo "FAILED: fuzz/$1.c as $2; the input is the file named above"
        exit 1
    fi
    count=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    printf '%-10s %-6s %9s inputs, corpus of %5s, nothing found\n' "$1" "$2" "$count" "$(find "$corpus" -type f | wc -l)"
}

count() { # of the executed inputs, in all logs
    for variant in $variants; do
        for name in $names; do sed -n 's/^stat::number_of_executed_units: *//p' "$dir/$variant/$name.log"; done
    done | awk '{ total += $1 } END { print total " inputs to " NR " programs" }'
}

lanes= # the precisions side by side
for variant in $variants; do
    (for name in $names; do run_fuzzer "$name" "$variant"; done) &
    lanes="$lanes $!"
done
for lane in $lanes; do wait "$lane" || exit 1; done
echo "$(count), no crash, no undefined behaviour, none slower than 10 s"
