/* What only the private functions of aggregators.h show: the kernels for AVX2 and the plain ones
   give the same bits, and the budget of a search where the caller sets none. */
#define AGGREGATORS_IMPLEMENTATION
#include "aggregators.h"
#include "greatest.h"
#include "common.h"

/* The call without the kernels for AVX2, which this machine may have: the parts of agg_aggregate()
   that matter here. */
static int attempt_without_avx2(const agg_desc *d, const agg_real *const *x, agg_real *out) {
    const size_t size = agg_scratch_size(d);
    void *scratch = need(malloc(size));
    aggi_call c;
    int status;
    (void)aggi_begin(&c, d, scratch, size);
    c.avx2 = 0;
    aggi_collect(&c, x);
    status = aggi_aggregate(&c);
    memcpy(out, c.out, d->dim * sizeof *out);
    free(scratch);
    return status;
}

/* the wide versions of the inner loops and the plain ones: the same bits */
TEST kernels_agree(agg_rule rule) {
    static const size_t dims[] = {5, 64, 700, 5000};
    rng r = rng_make(65);
    for (size_t c = 0; c < sizeof dims / sizeof *dims; c++)
        for (int lay = 0; lay < LAYOUT_COUNT; lay++)
            for (size_t n = 3; n <= 11; n += 4) {
                agg_desc d = agg_make_desc(rule, n, dims[c], rule == AGG_MEAN ? 0 : n / 5);
                rows x = rows_new(n, dims[c]);
                agg_real *a = (agg_real *)need(calloc(2 * dims[c], sizeof *a)), *b = a + dims[c];
                fill_rows(&x, (layout)lay, &r);
                ASSERT_EQ((int)run(&d, x.row, a, NULL), attempt_without_avx2(&d, x.row, b));
                ASSERTm(layout_name((layout)lay), same_bits(a, b, dims[c]));
                free(a);
                rows_free(&x);
            }
    PASS();
}

/* 2^26 + n^2 (2048 + dim/8), as far as it can be counted */
TEST budget_by_default(void) {
    static const struct {
        size_t n, dim;
        uint64_t operations;
    } cases[] = {{10, 1, 67313664},
                 {500, 15, 579358864},
                 {1000, 100000, 14615108864},
                 {(size_t)1 << 26, 1u << 20, ((uint64_t)1 << 26) + ((uint64_t)1 << 62)}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        agg_desc d = agg_make_desc(AGG_MDA, cases[i].n, cases[i].dim, 1);
        ASSERT_EQ(cases[i].operations, aggi_budget(&d));
        d.budget = 7;
        ASSERT_EQ((uint64_t)7, aggi_budget(&d));
    }
    PASS();
}

SUITE(inside) {
    for (size_t i = 0; i < AGG_RULE_COUNT; i++) RUN_RULE(kernels_agree, rule_at(i));
    RUN_TEST(budget_by_default);
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv) {
    GREATEST_MAIN_BEGIN();
    RUN_SUITE(inside);
    GREATEST_MAIN_END();
}
