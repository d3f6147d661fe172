#!/bin/sh
# mpi_aggregate on 1, 2 and 4 ranks: seconds, bytes read, bytes that moved between ranks, and the
# least that could: for a sum of all, (ranks - 1)/ranks twice of what each has to give.
#
#   usage: ranks.sh BUILD_FOLDER        (where `make mpi` left its programs; BENCH_QUICK=1: short)
set -u
BUILD=$1
n=64 dim=2000000
if [ -n "${BENCH_QUICK:-}" ]; then n=32 dim=100000; fi
run=
for mpi in mpich openmpi; do
    if [ -x "$BUILD/$mpi/mpi_aggregate" ] && command -v mpirun.$mpi >/dev/null; then run=$mpi; fi
done
if [ -z "$run" ] || [ ! -x "$BUILD/rows" ]; then
    echo "no ranks measured: \`make mpi\` builds what that needs"
    exit 0
fi
folder=$BUILD/scale
rm -rf "$folder"
mkdir -p "$folder"
"$BUILD/rows" make "$folder" $n $dim 1 0
echo
echo "$n x $dim float from files, $run; \"least\": n^2/2 + n/2 doubles summed over the ranks and told to all"
echo "rule    how           ranks  seconds  passes  read MB  moved MB  least MB"
for rule in CWTM MDA; do
    for how in "" --local; do
        for r in 1 2 4; do
            set -- -n $r
            if [ $run = openmpi ]; then
                set -- --oversubscribe --mca mpi_yield_when_idle 1 "$@"
                if [ "$(id -u)" -eq 0 ]; then set -- --allow-run-as-root "$@"; fi
            fi
            f=$((n * 3 / 10))
            timeout -k 10 600 mpirun.$run "$@" "$BUILD/$run/mpi_aggregate" --quiet --stats --rule $rule --f $f $how \
                "$folder"/* -o "$folder.out" </dev/null |
                awk -v rule=$rule -v how="${how:-by slices}" -v n=$n -v r=$r -v dim=$dim '
                    { pairs = rule == "MDA" ? 8 * n * (n + 1) / 2 : 0
                      least = 2 * (r - 1) * pairs + (r - 1) / r * 4 * dim
                      if (how == "--local") least += (r - 1) / r * 4 * n * dim
                      printf "%-7s %-13s %5d %8.2f %7d %8.0f %9.2f %9.2f\n", rule, how, r, $8, $10,
                          $12 / 1e6, $14 / 1e6, least / 1e6 }
                    END { if (!NR) exit 1 }' || { echo "$rule $how on $r ranks: nothing came"; exit 1; }
        done
    done
done
rm -rf "$folder" "$folder.out"
