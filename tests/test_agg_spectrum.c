/* CAF and SMEA: the eigenvector by Lanczos against Jacobi in long double, on spectra that are easy,
   degenerate and nearly so; what is promised when the budget is spent. */
#define AGGREGATORS_IMPLEMENTATION
#include "aggregators.h"
#include "greatest.h"
#include "common.h"
#include "reference.h"

typedef enum cloud {
    CLOUD_FLAT,    /* normal, of few dimensions: most eigenvalues are 0 */
    CLOUD_ROUND,   /* normal, of many: the top ones are close */
    CLOUD_SIMPLEX, /* all eigenvalues are equal */
    CLOUD_NEARLY,  /* they differ in the sixth digit */
    CLOUD_TWO,     /* two that differ in the fifth */
    CLOUD_FAR,     /* one row far off */
    CLOUD_COMB,    /* eigenvalues at equal distances */
    CLOUD_LINE,
    CLOUD_EQUAL, /* all rows are the same */
    CLOUD_COUNT
} cloud;

static const char *const cloud_names[] = {"flat", "round", "simplex", "nearly simplex", "two",
                                          "far",  "comb",  "line",    "equal"};

static size_t cloud_dim(cloud kind, size_t m) {
    return kind == CLOUD_FLAT ? 4 : kind == CLOUD_ROUND ? 300 : m;
}

static void cloud_row(cloud kind, agg_real *x, size_t i, size_t dim, rng *r) {
    const double side = i % 2 ? 1 : -1;
    for (size_t k = 0; k < dim; k++) {
        const double unit = k == i ? 1 : 0, z = rng_normal(r);
        x[k] = (agg_real)(kind == CLOUD_SIMPLEX  ? unit
                          : kind == CLOUD_NEARLY ? unit * (1 + 1e-6 * (double)i)
                          : kind == CLOUD_TWO    ? (k == i / 2 % 2) * side * (k ? 1 : 1.00001)
                          : kind == CLOUD_FAR    ? z + (i == 1) * 1e4
                          : kind == CLOUD_COMB
                              ? (k == i / 2) * side * sqrt(1 - (double)k / (double)dim)
                          : kind == CLOUD_LINE  ? (double)(i * (k + 1))
                          : kind == CLOUD_EQUAL ? 1
                                                : z);
    }
}

/* a call with these rows, their distances found and their weights given */
typedef struct lab {
    agg_desc d;
    rows x;
    aggi_call c;
    void *scratch;
} lab;

static void lab_open(lab *l, cloud kind, size_t m, rng *r) {
    const size_t dim = cloud_dim(kind, m);
    l->d = agg_make_desc(AGG_CAF, m, dim, 0);
    l->x = rows_new(m, dim);
    for (size_t i = 0; i < m; i++) cloud_row(kind, rows_at(&l->x, i), i, dim, r);
    l->scratch = need(malloc(agg_scratch_size(&l->d)));
    (void)aggi_begin(&l->c, &l->d, l->scratch, agg_scratch_size(&l->d));
    aggi_collect(&l->c, l->x.row);
    aggi_play(&l->c);
    (void)aggi_find_pairs(&l->c, 0);
    aggi_spectrum_begin(&l->c);
}

static void lab_close(lab *l) {
    rows_free(&l->x);
    free(l->scratch);
}

/* K R / sqrt(W) by its definition, from the squared distances of the lab */
static void exact_gram(const aggi_spectrum *g, ref_num *K) {
    const size_t m = g->m;
    ref_num *q = ref_new(m), total = 0, half = 0;
    for (size_t i = 0; i < m; i++) total += (ref_num)g->weight[i];
    for (size_t i = 0; i < m; i++) {
        for (size_t j = 0; j < m; j++)
            q[i] += (ref_num)g->weight[j] * (ref_num)g->square[i * m + j] / total;
        half += (ref_num)g->weight[i] * q[i] / total / 2;
    }
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < m; j++)
            K[i * m + j] = (q[i] + q[j] - (ref_num)g->square[i * m + j]) / 2 - half;
    free(q);
}

/* Is the value the largest eigenvalue? Is the variance along the vector as large, and, if no other
   eigenvalue is near, is every row as far off as it should be? */
TEST like_jacobi(const aggi_spectrum *g, double value) {
    const size_t m = g->m;
    ref_num *K = ref_new(m * m), *a = ref_new(m * m), *v = ref_new(m * m), second = 0, norm = 0;
    ref_num total = 0, want;
    size_t top = 0;
    exact_gram(g, K);
    for (size_t i = 0; i < m; i++) total += (ref_num)g->weight[i];
    for (size_t i = 0; i < m * m; i++)
        a[i] = K[i] * ref_sqrt((ref_num)g->weight[i / m] * (ref_num)g->weight[i % m]) / total;
    ref_jacobi(a, v, m);
    for (size_t i = 1; i < m; i++)
        if (a[i * m + i] > a[top * m + top]) top = i;
    for (size_t i = 0; i < m; i++)
        if (i != top && a[i * m + i] > second) second = a[i * m + i];
    want = a[top * m + top];
    ASSERT_IN_RANGE((double)want, value, 1e-10 * (double)want);
    for (size_t i = 0; i < m; i++)
        norm += (ref_num)g->weight[i] * (ref_num)g->along[i] * (ref_num)g->along[i];
    ASSERT_IN_RANGE((double)want, (double)(ref_sqrt(norm) / total), 1e-9 * (double)want);
    for (size_t i = 0; i < m && second < want * (ref_num)(1 - 1e-3); i++) {
        ref_num off = 0;
        for (size_t j = 0; j < m; j++)
            off += K[i * m + j] * ref_sqrt((ref_num)g->weight[j]) * v[j * m + top];
        ASSERT_IN_RANGE(fabs((double)off), fabs(g->along[i]), 1e-6 * (double)want);
    }
    free(K);
    free(a);
    free(v);
    PASS();
}

TEST eigenvectors(cloud kind) {
    static const size_t sizes[] = {2, 3, 5, 17, 70};
    rng r = rng_make(900 + (uint64_t)kind);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int ones = 0; ones < 2; ones++) {
            const size_t m = sizes[s];
            double value;
            lab l;
            lab_open(&l, kind, m, &r);
            for (size_t i = 0; i < m && !ones; i++) l.c.spectrum.weight[i] = rng_unit(&r);
            aggi_caf_fill(&l.c);
            value = aggi_top_eigen(&l.c.spectrum, 0, aggi_infinity());
            if (kind != CLOUD_NEARLY || m < 64) ASSERT(l.c.spectrum.settled);
            CHECK_CALL(like_jacobi(&l.c.spectrum, value));
            lab_close(&l);
        }
    PASS();
}

/* ||A v - value v|| where one cycle of Lanczos is not enough */
TEST residual_of_many_rows(void) {
    enum { m = 400 };

    rng r = rng_make(950);
    double sum = 0;
    aggi_spectrum *g;
    lab l;
    lab_open(&l, CLOUD_COMB, m, &r);
    g = &l.c.spectrum;
    aggi_caf_fill(&l.c);
    (void)aggi_top_eigen(g, 0, aggi_infinity());
    ASSERT(g->settled);
    aggi_spectrum_times(g, g->vector, g->basis);
    for (size_t i = 0; i < m; i++) sum += pow(g->basis[i] - g->value * g->vector[i], 2);
    ASSERT(sqrt(sum) <= 2e-10 * g->value);
    (void)aggi_top_eigen(g, 1, aggi_infinity());
    ASSERT(!g->settled);
    lab_close(&l);
    PASS();
}

/* the start does not hang on what was in scratch before; the sign of a vector is nowhere seen */
TEST degenerate_is_deterministic(agg_rule rule) {
    const agg_desc d = agg_make_desc(rule, 12, 12, 4);
    const size_t size = agg_scratch_size(&d);
    rows x = rows_new(12, 12);
    agg_real first[12], out[12];
    rng r = rng_make(5);
    void *scratch = need(malloc(size));
    for (size_t i = 0; i < 12; i++) cloud_row(CLOUD_SIMPLEX, rows_at(&x, i), i, 12, &r);
    for (int fill = 0; fill < 256; fill += 51) {
        memset(scratch, fill, size);
        ASSERT_EQ(AGG_OK, agg_aggregate(&d, x.row, out, scratch, size, NULL));
        if (!fill) memcpy(first, out, sizeof first);
        ASSERT(same_bits(first, out, 12));
    }
    free(scratch);
    rows_free(&x);
    PASS();
}

/* more rows than a cycle of Lanczos has steps, against the filter in long double */
TEST caf_of_many_rows(void) {
    enum { n = 70, dim = 6 };

    const agg_desc d = agg_make_desc(AGG_CAF, n, dim, 9);
    rows x = rows_new(n, dim);
    agg_report rep = report_new(n);
    agg_real out[dim];
    ref_num want[dim];
    double w[n];
    rng r = rng_make(41);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < dim; k++)
            rows_at(&x, i)[k] = (agg_real)((1 + (double)k) * (rng_normal(&r) + (i < 9) * 20));
    ASSERTm("the rows leave it open", ref_caf(x.row, n, dim, 9, want, w, NULL) > (ref_num)1e-3);
    ASSERT_EQ(AGG_OK, run(&d, x.row, out, &rep));
    for (size_t i = 0; i < n; i++) ASSERT_IN_RANGE(w[i], rep.weight[i], 1e-4);
    report_free(&rep);
    rows_free(&x);
    PASS();
}

/* giants in all directions, at several scales: the filter ends after 2f turns, however small the
   budget, and the giants are out */
TEST caf_out_of_budget(double giants) {
    enum { n = 40, f = 13, dim = 30 };

    agg_desc d = agg_make_desc(AGG_CAF, n, dim, f);
    rows x = rows_new(n, dim);
    agg_report rep = report_new(n);
    agg_real out[dim];
    rng r = rng_make(42);
    fill_rows(&x, LAY_RANDOM, &r);
    for (size_t i = 0; i < f; i++) rows_at(&x, i)[i] = (agg_real)(giants * (1 + (double)(i % 3)));
    for (d.budget = 1; d.budget < 1u << 30; d.budget *= 1 << 10) {
        const agg_status s = run(&d, x.row, out, &rep);
        ASSERT(s == AGG_OK || (s == AGG_INEXACT && d.budget < 1u << 30));
        if (d.budget == 1) ASSERT_EQ(AGG_INEXACT, s);
        for (size_t i = 0; i < f; i++) ASSERT(rep.weight[i] * giants < 1);
        ASSERT(all_finite(out, dim));
    }
    d.budget = 0;
    ASSERT_EQ(AGG_OK, run(&d, x.row, out, &rep));
    report_free(&rep);
    rows_free(&x);
    PASS();
}

/* After the giants are gone, distances in units of theirs would underflow (as double), and two more
   rows that are off would not be seen. */
TEST caf_of_two_scales(void) {
    enum { n = 24, f = 4, giants = 2, dim = 3 };

    const agg_desc d = agg_make_desc(AGG_CAF, n, dim, f);
    const double huge = sqrt((double)REAL_MAX), tiny = 1 / huge;
    rows x = rows_new(n, dim), y = rows_new(n, dim);
    agg_report p = report_new(n), q = report_new(n);
    agg_real a[dim], b[dim];
    rng r = rng_make(43);
    fill_rows(&x, LAY_RANDOM, &r);
    for (size_t i = giants; i < f; i++) rows_at(&x, i)[2] = 30;
    for (size_t i = 0; i < n * dim; i++) y.data[i] = (agg_real)((double)x.data[i] * tiny);
    for (size_t i = 0; i < giants; i++) {
        rows_at(&x, i)[i] = (agg_real)1e4;
        rows_at(&y, i)[i] = (agg_real)huge;
    }
    ASSERT_EQ(AGG_OK, run(&d, x.row, a, &p));
    ASSERT_EQ(AGG_OK, run(&d, y.row, b, &q));
    for (size_t i = 0; i < n; i++) ASSERT_IN_RANGE(p.weight[i], q.weight[i], 1e-2);
    for (size_t i = 0; i < f; i++) ASSERT(q.weight[i] < 1e-3);
    report_free(&p);
    report_free(&q);
    rows_free(&x);
    rows_free(&y);
    PASS();
}

/* SMEA's bounds, of RULES: sqrt(2 f/(n-2f)), and with a budget of 1 (1 + sqrt(1/2)) sqrt(f/(n-2f)),
   since then the set is the smallest ball */
TEST smea_bounds(void) {
    rng r = rng_make(44);
    size_t inexact = 0;
    for (size_t t = 0; t < rounds(300); t++) {
        const size_t n = 5 + t % 5, f = 1 + t % ((n - 1) / 2), dim = 1 + t % 4;
        const double root = sqrt((double)f / (double)(n - 2 * f));
        agg_desc d = agg_make_desc(AGG_SMEA, n, dim, f);
        rows x = rows_new(n, dim);
        agg_real out[4];
        fill_rows(&x, (layout)(t % LAYOUT_COUNT), &r);
        for (d.budget = 0; d.budget < 2; d.budget++) {
            const agg_status s = run(&d, x.row, out, NULL);
            const double bound = (s == AGG_OK ? sqrt(2) : 1 + sqrt(0.5)) * root;
            const ref_num ratio = ref_resilience(x.row, n, dim, f, out, 4 * (ref_num)EPS);
            ASSERT(wrote(s));
            inexact += s == AGG_INEXACT;
            if ((double)ratio > bound * (1 + 1e-5))
                FAILm(WHY("n %zu f %zu: ratio %g over %g", n, f, (double)ratio, bound));
        }
        rows_free(&x);
    }
    ASSERTm("no budget ran out", inexact > 0);
    PASS();
}

SUITE(spectra) {
    for (int kind = 0; kind < CLOUD_COUNT; kind++) {
        greatest_set_test_suffix(cloud_names[kind]);
        RUN_TESTp(eigenvectors, (cloud)kind);
    }
    RUN_TEST(residual_of_many_rows);
    RUN_RULE(degenerate_is_deterministic, AGG_CAF);
    RUN_RULE(degenerate_is_deterministic, AGG_SMEA);
    RUN_TEST(caf_of_many_rows);
    RUN_TESTp(caf_out_of_budget, 1e3);
    RUN_TESTp(caf_out_of_budget, 1e30);
    RUN_TEST(caf_of_two_scales);
    RUN_TEST(smea_bounds);
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv) {
    GREATEST_MAIN_BEGIN();
    RUN_SUITE(spectra);
    GREATEST_MAIN_END();
}
