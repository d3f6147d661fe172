/* What only the private functions of aggregators.h show: the kernels for AVX2 and the plain ones
   give the same bits, the budget of a search where the caller sets none, and what GM does with a
   point of which nothing is proven. */
#define AGGREGATORS_IMPLEMENTATION
#include "aggregators.h"
#include "greatest.h"
#include "common.h"
#include "reference.h"

/* The call without the kernels for AVX2, which this machine may have: the parts of agg_aggregate()
   that matter here. */
static int attempt_without_avx2(const agg_desc *desc, const agg_real *const *x, agg_real *out) {
    rng own = rng_make(1); /* as run() */
    const agg_desc given = desc_with_rng(desc, &own), *d = &given;
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

/* The point is anywhere, which the solver never comes to, and nothing is known of it: the result is
   within lambda all the same, and is what the weights say. */
static const char *retreat(const agg_desc *d, const rows *x, rng *r) {
    const size_t size = agg_scratch_size(d), n = d->n;
    const double lambda = agg_lambda(AGG_GM, n, d->f, d->dim);
    void *scratch = need(malloc(size));
    double weight[9], sum = 0, ratio;
    aggi_call c;
    aggi_gm *g = &c.gm;
    int status;
    (void)aggi_begin(&c, d, scratch, size);
    c.report.weight = weight;
    aggi_collect(&c, x->row);
    aggi_play(&c);
    g->wanted = 1e-6;
    (void)aggi_gm_attempt(&c, 0);
    for (size_t i = 0; i < g->n; i++) g->at.w[i] = rng_unit(r) - (rng_below(r, 2) ? 0.1 : 0);
    for (size_t i = 0; i < g->n; i++) sum += g->at.w[i];
    for (size_t i = 0; i < g->n; i++) g->at.w[i] /= sum;
    g->at.w[g->n] = g->force > 0 ? 10 * rng_unit(r) : 0;
    aggi_gm_times(g, g->at.w, g->at.q);
    (void)aggi_gm_measure(g, &g->at);
    aggi_gm_weigh(&c, g->at.w, g->force > 0 ? g->at.w[g->n] / g->force : 0);
    c.report.gap = (double)INFINITY;
    status = aggi_gm_finish(&c);
    ratio = (double)ref_resilience(x->row, n, d->dim, d->f, c.out, 8 * (ref_num)EPS);
    for (size_t i = 0; i < n; i++)
        if (!(c.weight[i] >= 0 && c.weight[i] <= 1 + 1e-12)) status = -2;
    free(scratch);
    return status != AGG_INEXACT          ? WHY("n %zu f %zu: status %d", n, d->f, status)
           : ratio > lambda * (1 + 1e-12) ? WHY("n %zu f %zu: %g > %g", n, d->f, ratio, lambda)
                                          : NULL;
}

TEST gm_retreats(void) {
    rng r = rng_make(66);
    for (size_t t = 0; t < rounds(2000); t++) {
        const size_t n = 4 + rng_below(&r, 6), f = rng_below(&r, (n - 2) / 2 + 1);
        const agg_desc d = agg_make_desc(AGG_GM, n, 4, f);
        rows x = rows_new(n, 4);
        const char *bad;
        fill_rows(&x, LAY_RANDOM, &r);
        for (size_t i = 0; i < f; i++)
            if (rng_below(&r, 2)) fill_normal(rows_at(&x, i), 4, &r, 0, pow(10, 30 * rng_unit(&r)));
        bad = retreat(&d, &x, &r);
        rows_free(&x);
        if (bad) FAILm(bad);
    }
    PASS();
}

SUITE(inside) {
    for (size_t i = 0; i < AGG_RULE_COUNT; i++) RUN_RULE(kernels_agree, rule_at(i));
    RUN_TEST(budget_by_default);
    RUN_TEST(gm_retreats);
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv) {
    GREATEST_MAIN_BEGIN();
    RUN_SUITE(inside);
    GREATEST_MAIN_END();
}
