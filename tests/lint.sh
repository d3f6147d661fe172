#!/bin/sh
# The format of all C files, the form of the lessons, and static analysis of the two headers, the
# lessons and their environments; called by `make lint`. Clean, or status 1. What clang-tidy looks
# for, in the headers, is in .clang-tidy. cppcheck: no style, which is ours. gcc -fanalyzer: all it
# has.
set -u
dir=$1/lint
mkdir -p "$dir"

lint() { # NAME COMMAND...: quiet unless there is something to say, and at once
    name=$1 log=$dir/$(echo "$1" | tr -c '[:alnum:]\n' _)
    shift
    if "$@" >"$log" 2>&1 && ! grep -q 'warning:\|error:' "$log"; then
        echo "clean: $name"
    else
        printf 'FAILED: %s\n%s\n' "$name" "$(head -n 60 "$log")"
    fi
}
have() { command -v "$1" >/dev/null || { echo "skipped: $1 is not installed"; return 1; }; }

tidy() {
    have clang-tidy || return
    for real in float double; do
        lint "clang-tidy, both headers, $real" clang-tidy --quiet tests/strict/resnharpg.c -- \
            -std=c99 -I. "$([ $real = double ] && echo -DAGG_DOUBLE || echo -UAGG_DOUBLE)"
    done
}

# Answers to what cppcheck says: planar.h fills given[] in a loop over the joints, of which every
# model has one; aggregators.h fills the lanes of a kernel vector by vector, which it does not see
# through memcpy (the memory sanitizer and clang's analyser do).
cppcheck="cppcheck --std=c99 --enable=warning,performance,portability -q --error-exitcode=1
    --suppress=uninitvar:examples/envs/planar.h --suppress=uninitvar:aggregators.h
    --suppress=toomanyconfigs"
# shellcheck disable=SC2086
check() { # float or double. resnharpg.c has the code of both headers.
    have cppcheck || return
    lint "cppcheck, both headers, $1" $cppcheck -I. \
        "$([ $1 = double ] && echo -DAGG_DOUBLE=1 || echo -UAGG_DOUBLE)" -U_WIN32 -U__TINYC__ \
        tests/strict/resnharpg.c
}

# shellcheck disable=SC2086
check_lessons() {
    have cppcheck || return
    lint "cppcheck, lessons and environments" $cppcheck --max-configs=1 -Iexamples \
        examples/[0-9]*.c examples/envs/*.h
}

analyse() {
    have gcc || return
    lint "gcc -fanalyzer, both headers" gcc -std=c99 -I. -O1 -fanalyzer \
        -c tests/strict/resnharpg.c -o "$dir/lint.o"
}

# each short, with a desc that is refused explained, a verdict in words, and logs without \r
lessons() {
    for lesson in examples/[0-9]*.c; do
        [ "$(wc -l <"$lesson")" -lt 150 ] || echo "error: $lesson has 150 lines or more"
        grep -q '_explain(\|explain_' "$lesson" || echo "error: $lesson does not explain a desc"
        grep -q 'Verdict: \|"learned"' "$lesson" || echo "error: $lesson ends without a verdict"
        ! grep -q '\\r' "$lesson" || echo "error: $lesson prints a carriage return"
    done
}

{ # cppcheck takes as long as the others together
    { check float; check_lessons; } &
    check double &
    sh tests/format.sh check
    lint "lessons: length, verdict, explanation" lessons
    tidy
    analyse
    wait
} 2>&1 | tee "$dir/all.log"
analyses=$(grep -c -E '^(clean|FAILED): ' "$dir/all.log")
failed=$(grep -c '^FAILED: ' "$dir/all.log")
echo "$analyses analyses, $failed with findings"
[ "$failed" -eq 0 ] && [ "$analyses" -gt 0 ]
