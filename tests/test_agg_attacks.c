/* What a host can ask (lambda, max_f, samples, names) against numbers worked out by hand, and
   every attack's formula. */
#include "implementation.h"
#include "aggregators.h"
#include "greatest.h"
#include <math.h>
#include "common.h"
#include "reference.h"

/* ---- tables ---- */
/* n = 10, f = 3, dim = 4: D = min(2, 2 sqrt 7) = 2 */
TEST lambda_by_hand(void) {
    ASSERT_IN_RANGE(6.0 / 7, agg_lambda(AGG_MDA, 10, 3, 4), 1e-12);
    ASSERT_IN_RANGE(6.0 / 7, agg_lambda(AGG_CWTM, 10, 3, 4), 1e-12);
    ASSERT_IN_RANGE(12.0 / 7, agg_lambda(AGG_MEAMED, 10, 3, 4), 1e-12);
    ASSERT_IN_RANGE(10.0 / 7, agg_lambda(AGG_CWMED, 10, 3, 4), 1e-12);
    ASSERT_IN_RANGE(2.3228756555322954, agg_lambda(AGG_KRUM, 10, 3, 4), 1e-12);
    ASSERT_IN_RANGE(2.3228756555322954, agg_lambda(AGG_MULTI_KRUM, 10, 3, 4), 1e-12);
    ASSERT_IN_RANGE(2.1067971810589330, agg_lambda(AGG_GM, 10, 3, 4), 1e-12);
    ASSERT_IN_RANGE(12.0 / 7, agg_lambda(AGG_AKSEL, 10, 3, 4), 1e-12); /* 2f/(n-f) D */
    ASSERT_IN_RANGE(6.0 / 7, agg_lambda(AGG_WINSOR, 10, 3, 4), 1e-12);
    /* D = 2 sqrt 7 */
    ASSERT_IN_RANGE(6.0 / 7 * (1 + 10.0 / 14 * 5.2915026221291814),
                    agg_lambda(AGG_AKSEL, 10, 3, 1000000), 1e-9);
    ASSERT_IN_RANGE(3.0 / 7 * 5.2915026221291814, agg_lambda(AGG_WINSOR, 10, 3, 1000000), 1e-9);
    ASSERT_IN_RANGE(3.0 / 7 * 5.2915026221291814, agg_lambda(AGG_CWTM, 10, 3, 1000000), 1e-9);
    for (size_t i = 0; i < AGG_RULE_COUNT; i++) {
        const agg_rule r = rule_at(i);
        const double at_0 = agg_lambda(r, 10, 0, 1), broken = agg_lambda(r, 10, 5, 1),
                     none = agg_lambda(r, 0, 0, 1);
        if (r == AGG_MDA || r == AGG_CWTM || r == AGG_MEAMED || r == AGG_MEAN || r == AGG_AKSEL ||
            r == AGG_WINSOR)
            ASSERT_IN_RANGE(0.0, at_0, 0.0);
        if (r <= AGG_MEAN || r == AGG_AKSEL || r == AGG_WINSOR) {
            ASSERT(isinf(broken) && broken > 0);
            ASSERT(isinf(none) && none > 0);
        } else {
            ASSERT_IN_RANGE(-1.0, at_0, 0.0);
            ASSERT_IN_RANGE(-1.0, broken, 0.0);
        }
    }
    ASSERT(isinf(agg_lambda(AGG_MEAN, 10, 1, 1)));
    ASSERT_IN_RANGE(-1.0, agg_lambda((agg_rule)99, 10, 1, 1), 0.0);
    PASS();
}

TEST max_f_by_hand(void) {
    static const size_t half[] = {0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5},
                        quarter[] = {0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2};
    for (size_t n = 0; n < 12; n++)
        for (size_t i = 0; i < AGG_RULE_COUNT; i++) {
            const agg_rule r = rule_at(i);
            ASSERT_EQ(r == AGG_MEAN     ? (size_t)0
                      : r == AGG_BULYAN ? quarter[n]
                                        : half[n],
                      agg_max_f(r, n));
        }
    ASSERT_EQ((SIZE_MAX - 1) / 2, agg_max_f(AGG_MDA, SIZE_MAX));
    ASSERT_EQ((size_t)0, agg_max_f((agg_rule)99, 10));
    PASS();
}

/* eps^-2 log(1/eps) (1/n + lambda^2 log n) */
TEST samples_by_hand(void) {
    const double ln10 = 2.302585092994046;
    ASSERT_IN_RANGE(100 * ln10 * (0.1 + 36.0 / 49 * ln10),
                    agg_sample_complexity(AGG_MDA, 0.1, 10, 3, 4), 1e-9);
    ASSERT_IN_RANGE(100 * ln10 * 0.1, agg_sample_complexity(AGG_MEAN, 0.1, 10, 0, 4), 1e-9);
    ASSERT_IN_RANGE(10000 * 2 * ln10, agg_sample_complexity(AGG_MDA, 0.01, 1, 0, 4), 1e-7);
    ASSERT(isinf(agg_sample_complexity(AGG_MEAN, 0.1, 10, 1, 4)));
    ASSERT_IN_RANGE(-1.0, agg_sample_complexity(AGG_CGE, 0.1, 10, 1, 4), 0.0);
    ASSERT_FALSE(isnan(agg_sample_complexity(AGG_MDA, (double)NAN, 10, 1, 4)));
    ASSERT_FALSE(isnan(agg_sample_complexity(AGG_MDA, 0, 10, 1, 4)));
    ASSERT(agg_sample_complexity(AGG_MDA, 2, 10, 1, 4) >= 0);
    ASSERT_IN_RANGE(0.0, agg_sample_complexity(AGG_MDA, (double)INFINITY, 10, 1, 4), 0.0);
    /* 1/eps^2 is beyond any double */
    ASSERT(isinf(agg_sample_complexity(AGG_MDA, DBL_MIN / 4, 10, 1, 4)));
    PASS();
}

/* the names themselves: test_agg_table.c */
TEST names(void) {
#define NAME_X(id, text) ASSERT(!strcmp(text, agg_status_text(id)));
    AGG_STATUS_LIST(NAME_X)
#undef NAME_X
    ASSERT(agg_rule_name((agg_rule)99) && agg_rule_cost((agg_rule)99) &&
           agg_status_text((agg_status)99));
    ASSERT(agg_attack_name((agg_attack_kind)99) && agg_pre_name((agg_pre)99));
    ASSERT_EQ(0, agg_rule_is_order_optimal((agg_rule)99));
    /* the count is no member either */
    ASSERT(!strcmp(agg_rule_name((agg_rule)99), agg_rule_name(AGG_RULE_COUNT)));
    ASSERT(!strcmp(agg_rule_cost((agg_rule)99), agg_rule_cost(AGG_RULE_COUNT)));
    ASSERT(!strcmp(agg_status_text((agg_status)99), agg_status_text(AGG_STATUS_COUNT)));
    ASSERT(!strcmp(agg_attack_name((agg_attack_kind)99), agg_attack_name(AGG_ATTACK_COUNT)));
    ASSERT(!strcmp(agg_pre_name((agg_pre)99), agg_pre_name(AGG_PRE_COUNT)));
    ASSERT_EQ(0, agg_rule_is_order_optimal(AGG_RULE_COUNT));
    PASS();
}

/* ---- attacks ---- */
#define DIM 64

static rows honest_rows(uint64_t seed, size_t n, size_t dim) {
    rng r = rng_make(seed);
    rows x = rows_new(n, dim);
    fill_rows(&x, LAY_RANDOM, &r);
    return x;
}

static agg_attack_desc attack(agg_attack_kind kind, double strength) {
    agg_attack_desc a;
    memset(&a, 0, sizeof a);
    a.kind = kind;
    a.strength = strength;
    a.n = 10;
    a.f = 3;
    return a;
}

static double mean_at(const rows *x, size_t k) {
    double sum = 0;
    for (size_t i = 0; i < x->n; i++) sum += (double)x->row[i][k] / (double)x->n;
    return sum;
}

static double deviation_at(const rows *x, size_t k) {
    double sum = 0;
    for (size_t i = 0; i < x->n; i++)
        sum += ((double)x->row[i][k] - mean_at(x, k)) * ((double)x->row[i][k] - mean_at(x, k)) /
               (double)x->n;
    return sqrt(sum);
}

TEST exact_formulas(void) {
    static const struct {
        agg_attack_kind kind;
        double strength, used;
    } cases[] = {
        {AGG_ATTACK_SIGN_FLIP, 0, 2.5}, {AGG_ATTACK_SIGN_FLIP, 1, 1}, {AGG_ATTACK_ZERO, 0, 0},
        {AGG_ATTACK_IPM, 0, 0.5},       {AGG_ATTACK_IPM, 3, 3},       {AGG_ATTACK_MIMIC, 0, 0},
        {AGG_ATTACK_ALIE, 1.5, 1.5},
    };

    rows x = honest_rows(1, 7, DIM);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        agg_attack_desc a = attack(cases[c].kind, cases[c].strength);
        agg_real out[DIM];
        a.target = 4;
        ASSERT_EQ(AGG_OK, agg_attack(&a, x.row, 7, DIM, x.row[2], out));
        for (size_t k = 0; k < DIM; k++) {
            double want = 0;
            if (a.kind == AGG_ATTACK_SIGN_FLIP) want = -cases[c].used * (double)x.row[2][k];
            if (a.kind == AGG_ATTACK_IPM) want = -cases[c].used * mean_at(&x, k);
            if (a.kind == AGG_ATTACK_MIMIC) want = (double)x.row[4][k];
            if (a.kind == AGG_ATTACK_ALIE)
                want = mean_at(&x, k) - cases[c].used * deviation_at(&x, k);
            if (fabs((double)out[k] - want) > 16 * EPS * (1 + fabs(want)))
                FAILm(WHY("%s strength %g: %.9g, not %.9g", agg_attack_name(a.kind), a.strength,
                          (double)out[k], want));
        }
    }
    rows_free(&x);
    PASS();
}

/* z = quantile of (n - f - s)/(n - f), s = floor(n/2 + 1) - f */
TEST alie_quantiles(void) {
    static const struct {
        size_t n, f;
        double z;
    } cases[] = {
        {10, 3, 0.180012369792705},   /* 4/7   */
        {50, 12, 0.336038140371823},  /* 24/38 */
        {20, 9, 0.908457868537385},   /* 9/11  */
        {100, 49, 1.759861027933533}, /* 49/51 */
    };

    rows x = honest_rows(2, 9, DIM);
    for (size_t c = 0; c < 4; c++) {
        agg_attack_desc a = attack(AGG_ATTACK_ALIE, 0);
        agg_real out[DIM];
        double z;
        a.n = cases[c].n;
        a.f = cases[c].f;
        ASSERT_EQ(AGG_OK, agg_attack(&a, x.row, 9, DIM, NULL, out));
        z = (mean_at(&x, 0) - (double)out[0]) / deviation_at(&x, 0);
        /* check the quantile by its definition: Phi(z) = p */
        const double s = floor((double)a.n / 2 + 1) - (double)a.f,
                     p = ((double)(a.n - a.f) - s) / (double)(a.n - a.f);
        ASSERT_IN_RANGE(p, 0.5 * erfc(-z / sqrt(2)), 1e-5);
        ASSERT_IN_RANGE(cases[c].z, z, 1e-5);
    }
    rows_free(&x);
    PASS();
}

/* own + s (max own - min own) U[-1,1] */
TEST noise_is_uniform(void) {
    enum { BIG = 20000 };

    rows x = honest_rows(3, 2, BIG);
    agg_real *out = (agg_real *)need(calloc(BIG, sizeof *out));
    double lo = 1e9, hi = -1e9;
    for (size_t k = 0; k < BIG; k++) {
        lo = fmin(lo, (double)x.row[0][k]);
        hi = fmax(hi, (double)x.row[0][k]);
    }
    for (int given = 0; given < 2; given++) {
        const double s = given ? 0.5 : 3;
        agg_attack_desc a = attack(AGG_ATTACK_NOISE, given ? 0.5 : 0);
        rng r = rng_make(4);
        double sum = 0, squares = 0, most = 0;
        a.rng = rng_for_library(&r);
        ASSERT_EQ(AGG_OK, agg_attack(&a, NULL, 0, BIG, x.row[0], out));
        for (size_t k = 0; k < BIG; k++) {
            const double u = ((double)out[k] - (double)x.row[0][k]) / (s * (hi - lo));
            ASSERT(fabs(u) <= 1 + 1e-5);
            sum += u / BIG;
            squares += u * u / BIG;
            most = fmax(most, fabs(u));
        }
        /* five standard deviations of fixed bits: exact for ever */
        ASSERT(fabs(sum) < 5 * sqrt(1.0 / 3 / BIG));
        ASSERT_IN_RANGE(1.0 / 3, squares, 0.02);
        ASSERT(most > 0.999);
    }
    free(out);
    rows_free(&x);
    PASS();
}

/* without a row of its own the adversary starts from the honest mean, and its range */
TEST noise_around_the_mean(void) {
    rows x = honest_rows(10, 5, DIM);
    agg_real mean[DIM], from_mean[DIM], out[DIM];
    agg_attack_desc a = attack(AGG_ATTACK_NOISE, 2);
    rng p = rng_make(11), q = rng_make(11);
    for (size_t k = 0; k < DIM; k++) mean[k] = (agg_real)mean_at(&x, k);
    a.rng = rng_for_library(&p);
    ASSERT_EQ(AGG_OK, agg_attack(&a, NULL, 0, DIM, mean, from_mean));
    a.rng = rng_for_library(&q);
    ASSERT_EQ(AGG_OK, agg_attack(&a, x.row, 5, DIM, NULL, out));
    for (size_t k = 0; k < DIM; k++)
        ASSERT_IN_RANGE((double)from_mean[k], (double)out[k], 64 * EPS);
    rows_free(&x);
    PASS();
}

TEST gaussian_is_normal(void) {
    enum { BIG = 20000 };

    static const double at[] = {-2, -1, 0, 0.5, 1.5};
    rows x = honest_rows(5, 1, BIG);
    agg_real *out = (agg_real *)need(calloc(BIG, sizeof *out));
    agg_attack_desc a = attack(AGG_ATTACK_GAUSSIAN, 0);
    rng r = rng_make(6);
    a.rng = rng_for_library(&r);
    for (int given = 0; given < 2; given++) {
        a.strength = given ? 4 : 0;
        ASSERT_EQ(AGG_OK, agg_attack(&a, NULL, 0, BIG, x.row[0], out));
        for (size_t c = 0; c < 5; c++) { /* the distribution function at five places */
            double below = 0;
            for (size_t k = 0; k < BIG; k++)
                below += ((double)out[k] - (double)x.row[0][k]) / (given ? 4 : 1) < at[c];
            ASSERT_IN_RANGE(0.5 * erfc(-at[c] / sqrt(2)), below / BIG, 0.015);
        }
    }
    free(out);
    rows_free(&x);
    PASS();
}

TEST not_finite(void) {
    agg_real out[DIM];
    agg_attack_desc a = attack(AGG_ATTACK_INF, 0);
    ASSERT_EQ(AGG_OK, agg_attack(&a, NULL, 0, DIM, NULL, out));
    for (size_t k = 0; k < DIM; k++) ASSERT(isinf(out[k]));
    a.kind = AGG_ATTACK_NAN;
    ASSERT_EQ(AGG_OK, agg_attack(&a, NULL, 0, DIM, NULL, out));
    for (size_t k = 0; k < DIM; k++) ASSERT(isnan(out[k]));
    PASS();
}

TEST own_null_is_the_mean_and_out_may_be_own(void) {
    rows x = honest_rows(7, 5, DIM);
    agg_real out[DIM], own[DIM];
    const agg_desc rule = agg_make_desc(AGG_CWTM, 10, DIM, 3);
    agg_attack_desc a = attack(AGG_ATTACK_SIGN_FLIP, 2);
    ASSERT_EQ(AGG_OK, agg_attack(&a, x.row, 5, DIM, NULL, out));
    for (size_t k = 0; k < DIM; k++) ASSERT_IN_RANGE(-2 * mean_at(&x, k), (double)out[k], 32 * EPS);
    /* its own row is all it needs */
    ASSERT_EQ(AGG_OK, agg_attack(&a, x.row, 0, DIM, x.row[1], out));
    for (size_t k = 0; k < DIM; k++) ASSERT_IN_RANGE(-2 * (double)x.row[1][k], (double)out[k], 0.0);
    for (int kind = 0; kind < AGG_ATTACK_COUNT; kind++) {
        rng p = rng_make(8), q = rng_make(8);
        a = attack((agg_attack_kind)kind, 0);
        a.rule = &rule;
        memcpy(own, x.row[1], sizeof own);
        a.rng = rng_for_library(&p);
        ASSERT_EQ(AGG_OK, run_attack(&a, x.row, 5, DIM, x.row[1], out));
        a.rng = rng_for_library(&q);
        ASSERT_EQ(AGG_OK, run_attack(&a, x.row, 5, DIM, own, own));
        if (kind != AGG_ATTACK_NAN)
            ASSERTm(agg_attack_name((agg_attack_kind)kind), same_numbers(own, out, DIM));
    }
    rows_free(&x);
    PASS();
}

/* the kinds that need no row but their own, and those that need none at all */
static const int of_own_row[] = {AGG_ATTACK_SIGN_FLIP,    AGG_ATTACK_NOISE,     AGG_ATTACK_GAUSSIAN,
                                 AGG_ATTACK_PARTIAL_DROP, AGG_ATTACK_BLIND_IPM, -1};
static const int of_no_row[] = {AGG_ATTACK_ZERO, AGG_ATTACK_INF, AGG_ATTACK_NAN,
                                AGG_ATTACK_LARGE_NOISE, -1};

static int has_kind(const int *list, int kind) {
    while (*list >= 0 && *list != kind) list++;
    return *list == kind;
}

/* by kinds that need none */
TEST silent_rows_are_not_looked_at(void) {
    rows x = honest_rows(9, 5, 4);
    rng r = rng_make(2);
    const agg_desc rule = agg_make_desc(AGG_CWTM, 10, 4, 3);
    const agg_real *own = x.row[0];
    agg_real out[4];
    x.row[3] = NULL;
    for (int kind = 0; kind < AGG_ATTACK_COUNT; kind++) {
        agg_attack_desc a = attack((agg_attack_kind)kind, 1);
        const int of_own = has_kind(of_own_row, kind), alone = of_own || has_kind(of_no_row, kind);
        a.rng = rng_for_library(&r);
        a.rule = &rule;
        ASSERT_EQ(alone ? AGG_OK : AGG_ERR_ARG, run_attack(&a, x.row, 5, 4, own, out));
        ASSERT_EQ(alone && !of_own ? AGG_OK : AGG_ERR_ARG, run_attack(&a, x.row, 5, 4, NULL, out));
    }
    rows_free(&x);
    PASS();
}

TEST attack_errors(void) {
    rows x = honest_rows(9, 5, 4);
    agg_real out[4], before[4];
    const agg_desc rule = agg_make_desc(AGG_CWTM, 10, 4, 3);
    agg_attack_desc a = attack(AGG_ATTACK_SIGN_FLIP, 0);
    memset(out, CANARY, sizeof out);
    memcpy(before, out, sizeof out);
    ASSERT_EQ(AGG_ERR_ARG, agg_attack(NULL, x.row, 5, 4, x.row[0], out));
    ASSERT_EQ(AGG_ERR_ARG, agg_attack(&a, x.row, 5, 4, x.row[0], NULL));
    ASSERT_EQ(AGG_ERR_ARG, agg_attack(&a, x.row, 5, 0, x.row[0], out));
    ASSERT_EQ(AGG_ERR_ARG, agg_attack(&a, NULL, 0, 4, NULL, out));
    a = attack((agg_attack_kind)99, 0);
    ASSERT_EQ(AGG_ERR_ARG, agg_attack(&a, x.row, 5, 4, x.row[0], out));
    a = attack(AGG_ATTACK_NOISE, 0);
    ASSERT_EQ(AGG_ERR_RNG, agg_attack(&a, x.row, 5, 4, x.row[0], out));
    a = attack(AGG_ATTACK_GAUSSIAN, 0);
    ASSERT_EQ(AGG_ERR_RNG, agg_attack(&a, x.row, 5, 4, x.row[0], out));
    a = attack(AGG_ATTACK_MIMIC, 0);
    a.target = 5;
    ASSERT_EQ(AGG_ERR_ARG, agg_attack(&a, x.row, 5, 4, x.row[0], out));
    a.target = SIZE_MAX;
    ASSERT_EQ(AGG_ERR_ARG, agg_attack(&a, x.row, 5, 4, x.row[0], out));
    for (int kind = 0; kind < AGG_ATTACK_COUNT; kind++) {
        if (has_kind(of_own_row, kind) || has_kind(of_no_row, kind)) continue;
        a = attack((agg_attack_kind)kind, 0);
        a.rule = &rule;
        ASSERT_EQ(AGG_ERR_ARG, run_attack(&a, NULL, 5, 4, x.row[0], out));
        ASSERT_EQ(AGG_ERR_ARG, run_attack(&a, x.row, 0, 4, x.row[0], out));
    }
    a = attack(AGG_ATTACK_ALIE, 0);
    a.n = 0;
    ASSERT(agg_attack(&a, x.row, 5, 4, x.row[0], out) >= AGG_ERR_ARG);
    a = attack(AGG_ATTACK_ALIE, 0);
    a.f = 5; /* of 10: no majority left to look like */
    ASSERT_EQ(AGG_ERR_BOUND, agg_attack(&a, x.row, 5, 4, x.row[0], out));
    a = attack(AGG_ATTACK_SIGN_FLIP, (double)NAN);
    ASSERT_EQ(AGG_ERR_ARG, agg_attack(&a, x.row, 5, 4, x.row[0], out));
    a = attack(AGG_ATTACK_IPM, 0);
    x.row[3] = NULL;
    ASSERT(agg_attack(&a, x.row, 5, 4, x.row[0], out) >= AGG_ERR_ARG);
    ASSERT_MEM_EQ(before, out, sizeof out);
    rows_free(&x);
    PASS();
}

SUITE(tables) {
    RUN_TEST(lambda_by_hand);
    RUN_TEST(max_f_by_hand);
    RUN_TEST(samples_by_hand);
    RUN_TEST(names);
}

SUITE(attacks) {
    RUN_TEST(exact_formulas);
    RUN_TEST(alie_quantiles);
    RUN_TEST(noise_is_uniform);
    RUN_TEST(noise_around_the_mean);
    RUN_TEST(gaussian_is_normal);
    RUN_TEST(not_finite);
    RUN_TEST(own_null_is_the_mean_and_out_may_be_own);
    RUN_TEST(silent_rows_are_not_looked_at);
    RUN_TEST(attack_errors);
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv) {
    GREATEST_MAIN_BEGIN();
    RUN_SUITE(tables);
    RUN_SUITE(attacks);
    GREATEST_MAIN_END();
}
