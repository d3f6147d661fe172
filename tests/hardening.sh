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
    seconds=3 rounds=50000
    sanitized="env TEST_QUICK=1 make VARIANTS=float" # as float only, long loops short
    # what hosts' bytes reach; msan has the arithmetic beside them, asan runs all
    grinded="test_agg_misuse test_agg_stages test_rn_federation test_rn_misuse test_rn_saving test_ex_policy_c"
    painted="$grinded test_agg_rules test_agg_laws test_agg_columns test_agg_adversaries test_both_modes"
    painted="$painted test_both_explain test_rn_attacks test_rn_corners test_rn_policies test_rn_trainer"
    painted="$painted test_rn_tuned test_rn_watch"
    export SEED=1                                    # of the fuzzers
else
    seconds=600 rounds=1000000 sanitized=make grinded= painted=
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
# shellcheck disable=SC2086
check asan $sanitized asan
# shellcheck disable=SC2086
check msan $sanitized msan ${painted:+NAMES="$painted"}
check tsan env ${QUICK:+TEST_QUICK=1} make tsan
check valgrind make valgrind ${grinded:+NAMES="$grinded"}
check fuzz make fuzz SECONDS=$seconds
check soak make soak ROUNDS=$rounds
check coverage make coverage
check lint make lint
echo "hardening: $failed failed"
[ "$failed" -eq 0 ]
