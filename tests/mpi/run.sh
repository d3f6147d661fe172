#!/bin/sh
# The programs of examples/integrations/mpi, with every MPI that is here: the bits of one process for
# any number of ranks, float and double; bad input; a rank killed in the middle.
#
#   usage: run.sh BUILD_FOLDER [MPI ...]      (openmpi, mpich; by default those that are installed)
set -u
BUILD=$1
shift
if [ $# -eq 0 ]; then
    for m in openmpi mpich; do if command -v mpicc.$m >/dev/null; then set -- "$@" $m; fi; done
fi
if [ $# -eq 0 ]; then
    echo "no mpicc.openmpi and no mpicc.mpich: install MPI (Debian: libopenmpi-dev, libmpich-dev)"
    exit 1
fi
for mpi in "$@"; do
    if ! command -v "mpicc.$mpi" >/dev/null; then
        echo "there is no mpicc.$mpi: install it (Debian: lib$mpi-dev)"
        exit 1
    fi
done
CC=${CC:-cc}
FLAGS="-std=c99 -O2 ${WARN:-} -Wstrict-prototypes -I."
passed=0
failed=0

ok() { passed=$((passed + 1)); }
bad() {
    failed=$((failed + 1))
    echo "FAIL ($mpi) $*"
}

# so many ranks on this machine, however few cores it has
ranks() {
    count=$1
    shift
    case $mpi in
    openmpi) set -- --oversubscribe --mca mpi_yield_when_idle 1 "$@"
        if [ "$(id -u)" -eq 0 ]; then set -- --allow-run-as-root "$@"; fi ;;
    esac
    timeout -k 10 120 "$run" -n "$count" "$@" </dev/null
}

# the code of the headers is compiled once for all
BROUGHT="-DAGGREGATORS_IMPLEMENTED -DRESNHARPG_IMPLEMENTED -DAGGI_CORE"
compile() { # PROGRAM REAL
    double=
    if [ -n "$2" ]; then double=-DAGG_DOUBLE; fi
    "$cc" $FLAGS $BROUGHT $double -Iexamples "examples/integrations/mpi/$1.c" "$BUILD/library$2.o" \
        -o "$at/$1$2" -lm || exit 1
}

# the bits of one process?
same() { # REAL RANKS RULE F PRE FOLDER OPTIONS...
    real=$1 r=$2 rule=$3 f=$4 pre=$5 folder=$6
    shift 6
    rm -f "$at/whole" "$at/out"
    "$BUILD/rows$real" whole "$at/whole" "$rule" "$f" "$pre" "$folder"/* || { bad "no reference"; return; }
    ranks "$r" "$at/mpi_aggregate$real" --quiet --rule "$rule" --f "$f" --pre "$pre" "$@" \
        "$folder"/* -o "$at/out" >"$at/log" 2>&1
    if cmp -s "$at/whole" "$at/out"; then ok; else
        bad "$rule, $pre, $r ranks, $real bits, $*: $(head -c 300 "$at/log")"
    fi
}

# every rule, each with another number of ranks; those numbers with two of them; double in short
rules() {
    for real in "" 64; do
        k=0
        "$BUILD/rows$real" names >"$at/names"
        while read -r rule; do
            k=$((k + 1))
            if [ -n "$real" ] && [ $((k % 4)) -ne 1 ]; then continue; fi
            f=2
            case $rule in mean) f=0 ;; esac
            same "$real" "$(echo 1 2 3 4 7 | cut -d' ' -f$(((k + turn) % 5 + 1)))" "$rule" $f none \
                "$BUILD/harmless$real" --window $((2048 * (k % 3 + 1)))
        done <"$at/names"
        for r in 1 2 3 4 7; do
            if [ -n "$real" ] && [ $r -ne 2 ] && [ $r -ne 7 ]; then continue; fi
            same "$real" $r MDA 3 NNM "$BUILD/hostile$real"
            same "$real" $r GM 3 bucketing "$BUILD/hostile$real" --local
        done
        turn=$((turn + 2))
    done
}

# it ends with status 1 or 2, says so, and leaves no file behind
refused() { # WORDS ARGUMENTS...
    words=$1
    shift
    rm -f "$at/refused" "$at/refused.new"
    ranks 3 "$at/mpi_aggregate" "$@" -o "$at/refused" >"$at/log" 2>&1 && bad "not refused: $*"
    grep -q -e "$words" "$at/log" || bad "no \"$words\" for $*: $(head -c 300 "$at/log")"
    if [ -e "$at/refused" ] || [ -e "$at/refused.new" ]; then bad "wrote a file: $*"; else ok; fi
}

mistakes() {
    rows=$BUILD/harmless
    head -c 400 "$rows/0000" >"$at/short"
    head -c 403 "$rows/0000" >"$at/odd"
    : >"$at/empty"
    refused "100 numbers, but" "$rows"/* "$at/short"
    refused "numbers, but" --local "$rows"/* "$at/short"
    refused "403 bytes are no row" "$at/odd"
    refused "empty" "$at/empty"
    refused "No such file" "$rows"/* "$at/nobody"
    refused "none of the files" --absent "$at/nobody"
    refused "not a file" "$rows"
    refused "f is 6: MDA survives at most 5 of 12" --f 6 "$rows"/*
    refused "are needed and 1 allowed" --memory 1 "$rows"/*
    refused "less than 2048" --window 100 "$rows"/*
    refused "draws coordinates" --rule GAS "$rows"/*
    refused "not a value of it" --rule best "$rows"/*
    refused "not a value of it" --f few "$rows"/*
    refused "no such option" --ef 3 "$rows"/*
    refused "there are no files" --f 3
    refused "more than f rows" --f 1 --absent "$rows"/* "$at/nobody" "$at/none"
    if ranks 2 "$at/mpi_aggregate" "$rows"/* >"$at/log" 2>&1; then bad "no -o"; else ok; fi
    ranks 2 "$at/mpi_aggregate" --help 2>&1 | grep -q "usage: mpirun" && ok || bad "--help"
    ranks 2 "$at/mpi_aggregate" --quiet "$rows"/* -o "$at/no/such/folder" >"$at/log" 2>&1
    grep -q "No such file" "$at/log" && ok || bad "an unwritable result: $(head -c 300 "$at/log")"
    ranks 2 "$at/mpi_aggregate" --quiet "$rows"/* -o "$at" >"$at/log" 2>&1
    grep -q "there, and not a file" "$at/log" && ok || bad "a folder: $(head -c 300 "$at/log")"
    cp "$rows/0000" "$at/beside.new"
    ranks 2 "$at/mpi_aggregate" --quiet "$rows"/* "$at/beside.new" -o "$at/beside" >"$at/log" 2>&1
    grep -q "a row, and -o would" "$at/log" && ok || bad "a row beside: $(head -c 300 "$at/log")"
    rm -f "$at/beside.new"
    refused "are needed and 20 allowed" --rule mean --local --window 2048 --memory 20 "$BUILD/long"/*
    too_large 20000 "$at/mpi_aggregate" --quiet --rule mean "$BUILD/long"/* -o "$at/large"
    refused "overflow" --rule CClip --iterations 99999999999999999 "$rows"/*
    ranks 2 "$at/mpi_aggregate" --quiet --f 2 --absent --report "$rows"/* "$at/nobody" -o "$at/out" \
        >"$at/log" 2>&1
    grep -q "inf .*nobody" "$at/log" && ok || bad "an absent row: $(head -c 300 "$at/log")"
}

# so long a file may not be written: it says so, and leaves no half of it (MPI itself has files of
# some MB, so that the limit cannot be small)
too_large() { # BLOCKS PROGRAM ARGUMENTS... FILE
    limit=$1
    shift
    for file in "$@"; do :; done
    rm -f "$file" "$file.new"
    ranks 1 sh -c "ulimit -f $limit; exec \"\$@\"" sh "$@" >"$at/log" 2>&1
    grep -q "File too large" "$at/log" && ok || bad "too large: $(head -c 300 "$at/log")"
    if [ -e "$file" ] || [ -e "$file.new" ]; then bad "half of $file"; else ok; fi
}

# the last line that a training of so many ranks prints says which bits theta has
theta() { # RANKS OPTIONS...
    r=$1
    shift
    ranks "$r" "$at/mpi_train" --quiet --agents 7 --f 2 "$@" >"$at/log" 2>&1
    sed -n 's/^done after.*theta \([0-9a-f]*\).*/\1/p' "$at/log"
}

equal() { # WHAT A B
    if [ -n "$2" ] && [ "$2" = "$3" ]; then ok; else bad "$1: $2, $3: $(tail -c 300 "$at/log")"; fi
}

said() { if grep -q -e "$1" "$at/log"; then ok; else bad "no \"$1\": $(tail -c 300 "$at/log")"; fi; }

training() {
    bits=$(theta 1 --rounds 8 --check)
    said "rn_trainer's bits"
    for r in 2 3 4 7; do equal "$r ranks" "$bits" "$(theta $r --rounds 8 --check)"; done
    equal "another task" "$(theta 1 --task InvertedPendulum --rounds 3)" \
        "$(theta 3 --task InvertedPendulum --rounds 3 --check)"
    equal "adversaries" "$(theta 1 --rounds 5 --attack noise)" "$(theta 4 --rounds 5 --attack noise)"
    equal "NaN" "$(theta 2 --rounds 5 --attack nan)" "$(theta 3 --rounds 5 --attack nan)"
    theta 2 --rounds 3 --attack nan --adversaries 3 >/dev/null
    said "3 rounds have made no update: "
    rm -f "$at/state"
    if [ -n "$(theta 4 --rounds 8 --state "$at/state" --every 2 --die 6)" ]; then
        bad "nobody was killed"
    fi
    grep -q -i -e "signal 9" -e "killed" "$at/log" && ok || bad "no word of a killed rank"
    equal "going on, on other ranks" "$bits" "$(theta 3 --rounds 8 --state "$at/state")"
    said "goes on with round 5"
    for size in 0 1000; do
        head -c $size "$at/state" >"$at/cut"
        theta 2 --rounds 8 --state "$at/cut" >/dev/null
        said "it is cut off"
    done
    { cat "$at/state"; echo; } >"$at/long"
    theta 2 --rounds 8 --state "$at/long" >/dev/null
    said "longer than a state"
    theta 2 --rounds 8 --state "$at/state" --attack noise >/dev/null
    said "it is of other settings"
    rm -f "$at/over"
    theta 3 --rounds 2 --every 1 --state "$at/over" >/dev/null
    { head -c 30000 "$at/over"; printf x; tail -c +30002 "$at/over"; } >"$at/damaged"
    equal "a damaged state" "none" "$(theta 3 --rounds 2 --state "$at/damaged")none"
    said "is damaged"
    if [ $mpi = openmpi ]; then # MPICH has files of its own that are longer than a state
        too_large 40 "$at/mpi_train" --agents 7 --f 2 --rounds 3 --every 1 --state "$at/large"
    fi
    theta 2 --rounds 8 --seed 5 --state "$at/state" >/dev/null
    said "it is of other settings"
    theta 2 --rounds 2 --theta "$at/no/such/folder" >/dev/null
    said "No such file"
    theta 2 --task Chess >/dev/null
    said "no such task"
    theta 2 --rule Bulyan >/dev/null
    said "Bulyan survives at most"
    theta 2 extra >/dev/null
    said "no such option"
    theta 2 --f 4 >/dev/null
    said "less than half"
    theta 2 --attack rudeness >/dev/null
    said "no such attack"
    theta 2 --help >/dev/null
    said "usage: mpirun"
}

for real in "" 64; do
    double=
    if [ -n "$real" ]; then double=-DAGG_DOUBLE; fi
    mkdir -p "$BUILD"
    $CC $FLAGS $double -c tests/library.c -o "$BUILD/library$real.o" || exit 1
    $CC $FLAGS $BROUGHT $double tests/mpi/rows.c "$BUILD/library$real.o" -o "$BUILD/rows$real" || exit 1
    rm -rf "$BUILD/harmless$real" "$BUILD/hostile$real"
    mkdir -p "$BUILD/harmless$real" "$BUILD/hostile$real"
    "$BUILD/rows$real" make "$BUILD/harmless$real" 12 33001 1 0
    "$BUILD/rows$real" make "$BUILD/hostile$real" 17 9000 2 1
done
rm -rf "$BUILD/long"
mkdir -p "$BUILD/long"
"$BUILD/rows" make "$BUILD/long" 2 3300000 3 0
turn=0
for mpi in "$@"; do
    cc=mpicc.$mpi
    run=mpirun.$mpi
    at=$BUILD/$mpi
    mkdir -p "$at"
    passed=0
    compile mpi_aggregate ""
    compile mpi_aggregate 64
    compile mpi_train ""
    rules
    mistakes
    training
    echo "$mpi: $passed checks passed, $failed failed"
done
[ $failed -eq 0 ]
