#!/bin/sh
# The format of all C files, and static analysis of the two headers, the lessons and their
# environments; called by `make lint`. Clean, or status 1. What clang-tidy looks for, in the headers,
# is in .clang-tidy. cppcheck: no style, which is ours. gcc -fanalyzer: all it has.
set -u
log=$1/lint.log
analyses=0 failed=0
mkdir -p "$1"

lint() { # NAME COMMAND...: quiet unless there is something to say
    name=$1
    shift
    analyses=$((analyses + 1))
    if "$@" >"$log" 2>&1 && ! grep -q 'warning:\|error:' "$log"; then
        echo "clean: $name"
    else
        echo "FAILED: $name"
        head -n 60 "$log"
        failed=$((failed + 1))
    fi
}
have() { command -v "$1" >/dev/null || { echo "skipped: $1 is not installed"; return 1; }; }

analyses=$((analyses + 1))
sh tests/format.sh check || failed=$((failed + 1))
if have clang-tidy; then
    for real in float double; do
        lint "clang-tidy, both headers, $real" clang-tidy --quiet tests/strict/resnharpg.c -- \
            -std=c99 -I. "$([ $real = double ] && echo -DAGG_DOUBLE || echo -UAGG_DOUBLE)"
    done
fi
# Answers to what cppcheck says: planar.h fills given[] in a loop over the joints, of which every
# model has one; aggregators.h fills the lanes of a kernel vector by vector, which it does not see
# through memcpy (the memory sanitizer and clang's analyser do).
cppcheck="cppcheck --std=c99 --enable=warning,performance,portability -q --error-exitcode=1
    --suppress=uninitvar:examples/envs/planar.h --suppress=uninitvar:aggregators.h
    --suppress=toomanyconfigs"
if have cppcheck; then
    for real in -UAGG_DOUBLE -DAGG_DOUBLE=1; do
        # shellcheck disable=SC2086
        lint "cppcheck, both headers, $real" $cppcheck -I. $real -U_WIN32 -U__TINYC__ \
            tests/strict/aggregators.c tests/strict/resnharpg.c
    done
    # shellcheck disable=SC2086
    lint "cppcheck, lessons and environments" $cppcheck --max-configs=1 -Iexamples \
        examples/[0-9]*.c examples/envs/*.h
fi
if have gcc; then
    lint "gcc -fanalyzer, both headers" gcc -std=c99 -I. -O1 -fanalyzer \
        -c tests/strict/resnharpg.c -o "$1/lint.o"
fi
echo "$analyses analyses, $failed with findings"
[ "$failed" -eq 0 ] && [ "$analyses" -gt 0 ]
