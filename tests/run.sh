#!/bin/sh
# Runs test programs and documentation examples; the last line is the sum: "N passed, M failed".
# A program that did not compile, crashed, ran nothing or promised other output counts as one failure.
#
# usage: tests/run.sh BUILD_DIR program...     (called by `make test`)
# V=1 shows the output of every program, not only of those that fail; RUNNER is put before each program (valgrind);
# TEST_TIMEOUT: seconds per program where timeout(1) is installed.
set -u
build=$1
shift
passed=0
failed=0
log=$build/run.log
limit=
if command -v timeout >/dev/null 2>&1; then limit="timeout ${TEST_TIMEOUT:-900}"; fi

verdict() { # PASSED FAILED NOTE: ends the line that start_line began
    passed=$((passed + $1))
    failed=$((failed + $2))
    if [ "$2" -gt 0 ]; then echo "FAILED  $3"; else echo "ok  $3"; fi
    if [ -s "$log" ] && { [ "$2" -gt 0 ] || [ -n "${V:-}" ]; }; then sed 's/^/    | /' "$log"; fi
    : >"$log"
}

start_line() { printf '%-44s' "$1"; }

run_program() { # a program written against the greatest API; make has run it, the log ends with "status N"
    if [ -f "$1.log" ]; then cp "$1.log" "$log"; fi
    status=$(sed -n 's/^status //p' "$log" | tail -n 1)
    counts=$(sed -n 's/^Pass: \([0-9]*\), fail: \([0-9]*\), skip: \([0-9]*\)\..*/\1 \2 \3/p' "$log" | tail -n 1)
    if [ -z "$counts" ]; then
        verdict 0 1 "ended with status ${status:-unknown} before its summary"
        return
    fi
    # shellcheck disable=SC2086
    set -- $counts
    if [ "$2" -eq 0 ] && [ "${status:-1}" -ne 0 ]; then
        verdict "$1" 1 "all passed, but the exit status is $status"
    elif [ $(($1 + $2 + $3)) -eq 0 ]; then
        verdict 0 1 "ran no test"
    else
        verdict "$1" "$2" "$1 passed, $2 failed$( [ "$3" -eq 0 ] || echo ", $3 skipped")"
    fi
}

run_example() { # PROGRAM EXPECTED: an example out of the documentation
    # shellcheck disable=SC2086
    $limit ${RUNNER:-} "$1" >"$build/example.out" 2>"$log" </dev/null
    status=$?
    if [ "$status" -ne 0 ]; then
        cat "$build/example.out" >>"$log"
        verdict 0 1 "status $status"
    elif [ -f "$2" ] && ! cmp -s "$2" "$build/example.out"; then
        { echo "the documentation promises:"; cat "$2"; echo "the example prints:"; cat "$build/example.out"; } >>"$log"
        verdict 0 1 "prints something else"
    elif [ -f "$2" ]; then
        verdict 1 0 "prints what it promises"
    else
        verdict 1 0 "runs"
    fi
}

check_list() { # FILE of "place name" lines, KIND
    found=0
    while read -r place name; do
        case $2 in
        targets) grep -q "^$name:" Makefile ;;
        links) [ -e "$name" ] ;;
        esac && found=$((found + 1)) && continue
        start_line "$place"
        verdict 0 1 "$name does not exist"
    done <"$1"
    start_line "documentation: $2"
    verdict "$found" 0 "$found exist"
}

: >"$log"
for program in "$@"; do
    start_line "${program#"$build"/}"
    if [ ! -x "$program" ]; then
        verdict 0 1 "did not compile"
        continue
    fi
    case $program in
    "$build"/docs/*) run_example "$program" "$build/docs/${program##*/}.expected" ;;
    *) run_program "$program" ;;
    esac
done
if [ -f "$build/docs/stamp" ]; then
    check_list "$build/docs/targets" targets
    check_list "$build/docs/links" links
else
    start_line "documentation"
    verdict 0 1 "was not extracted"
fi
echo
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
