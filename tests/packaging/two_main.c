/* the other file: includes the headers only to use them, aggregators.h by itself too */
#include "two.h"
#include <aggregators.h>
#include <stdio.h>

int main(void) {
    static coin coins[6];
    const agg_desc d = agg_make_desc(AGG_CWMED, 3, 1, 1);
    rn_real a = 1, b = 2, c = 900, out = 0;
    const rn_real *rows[3] = {&a, &b, &c};
    char scratch[4096];
    double score = 0;
    rn_table table;
    rn_status s;
    rn_trainer *trainer = make_learner(coins, 5, &table, &s);
    const rn_env evaluation = coin_env(&coins[5]);
    for (int round = 0; s == RN_OK && round < 50; round++) s = rn_trainer_run_round(trainer);
    if (s == RN_OK) s = rn_trainer_evaluate(trainer, &evaluation, 1, &score);
    rn_trainer_destroy(trainer);
    if (agg_aggregate(&d, rows, &out, scratch, sizeof scratch, NULL) != AGG_OK) return 1;
    printf("%s, score %g, median %g, version %d.%d.%d\n", rn_status_text(s), score, (double)out,
           RN_VERSION_MAJOR, RN_VERSION_MINOR, RN_VERSION_PATCH);
    return s == RN_OK && score > 4.5 && out > 1.5f && out < 2.5f ? 0 : 2;
}
