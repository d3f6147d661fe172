#!/bin/sh
# Runs one fuzzer on its seeds and on what earlier runs found, and prints one line about it.
# usage: tests/fuzz/run.sh DIR float|double NAME SECONDS     (called by `make fuzz`)
set -u
dir=$1 variant=$2 name=$3 seconds=$4
corpus=$dir/corpus/$name-$variant
log=$dir/$variant/$name.log
seeds=tests/fuzz/seeds/$name
mkdir -p "$corpus"
if ! "$dir/$variant/$name" "-max_total_time=$seconds" -timeout=10 -max_len=600 -print_final_stats=1 \
    "-artifact_prefix=$dir/$variant-$name-" "$corpus" "$seeds" >"$log" 2>&1; then
    grep -v '^#' "$log" | head -n 60
    echo "FAILED: fuzz/$name.c as $variant; the input is the file named above"
    exit 1
fi
printf '%-10s %-6s %9s executions, corpus of %5s, nothing found\n' "$name" "$variant" \
    "$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")" "$(find "$corpus" -type f | wc -l)"
