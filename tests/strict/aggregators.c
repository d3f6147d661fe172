/* Uses every function of aggregators.h, for tests/strict/run.sh, which compiles it in many ways:
   STRICT_USER     a file that only uses the header, implemented elsewhere
   STRICT_UNUSED   a file that has the implementation and calls nothing (AGG_STATIC stays silent)
   otherwise       the implementation and its use in one file; the header is included three times */
#include "aggregators.h"
#ifndef STRICT_USER
#ifndef AGGREGATORS_IMPLEMENTATION /* also given on the command line */
#define AGGREGATORS_IMPLEMENTATION
#endif
#include "aggregators.h"
#endif
#include "aggregators.h"

#include <string.h>

#ifdef STRICT_UNUSED
int main(void) { return 0; }
#elif !defined(STRICT_IMPLEMENTATION_ONLY)
static int use_questions(void) {
    const int texts = agg_status_text(AGG_OK) && agg_rule_name(AGG_MDA) && agg_rule_cost(AGG_MDA) &&
                      agg_attack_name(AGG_ATTACK_ZERO) && agg_pre_name(AGG_PRE_NNM);
    const int numbers = agg_lambda(AGG_MDA, 5, 1, 2) > 0 &&
                        agg_sample_complexity(AGG_MDA, 0.1, 5, 1, 2) > 0 &&
                        agg_max_f(AGG_MDA, 5) == 2 && agg_rule_is_order_optimal(AGG_MDA);
    return texts && numbers;
}

int main(void) {
    agg_real a[] = {1, 1}, b[] = {1, 2}, c[] = {2, 1}, d[] = {2, 2}, adversary[2], out[2];
    const agg_real *rows[5];
    char scratch[8192];
    double ratio = -1;
    agg_attack_desc attack;
    agg_desc desc = agg_make_desc(AGG_MDA, 5, 2, 1);
    memset(&attack, 0, sizeof attack);
    attack.kind = AGG_ATTACK_ZERO;
    rows[0] = a;
    rows[1] = b;
    rows[2] = c;
    rows[3] = d;
    rows[4] = adversary;
    if (agg_attack(&attack, rows, 4, 2, NULL, adversary) != AGG_OK) return 1;
    if (agg_scratch_size(&desc) > sizeof scratch) return 2;
    if (agg_aggregate(&desc, rows, out, scratch, sizeof scratch, NULL) != AGG_OK) return 3;
    if (agg_resilience(rows, 5, 2, 1, out, &ratio, NULL) != AGG_OK) return 4;
    return use_questions() && ratio >= 0 ? 0 : 5;
}
#endif
