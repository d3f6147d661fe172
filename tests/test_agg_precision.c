/* Long rows lose nothing, and rows that share a large offset are told apart: subtract before
   squaring. */
#include "implementation.h"
#include "aggregators.h"
#include "greatest.h"
#include <math.h>
#include "common.h"
#include "reference.h"

/* Krum's row when all rows share an offset. The last two rows are Byzantine: far off relative to
   the spread. */
TEST offset(double by) {
    enum { ROWS = 10, DIM = 1000 };

    rng r = rng_make(1);
    for (int t = 0; t < 20; t++) {
        rows x = rows_new(ROWS, DIM);
        agg_real out[DIM];
        agg_report rep = report_new(ROWS);
        agg_desc d = agg_make_desc(AGG_KRUM, ROWS, DIM, 3);
        ref_item items[ROWS];
        ref_num *d2;
        for (size_t i = 0; i < ROWS; i++)
            fill_normal(rows_at(&x, i), DIM, &r, by + (i > 7 ? 0.005 : 0), 0.01);
        d2 = ref_distances2(x.row, ROWS, DIM);
        ref_krum_order(d2, ROWS, 3, 0, items);
        ASSERT_EQ(AGG_OK, run(&d, x.row, out, &rep));
        if (!(rep.weight[items[0].row] > 0))
            FAILm(WHY("offset %g, case %d: row %zu is best", by, t, items[0].row));
        ASSERT(same_bits(out, x.row[items[0].row], DIM));
        free(d2);
        report_free(&rep);
        rows_free(&x);
    }
    PASS();
}

#define LONG ((size_t)10000000)

TEST ten_million_numbers(void) {
    rng r = rng_make(2);
    const size_t dim = getenv("TEST_QUICK") ? LONG / 100 : LONG;
    rows x = rows_new(3, dim);
    agg_real *out = (agg_real *)need(malloc(dim * sizeof *out));
    agg_report rep = report_new(3);
    agg_desc d = agg_make_desc(AGG_MDA, 3, dim, 1);
    double worst = 0, d01 = 0, d02 = 0, d12 = 0;
    long double sums[3] = {0, 0, 0};
    for (size_t i = 0; i < 3 * dim; i++)
        x.data[i] = (agg_real)(1 + (double)(rng_next(&r) >> 40) * 0x1p-24);
    /* row 1 is nearer to row 0 than row 2 by one part in a million */
    for (size_t k = 0; k < dim; k++) {
        const double step = (double)rows_at(&x, 1)[k] - (double)rows_at(&x, 0)[k];
        rows_at(&x, 2)[k] =
            (agg_real)((double)rows_at(&x, 0)[k] - step * (k < dim / 2 ? 1.000002 : 1));
    }
    for (size_t k = 0; k < dim; k++) {
        const long double a = (long double)rows_at(&x, 0)[k], b = (long double)rows_at(&x, 1)[k],
                          c = (long double)rows_at(&x, 2)[k];
        sums[0] += (a - b) * (a - b);
        sums[1] += (a - c) * (a - c);
        sums[2] += (b - c) * (b - c);
    }
    d01 = (double)sqrtl(sums[0]);
    d02 = (double)sqrtl(sums[1]);
    d12 = (double)sqrtl(sums[2]);
    ASSERT(d01 < d02 && d02 / d01 < 1.000002 && d01 < d12);
    ASSERT_EQ(AGG_OK, run(&d, x.row, out, &rep));
    ASSERT_IN_RANGE(d01, rep.diameter, 1e-6 * d01);
    ASSERTm("the nearer pair was not found",
            rep.weight[0] > 0 && rep.weight[1] > 0 && !(rep.weight[2] > 0));
    for (size_t k = 0; k < dim; k++) {
        const double want = ((double)rows_at(&x, 0)[k] + (double)rows_at(&x, 1)[k]) / 2;
        worst = fmax(worst, fabs((double)out[k] - want) / want);
    }
    ASSERT(worst <= EPS);
    d = agg_make_desc(AGG_MEAN, 3, dim, 0);
    ASSERT_EQ(AGG_OK, run(&d, x.row, out, NULL));
    worst = 0;
    for (size_t k = 0; k < dim; k++) {
        const double want =
            ((double)rows_at(&x, 0)[k] + (double)rows_at(&x, 1)[k] + (double)rows_at(&x, 2)[k]) / 3;
        worst = fmax(worst, fabs((double)out[k] - want) / want);
    }
    ASSERT(worst <= 2 * EPS);
    free(out);
    report_free(&rep);
    rows_free(&x);
    PASS();
}

/* CGE: norms of a million equal numbers, apart by 2e-6 */
TEST long_norms(void) {
    const size_t dim = 1000000;
    rows x = rows_new(3, dim);
    agg_real *out = (agg_real *)need(malloc(dim * sizeof *out));
    agg_report rep = report_new(3);
    agg_desc d = agg_make_desc(AGG_CGE, 3, dim, 1);
    fill_number(rows_at(&x, 0), dim, 0.1000002);
    fill_number(rows_at(&x, 1), dim, 0.1);
    fill_number(rows_at(&x, 2), dim, 0.0999998);
    ASSERT_EQ(AGG_OK, run(&d, x.row, out, &rep));
    ASSERT(rep.weight[1] > 0 && rep.weight[2] > 0 && !(rep.weight[0] > 0));
    free(out);
    report_free(&rep);
    rows_free(&x);
    PASS();
}

SUITE(precision) {
    RUN_TEST1(offset, 0.0);
    RUN_TEST1(offset, 10.0);
    RUN_TEST1(offset, 100.0);
    RUN_TEST(ten_million_numbers);
    RUN_TEST(long_norms);
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv) {
    GREATEST_MAIN_BEGIN();
    RUN_SUITE(precision);
    GREATEST_MAIN_END();
}
