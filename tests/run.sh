#!/bin/sh
# What `make test` says and counts.
# usage: tests/run.sh begin BUILD TIME program...   says what is to be done, and how long it takes
#        tests/run.sh one BUILD program             runs it and prints its line
#        tests/run.sh end BUILD program...          the sum; the last line is "N passed, M failed"
# A program that did not compile, crashed, ran nothing or promised other output counts as one
# failure. Each leaves program.log and program.result: "PASSED FAILED SKIPPED SECONDS".
#
# V=1 shows the output of every program, not only of those that fail; RUNNER is put before each
# program (valgrind); TEST_TIMEOUT: seconds for each program where timeout(1) is installed.
set -u
mode=$1
build=$2
shift 2

began=$build/tests/began # a file with the time
ended=$build/tests/ended # a line for each program that has

begin() {
    time=$1
    shift
    examples=0
    for program; do
        rm -f "$program.result" "$program.log"
        case $program in "$build"/docs/*) examples=$((examples + 1)) ;; esac
    done
    mkdir -p "$build/tests"
    date +%s >"$began"
    : >"$ended"
    echo $# >"$build/tests/count"
    echo "compiling and running $(($# - examples)) test programs and $examples examples of the" \
        "documentation: $time; a line for each as it ends"
}

line() { # VERDICT SECONDS NAME NOTE
    printf '%-6s %6s s  %-42s %s\n' "$1" "$2" "$3" "$4"
}

# PASSED FAILED SKIPPED NOTE, of $program, whose log is $log
verdict() {
    echo "$1 $2 $3 $seconds" >"$program.result"
    if [ "$2" -gt 0 ]; then word=FAILED; else word=ok; fi
    echo >>"$ended"
    {
        printf '%3d/%d ' $(($(wc -l <"$ended"))) "$(cat "$build/tests/count")"
        line $word "$seconds" "${program#"$build"/}" "$4"
        if [ -n "${V:-}" ]; then
            sed 's/^/    | /' "$log"
        elif [ "$2" -gt 0 ]; then
            grep -v '^PASS ' "$log" | sed 's/^/    | /'
        fi
    } >"$program.says"
    cat "$program.says" # at once: other programs end at the same time
}

# the command, at most as long as allowed; sets status and seconds, of processor time
run() {
    limit=
    if command -v timeout >/dev/null 2>&1; then limit="timeout ${TEST_TIMEOUT:-900}"; fi
    # shellcheck disable=SC2086
    $limit ${RUNNER:-} "$@" </dev/null
    status=$?
}

count_seconds() { # in the second line `times` has user and system time of what this shell ran
    times >"$program.times"
    seconds=$(awk 'NR == 2 { split($1, u, /[ms]/); split($2, s, /[ms]/)
        printf "%.1f", 60 * (u[1] + s[1]) + u[2] + s[2] }' "$program.times")
}

run_test() { # a program written against the greatest API; -v: it says why it skips a test
    run "$program" -v >"$log" 2>&1
    count_seconds
    counts=$(sed -n 's/^Pass: \(.*\), fail: \(.*\), skip: \(.*\)\.$/\1 \2 \3/p' "$log" | tail -n 1)
    if [ -z "$counts" ]; then
        verdict 0 1 0 "ended with status $status before its summary"
        return
    fi
    # shellcheck disable=SC2086
    set -- $counts
    if [ "$2" -eq 0 ] && [ "$status" -ne 0 ]; then
        verdict "$1" 1 "$3" "all passed, but the exit status is $status"
    elif [ $(($1 + $2 + $3)) -eq 0 ]; then
        verdict 0 1 0 "ran no test"
    else
        note="$1 passed"
        if [ "$2" -gt 0 ]; then note="$note, $2 failed"; fi
        if [ "$3" -gt 0 ]; then note="$note, $3 skipped"; fi
        verdict "$1" "$2" "$3" "$note"
    fi
}

run_example() { # EXPECTED: a file with what the documentation promises, if it does
    run "$program" >"$program.out" 2>"$log"
    count_seconds
    if [ "$status" -ne 0 ]; then
        cat "$program.out" >>"$log"
        verdict 0 1 0 "status $status"
    elif [ ! -f "$1" ]; then
        verdict 1 0 0 "runs"
    elif cmp -s "$1" "$program.out"; then
        verdict 1 0 0 "prints what it promises"
    else
        {
            echo "the documentation promises:"
            cat "$1"
            echo "the example prints:"
            cat "$program.out"
        } >>"$log"
        verdict 0 1 0 "prints something else"
    fi
}

one() {
    program=$1
    log=$program.log
    case $program in
    "$build"/docs/*) run_example "$build/docs/${program##*/}.expected" ;;
    *) run_test ;;
    esac
}

passed=0
failed=0
skipped=0
add() { # PASSED FAILED SKIPPED
    passed=$((passed + $1))
    failed=$((failed + $2))
    skipped=$((skipped + $3))
}

check_list() { # KIND: $build/docs/KIND has lines "place name"
    found=0
    while read -r place name; do
        case $1 in
        targets) grep -q "^$name:" Makefile ;;
        links) [ -e "$name" ] ;;
        files) grep -q -F "]($name)" "$place" ;;
        esac && found=$((found + 1)) && continue
        line FAILED 0.0 "$place" "$name is not there"
        add 0 1 0
    done <"$build/docs/$1"
    line ok 0.0 "documentation: $1" "$found are there"
    add "$found" 0 0
}

# README's first program is the smallest example, without the comment at its top
check_first_program() {
    sed '1,/\*\//d' examples/00_smallest.c >"$build/docs/smallest"
    if sed -n '/^```c$/,/^```$/p' README.md | sed '1d;/^```$/,$d' | cmp -s - "$build/docs/smallest"; then
        line ok 0.0 "documentation: first program" "is examples/00_smallest.c"
        add 1 0 0
    else
        line FAILED 0.0 "README.md" "its first program is not examples/00_smallest.c"
        add 0 1 0
    fi
}

# each reason once, with how often, and in which programs
skip_reasons() {
    for program; do
        if [ ! -f "$program.log" ]; then continue; fi
        sed -n "s/ ([0-9]* ticks.*//; s/^SKIP [^:]*: \(.*\)/${program##*/} \1/p" "$program.log"
    done | awk '{ program = $1; $1 = ""; count[$0]++
            if (!seen[$0, program]++) where[$0] = where[$0] " " program }
        END { for (why in count) print "skipped " count[why] ":" why ", in" where[why] }' | sort
}

end() {
    running=0
    for program; do
        if [ -f "$program.result" ]; then
            read -r p f s seconds <"$program.result"
            add "$p" "$f" "$s"
            running="$running + $seconds"
        else
            if [ -x "$program" ]; then why="did not run"; else why="did not compile"; fi
            line FAILED 0.0 "${program#"$build"/}" "$why"
            add 0 1 0
        fi
    done
    if [ -f "$build/docs/stamp" ]; then
        check_list targets
        check_list links
        for file in tests/[!R]*; do echo "tests/README.md ${file#tests/}"; done >"$build/docs/files"
        check_list files
        check_first_program
    else
        line FAILED 0.0 "documentation" "was not extracted"
        add 0 1 0
    fi
    echo
    skip_reasons "$@"
    elapsed=$(($(date +%s) - $(cat "$began")))
    echo "$elapsed seconds in all, $(awk "BEGIN { print $running }") of processor time to run the programs"
    if [ "$skipped" -gt 0 ]; then skips=", $skipped skipped"; else skips=; fi
    echo "$passed passed, $failed failed$skips"
    [ "$failed" -eq 0 ]
}

$mode "$@"
