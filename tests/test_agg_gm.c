/* The geometric median against the slow solver of reference.h: the value is within the promised gap
   of a lower bound that the reference PROVES, and the gap reported is true. Gaps are in units of n R,
   R the radius of the smallest ball around a row that holds a majority. */
#include "implementation.h"
#include "aggregators.h"
#include "greatest.h"
#include <math.h>
#include "common.h"
#include "reference.h"

static double worst_gap, worst_reference;

/* Is every coordinate between those of the rows? */
static const char *outside_hull(const rows *x, const agg_real *out, const char *what) {
    for (size_t k = 0; k < x->dim; k++) {
        agg_real low = x->row[0][k], high = low;
        for (size_t i = 1; i < x->n; i++) {
            if (x->row[i][k] < low) low = x->row[i][k];
            if (x->row[i][k] > high) high = x->row[i][k];
        }
        if (!(out[k] >= low && out[k] <= high))
            return WHY("%s n %zu: number %zu is %.17g, the rows have %.17g to %.17g", what, x->n, k,
                       (double)out[k], (double)low, (double)high);
    }
    return NULL;
}

/* That ball. Rows farther than 2^16 R from its centre count by their direction alone. */
typedef struct ball {
    size_t center;
    ref_num radius;
} ball;

static ball ball_of(const rows *x, size_t count) {
    ref_num *d2 = ref_distances2(x->row, x->n, x->dim);
    ref_item *item = (ref_item *)ref_alloc(x->n, sizeof *item);
    ball b = {0, 0};
    for (size_t i = 0; i < x->n; i++) {
        for (size_t j = 0; j < x->n; j++) {
            item[j].row = j;
            item[j].key = d2[i * x->n + j];
        }
        ref_sort(item, x->n);
        if (i && !(item[count - 1].key < b.radius)) continue;
        b.center = i;
        b.radius = item[count - 1].key;
    }
    b.radius = ref_sqrt(b.radius);
    free(d2);
    free(item);
    return b;
}

/* how much that may change the value of a point */
static ref_num aside(const rows *x, const ball *b, const ref_num *z) {
    const ref_num off = ref_distance_to(x->row[b->center], z, x->dim) + 2 * b->radius;
    ref_num *c = ref_new(x->dim), sum = 0;
    for (size_t k = 0; k < x->dim; k++) c[k] = (ref_num)x->row[b->center][k];
    for (size_t i = 0; i < x->n; i++) {
        const ref_num away = ref_distance_to(x->row[i], c, x->dim);
        if (away > 65500 * b->radius) sum += off * off / away;
    }
    free(c);
    return sum;
}

static const char *check_gm(const agg_desc *d, const rows *x, const char *what) {
    const size_t n = d->n, dim = d->dim;
    agg_real *out = (agg_real *)need(calloc(dim, sizeof *out));
    ref_num *z = ref_new(dim), bound, least, value, norm = 0, slack;
    agg_report rep = report_new(n);
    const agg_status s = run(d, x->row, out, &rep);
    const double goal = d->gap > 0 ? d->gap : 1e-6;
    const ball b = ball_of(x, n / 2 + 1);
    const ref_num unit = (ref_num)n * b.radius;
    const char *bad = NULL;
    /* own: of the reference, large only where long double is no longer than double (valgrind) or
       next to giants */
    double gap, own;
    for (size_t k = 0; k < dim; k++) {
        z[k] = (ref_num)out[k];
        norm += z[k] * z[k];
    }
    value = ref_gm_value(x->row, n, dim, z);
    least = ref_gm(x->row, n, dim, NULL, &bound);
    /* out is rounded once */
    slack = (ref_num)n * (ref_num)EPS * ref_sqrt(norm) + (ref_num)(n * dim) * (ref_num)REAL_TINY;
    gap = unit > 0 ? (double)((value - bound - slack) / unit) : 0;
    own =
        unit > 0 ? (double)((least - bound + aside(x, &b, z) + value * (ref_num)1e-18L) / unit) : 0;
    if (gap - own > worst_gap) worst_gap = gap - own;
    if (own > worst_reference) worst_reference = own;
    if (s == AGG_INEXACT && sizeof(agg_real) > sizeof(float) && slack > (ref_num)goal * unit &&
        gap <= 0)
        /* denormal doubles: no double is closer to the median than out, and no proof in doubles can
           be had */
        bad = NULL;
    else if (s != AGG_OK)
        bad = WHY("%s n %zu dim %zu: status %d (%s), gap %g", what, n, dim, (int)s,
                  agg_status_text(s), rep.gap);
    else if (!(rep.gap >= 0 && rep.gap <= goal))
        bad = WHY("%s n %zu dim %zu: reported gap %g", what, n, dim, rep.gap);
    else if (gap > rep.gap + 1e-10 + own)
        bad = WHY("%s n %zu dim %zu: true gap %g, reported %g", what, n, dim, gap, rep.gap);
    else if (!(unit > 0) && !same_numbers(out, x->row[b.center], dim))
        bad = WHY("%s n %zu dim %zu: a majority coincides elsewhere", what, n, dim);
    for (size_t i = 0; i < n && !bad; i++)
        if (!(rep.weight[i] >= 0 && rep.weight[i] <= 1 + 1e-9))
            bad = WHY("%s n %zu dim %zu: row %zu has weight %g", what, n, dim, i, rep.weight[i]);
    if (!bad) bad = outside_hull(x, out, what);
    free(out);
    free(z);
    report_free(&rep);
    return bad;
}

static const char *check_plain(const rows *x, size_t f, const char *what) {
    agg_desc d = agg_make_desc(AGG_GM, x->n, x->dim, f);
    return check_gm(&d, x, what);
}

TEST small_n(layout lay) {
    static const size_t dims[] = {1, 2, 3, 17, 64};
    rng r = rng_make(100 + (uint64_t)lay);
    for (size_t n = 1; n <= 9; n++)
        for (size_t c = 0; c < sizeof dims / sizeof *dims; c++)
            for (size_t t = 0; t < rounds(4); t++) {
                rows x = rows_new(n, dims[c]);
                const char *bad;
                fill_rows(&x, lay, &r);
                bad = check_plain(&x, (n - 1) / 2, layout_name(lay));
                rows_free(&x);
                if (bad) FAILm(bad);
            }
    PASS();
}

TEST many_rows(void) {
    rng r = rng_make(200);
    for (size_t n = 10; n <= 60; n += 10)
        for (int lay = 0; lay < LAYOUT_COUNT; lay++) {
            rows x = rows_new(n, 5);
            const char *bad;
            fill_rows(&x, (layout)lay, &r);
            bad = check_plain(&x, n / 3, layout_name((layout)lay));
            rows_free(&x);
            if (bad) FAILm(bad);
        }
    PASS();
}

/* one row pulled so far into the middle of the others that the optimum is exactly there */
TEST optimum_at_a_row(void) {
    rng r = rng_make(300);
    for (size_t t = 0; t < rounds(200); t++) {
        const size_t n = 3 + t % 7, dim = 1 + t % 5;
        rows x = rows_new(n, dim);
        const char *bad;
        fill_rows(&x, LAY_RANDOM, &r);
        fill_number(rows_at(&x, t % n), dim, 0);
        for (size_t i = 0; i + 1 < n; i += 2) /* mirror images around it, so that it is optimal */
            for (size_t k = 0; k < dim; k++) {
                const size_t a = (t + 1 + i) % n, b = (t + 2 + i) % n;
                if (a != t % n && b != t % n) rows_at(&x, b)[k] = -rows_at(&x, a)[k];
            }
        bad = check_plain(&x, (n - 1) / 2, "optimum at a row");
        rows_free(&x);
        if (bad) FAILm(bad);
    }
    PASS();
}

/* the border case: the others pull on the row with force exactly 1, where plain iterations become
   sublinear */
TEST optimum_barely_at_a_row(void) {
    rng r = rng_make(310);
    for (size_t t = 0; t < rounds(60); t++) {
        /* at 0: unit vectors to the other two, at an angle of 120 degrees plus or minus a little */
        rows x = rows_new(3, 2);
        const double a = 2.0943951023931953 + (t % 3 == 0   ? 0
                                               : t % 3 == 1 ? 1e-4
                                                            : -1e-4) *
                                                  rng_unit(&r),
                     s = 1 + 9 * rng_unit(&r);
        const char *bad;
        rows_at(&x, 1)[0] = (agg_real)s;
        rows_at(&x, 2)[0] = (agg_real)cos(a);
        rows_at(&x, 2)[1] = (agg_real)sin(a);
        bad = check_plain(&x, 1, "optimum barely at a row");
        rows_free(&x);
        if (bad) FAILm(bad);
    }
    PASS();
}

/* a hair beside the best row there is another one: the median is elsewhere, and neither of the two
   holds it back */
TEST twins(void) {
    rng r = rng_make(320);
    for (size_t n = 4; n <= 9; n++)
        for (size_t dim = 1; dim <= 17; dim += 4)
            for (int hair = 3; hair < 36; hair++) {
                rows x = rows_new(n, dim);
                const char *bad;
                for (size_t i = 2; i < n; i++)
                    fill_normal(rows_at(&x, i), dim, &r, 1, i % 2 ? 0.1 : 10);
                fill_normal(rows_at(&x, 1), dim, &r, 0, pow(10, -hair));
                bad = check_plain(&x, (n - 1) / 2, "twins");
                rows_free(&x);
                if (bad) FAILm(bad);
            }
    PASS();
}

/* two far rows side by side, and a majority elsewhere: the pair's distance is no measure of how far
   off the median is */
TEST far_twins(void) {
    rng r = rng_make(330);
    for (int e = 0; e < 4; e++)
        for (size_t n = 5; n <= 9; n++) {
            static const double size[] = {1e10, 1e18, 1e30, (double)REAL_MAX / 16};
            rows x = rows_new(n, 11);
            const char *bad;
            for (size_t i = 0; i < n; i++) fill_normal(rows_at(&x, i), 11, &r, 0, size[e]);
            memcpy(rows_at(&x, 1), rows_at(&x, 0), 11 * sizeof(agg_real));
            rows_at(&x, 0)[7] = 1;
            rows_at(&x, 1)[7] = 0;
            bad = check_plain(&x, (n - 1) / 2, "far twins");
            rows_free(&x);
            if (bad) FAILm(bad);
        }
    PASS();
}

/* the majority a few least numbers apart, the others at all distances: in units of such a ball
   nothing may overflow */
TEST tiny_majority(void) {
    const double tiny = 1000 * (double)REAL_TINY;
    for (int far = 0; far < 12; far++) {
        rows x = rows_new(10, 1);
        agg_desc d = agg_make_desc(AGG_GM, 10, 1, 4);
        agg_real out = 1;
        rows_at(&x, 5)[0] = (agg_real)tiny;
        rows_at(&x, 6)[0] = (agg_real)(tiny * pow(10, far));
        rows_at(&x, 7)[0] = (agg_real)(tiny * 3e7);
        rows_at(&x, 8)[0] = (agg_real)2e-16;
        rows_at(&x, 9)[0] = (agg_real)0.875;
        ASSERT(wrote(run(&d, x.row, &out, NULL)));
        ASSERT(fabs((double)out) <= tiny);
        rows_free(&x);
    }
    PASS();
}

TEST collinear(void) {
    rng r = rng_make(400);
    for (size_t n = 2; n <= 12; n++)
        for (int near = 0; near < 4; near++)
            for (size_t dim = 1; dim <= 9; dim += 4) {
                static const double bend[] = {0, 1e-9, 1e-6, 1e-3};
                rows x = rows_new(n, dim);
                const char *bad;
                for (size_t i = 0; i < n; i++) {
                    const double s = rng_normal(&r);
                    for (size_t k = 0; k < dim; k++)
                        rows_at(&x, i)[k] =
                            (agg_real)(s * (double)(k + 1) + bend[near] * rng_normal(&r));
                }
                bad = check_plain(&x, (n - 1) / 2, near ? "nearly collinear" : "collinear");
                rows_free(&x);
                if (bad) FAILm(bad);
            }
    PASS();
}

TEST coincident(void) {
    rng r = rng_make(500);
    for (size_t n = 1; n <= 10; n++)
        for (size_t copies = 1; copies <= n; copies++)
            for (size_t dim = 1; dim <= 33; dim *= 3) {
                rows x = rows_new(n, dim);
                const char *bad;
                fill_rows(&x, LAY_RANDOM, &r);
                for (size_t i = 1; i < copies; i++)
                    memcpy(rows_at(&x, i), rows_at(&x, 0), dim * sizeof(agg_real));
                bad = check_plain(&x, (n - 1) / 2, "coincident");
                if (!bad && 2 * copies > n) { /* a majority at one point: that point, exactly */
                    agg_desc d = agg_make_desc(AGG_GM, n, dim, (n - 1) / 2);
                    agg_real out[33];
                    if (!wrote(run(&d, x.row, out, NULL)) || !same_numbers(out, x.row[0], dim))
                        bad = WHY("n %zu, %zu copies, dim %zu: not the majority's point exactly", n,
                                  copies, dim);
                }
                rows_free(&x);
                if (bad) FAILm(bad);
            }
    PASS();
}

TEST one_and_two_rows(void) {
    agg_real a[3] = {1, 2, 3}, b[3] = {3, 2, 1}, out[3];
    const agg_real *one[1], *two[2];
    agg_desc d = agg_make_desc(AGG_GM, 1, 3, 0);
    one[0] = a;
    two[0] = a;
    two[1] = b;
    ASSERT_EQ(AGG_OK, run(&d, one, out, NULL));
    ASSERT(same_numbers(out, a, 3));
    d.n = 2;
    ASSERT_EQ(AGG_OK, run(&d, two, out, NULL));
    for (size_t k = 0; k < 3; k++)
        ASSERT(out[k] >= (a[k] < b[k] ? a[k] : b[k]) && out[k] <= (a[k] > b[k] ? a[k] : b[k]));
    PASS();
}

/* the guarantee must not be lost in a value that the adversaries' distances dominate */
TEST far_rows(void) {
    static const double far[] = {1e1, 1e3, 1e4, 1e5, 3e5, 1e6, 3e6, 1e7, 1e9, 1e15, 1e30, 3e38};
    rng r = rng_make(600);
    for (size_t c = 0; c < sizeof far / sizeof *far; c++)
        for (size_t n = 3; n <= 9; n++)
            for (size_t f = 1; 2 * f < n; f++)
                for (size_t t = 0; t < rounds(4); t++) {
                    agg_desc d = agg_make_desc(AGG_GM, n, 3, f);
                    rows x = rows_new(n, 3);
                    agg_real out[3];
                    const double shared = rng_normal(&r);
                    agg_status s;
                    fill_rows(&x, LAY_RANDOM, &r);
                    for (size_t i = 0; i < f; i++)
                        for (size_t k = 0; k < 3; k++)
                            rows_at(&x, (i * 2 + t) % n)[k] =
                                (agg_real)(far[c] * (t % 2 ? shared / 4 : (rng_unit(&r) - 0.5)));
                    s = run(&d, x.row, out, NULL);
                    if (!wrote(s) || !all_finite(out, 3))
                        FAILm(WHY("far %g n %zu f %zu: status %d", far[c], n, f, (int)s));
                    const double ratio =
                        (double)ref_resilience(x.row, n, 3, f, out, 4 * (ref_num)EPS);
                    if (ratio > agg_lambda(AGG_GM, n, f, 3) * (1 + 1e-5))
                        FAILm(WHY("far %g n %zu f %zu: ratio %g over lambda %g", far[c], n, f,
                                  ratio, agg_lambda(AGG_GM, n, f, 3)));
                    const char *bad = check_plain(&x, f, "far rows");
                    if (bad) FAILm(bad);
                    rows_free(&x);
                }
    PASS();
}

/* One adversary stands about f diameters away, the others far behind it: its row has less value than
   any other, and next to such distances the difference to the median is small. */
static void fill_accomplices(rows *x, size_t f, int way, double at, double far) {
    const size_t honest = x->n - f;
    const double edge = sqrt(0.5), sign[] = {0, 1, -1};
    for (size_t i = 0; i < x->n; i++)
        for (size_t k = 0; k < x->dim; k++) {
            const double mean = k < honest ? edge / (double)honest : 0;
            const double along = !way         ? k == honest
                                 : k < honest ? sign[way] / sqrt((double)honest)
                                              : 0;
            rows_at(x, i)[k] =
                (agg_real)(i < honest ? (i == k) * edge : mean + along * (i == honest ? at : far));
        }
}

TEST far_accomplices(size_t n, size_t f) {
    const double lambda = agg_lambda(AGG_GM, n, f, n - f + 1),
                 most = sizeof(agg_real) > 4 ? 290 : 35;
    agg_desc d = agg_make_desc(AGG_GM, n, n - f + 1, f);
    rows x = rows_new(n, d.dim);
    agg_real *out = (agg_real *)need(calloc(d.dim, sizeof *out));
    agg_report rep = report_new(n);
    for (int way = 0; way < 3; way++)
        for (double power = 2; power < most; power += power < 9 ? 0.45 : most / 4)
            for (double at = (double)f - 0.75; at<(double)f; at += n> 50 ? 0.5 : 0.1) {
                double sum = 0, ratio;
                agg_status s;
                fill_accomplices(&x, f, way, at, pow(10, power));
                s = run(&d, x.row, out, &rep);
                ratio = (double)ref_resilience_of_balls(x.row, n, d.dim, f, out, 0);
                if (s != AGG_OK || !(ratio <= lambda) || !(rep.gap <= 1e-6))
                    FAILm(WHY("n %zu f %zu, far 1e%g: status %d gap %g, ratio %g, lambda %g", n, f,
                              power, (int)s, rep.gap, ratio, lambda));
                for (size_t i = 0; i < n; i++) {
                    ASSERT(rep.weight[i] >= 0);
                    sum += rep.weight[i];
                }
                ASSERT_IN_RANGE(1, sum, 1e-9);
            }
    free(out);
    report_free(&rep);
    rows_free(&x);
    PASS();
}

/* numbers at the ends of the range, whose differences are beyond it, with a median that is not */
TEST ends_of_the_range(void) {
    rng r = rng_make(640);
    for (size_t n = 3; n <= 9; n++)
        for (size_t t = 0; t < rounds(40); t++) {
            rows x = rows_new(n, 5);
            const double most = (double)REAL_MAX;
            const char *bad;
            for (size_t i = 0; i < n; i++)
                for (size_t k = 0; k < 5; k++)
                    rows_at(&x, i)[k] = (agg_real)(t % 4 == 0   ? most * (2 * rng_unit(&r) - 1)
                                                   : t % 4 == 1 ? most * (1 - 1e-3 * rng_unit(&r))
                                                   : t % 4 == 2 ? (i % 2 ? most : -most)
                                                   : k < 2      ? most
                                                                : rng_normal(&r));
            if (t % 4 == 2) fill_normal(rows_at(&x, n - 1), 5, &r, 0, 1);
            bad = check_plain(&x, (n - 1) / 2, "ends of the range");
            rows_free(&x);
            if (bad) FAILm(bad);
        }
    PASS();
}

/* half of the rows side by side, so close that some of them count as at the median and some not */
TEST tight_cluster(void) {
    rng r = rng_make(643);
    for (size_t n = 4; n <= 9; n++)
        for (int power = 4; power < 10; power++)
            for (size_t t = 0; t < rounds(10); t++) {
                rows x = rows_new(n, 3);
                const char *bad;
                for (size_t i = 0; i < n; i++)
                    fill_normal(rows_at(&x, i), 3, &r, 0,
                                i < n / 2 ? pow(10, -power - rng_unit(&r)) : 1);
                if (t % 3 == 0) memcpy(rows_at(&x, 1), rows_at(&x, 0), 3 * sizeof(agg_real));
                bad = check_plain(&x, (n - 1) / 2, "tight cluster");
                rows_free(&x);
                if (bad) FAILm(bad);
            }
    PASS();
}

/* numbers of all sizes that the format has, offsets shared by all rows among them */
TEST whole_range(void) {
    const double low = sizeof(agg_real) > 4 ? -323 : -45, high = sizeof(agg_real) > 4 ? 307 : 37;
    rng r = rng_make(644);
    for (size_t t = 0; t < rounds(2000); t++) {
        const size_t n = 2 + rng_below(&r, 8), dim = 1 + rng_below(&r, 6), f = (n - 1) / 2;
        const double base = low + (high - low) * rng_unit(&r);
        const agg_desc d = agg_make_desc(AGG_GM, n, dim, f);
        rows x = rows_new(n, dim);
        agg_real out[6];
        const char *bad;
        for (size_t k = 0; k < dim; k++) {
            const double offset = rng_below(&r, 2) ? 0 : pow(10, low + (high - low) * rng_unit(&r));
            for (size_t i = 0; i < n; i++) {
                const double size = i % 3 ? base : low + (high - low) * rng_unit(&r);
                rows_at(&x, i)[k] = (agg_real)(offset + pow(10, size) * (rng_unit(&r) - 0.5));
            }
        }
        for (size_t i = 1; i < n; i++) /* some are the same */
            if (rng_below(&r, 6) == 0) memcpy(rows_at(&x, i), x.row[i - 1], dim * sizeof *out);
        ASSERT_EQ(AGG_OK, run(&d, x.row, out, NULL));
        bad = outside_hull(&x, out, "whole range");
        if (bad) FAILm(bad);
        const double ratio = (double)ref_resilience(x.row, n, dim, f, out, 8 * (ref_num)EPS);
        if (!(ratio <= agg_lambda(AGG_GM, n, f, dim)))
            FAILm(WHY("n %zu f %zu dim %zu: ratio %g", n, f, dim, ratio));
        rows_free(&x);
    }
    PASS();
}

/* A gap that nobody can prove: AGG_INEXACT, and lambda holds. */
TEST inexact_keeps_lambda(void) {
    rng r = rng_make(645);
    size_t inexact = 0;
    for (size_t t = 0; t < rounds(400); t++) {
        const size_t n = 3 + rng_below(&r, 7), f = rng_below(&r, (n + 1) / 2), dim = 1 + t % 6;
        agg_desc d = agg_make_desc(AGG_GM, n, dim, f);
        rows x = rows_new(n, dim);
        agg_real out[6];
        agg_status s;
        d.gap = 1e-300;
        fill_rows(&x, (layout)rng_below(&r, LAYOUT_COUNT), &r);
        s = run(&d, x.row, out, NULL);
        inexact += s == AGG_INEXACT;
        ASSERT(wrote(s));
        const double ratio = (double)ref_resilience(x.row, n, dim, f, out, 8 * (ref_num)EPS);
        if (!(ratio <= agg_lambda(AGG_GM, n, f, dim)))
            FAILm(WHY("n %zu f %zu dim %zu: ratio %g", n, f, dim, ratio));
        rows_free(&x);
    }
    ASSERT(inexact > 0);
    PASS();
}

/* the difference of two rows is not a number of the format */
TEST nothing_but_giants(void) {
    rng r = rng_make(650);
    for (size_t n = 1; n <= 9; n++)
        for (size_t dim = 1; dim <= 300; dim = dim * 3 + 1)
            for (size_t t = 0; t < rounds(4); t++) {
                rows x = rows_new(n, dim);
                const char *bad;
                for (size_t i = 0; i < n * dim; i++) x.data[i] = giant(&r);
                bad = check_plain(&x, (n - 1) / 2, "giants");
                rows_free(&x);
                if (bad) FAILm(bad);
            }
    PASS();
}

/* rows of more than a block, so far out that float's distances do not suffice for the proof */
TEST far_long_rows(void) {
    static const double far[] = {1e3, 1e5, 1e6, 1e7};
    rng r = rng_make(660);
    for (size_t c = 0; c < sizeof far / sizeof *far; c++)
        for (size_t n = 3; n <= 15; n += 4) {
            rows x = rows_new(n, 700);
            const char *bad;
            fill_rows(&x, LAY_RANDOM, &r);
            for (size_t i = 0; 2 * i + 1 < n; i++)
                fill_normal(rows_at(&x, 2 * i + 1), 700, &r, 0, far[c]);
            bad = check_plain(&x, n / 2, "far long rows");
            rows_free(&x);
            if (bad) FAILm(bad);
        }
    PASS();
}

TEST long_rows(void) {
    rng r = rng_make(700);
    for (int lay = 0; lay < LAYOUT_COUNT; lay++) {
        rows x = rows_new(9, 10000);
        const char *bad;
        fill_rows(&x, (layout)lay, &r);
        bad = check_plain(&x, 3, layout_name((layout)lay));
        rows_free(&x);
        if (bad) FAILm(bad);
    }
    PASS();
}

/* coarse and fine goals are both kept, and a goal below rounding ends as AGG_INEXACT, not in a
   loop */
TEST other_gaps(void) {
    static const double gaps[] = {0.1, 1e-3, 1e-9};
    rng r = rng_make(800);
    rows x = rows_new(9, 6);
    agg_real out[6];
    agg_report rep = report_new(9);
    for (size_t t = 0; t < rounds(20); t++) {
        fill_rows(&x, LAY_RANDOM, &r);
        for (size_t c = 0; c < 3; c++) {
            agg_desc d = agg_make_desc(AGG_GM, 9, 6, 3);
            const char *bad;
            d.gap = gaps[c];
            bad = check_gm(&d, &x, "other gaps");
            if (bad) FAILm(bad);
        }
        agg_desc d = agg_make_desc(AGG_GM, 9, 6, 3);
        agg_status s;
        d.gap = 1e-300;
        s = run(&d, x.row, out, &rep);
        ASSERT(s == AGG_INEXACT || (s == AGG_OK && rep.gap <= 0));
        ASSERT(rep.gap < 1e-6);
        d.gap = 100; /* the best of the rows is within a factor 2, whatever the proof says */
        ASSERT(wrote(run(&d, x.row, out, &rep)));
        ASSERT(rep.gap >= 0);
        ref_num z[6], bound;
        for (size_t k = 0; k < 6; k++) z[k] = (ref_num)out[k];
        (void)ref_gm(x.row, 9, 6, NULL, &bound);
        ASSERT(ref_gm_value(x.row, 9, 6, z) <= 2 * bound * (1 + (ref_num)1e-5));
    }
    report_free(&rep);
    rows_free(&x);
    PASS();
}

/* rows of very different sizes and a goal below rounding: it ends, and the gap reported is true */
/* rows made of each other with a giant here and there: whatever gap is asked for, no step leaves
   their hull */
TEST unreachable_gap_among_giants(void) {
    rng r = rng_make(810);
    agg_real out[7];
    agg_report rep = report_new(9);
    for (size_t t = 0; t < rounds(3000); t++) {
        rows x = rows_new(9, 7);
        agg_desc d = agg_make_desc(AGG_GM, 9, 7, 3);
        ref_num z[7], best = 0;
        d.gap = t % 2 ? 1e-300 : 1e-15;
        for (size_t i = 0; i < 9; i++) {
            fill_normal(rows_at(&x, i), 7, &r, 0, 1);
            if (i && rng_below(&r, 4))
                memcpy(rows_at(&x, i), rows_at(&x, rng_below(&r, i)), 7 * sizeof(agg_real));
            if (rng_below(&r, 2))
                rows_at(&x, i)[rng_below(&r, 7)] = (agg_real)pow(10, 60 * rng_unit(&r) - 27);
        }
        ASSERT(wrote(run(&d, x.row, out, &rep)));
        ASSERT(all_finite(out, 7));
        for (size_t i = 0; i < 9; i++) { /* no worse than the best of the rows */
            ref_num value;
            for (size_t k = 0; k < 7; k++) z[k] = (ref_num)x.row[i][k];
            value = ref_gm_value(x.row, 9, 7, z);
            if (!i || value < best) best = value;
            ASSERT(rep.weight[i] >= 0 && rep.weight[i] <= 1 + 1e-9);
        }
        for (size_t k = 0; k < 7; k++) z[k] = (ref_num)out[k];
        ASSERT(ref_gm_value(x.row, 9, 7, z) <= best * (1 + (ref_num)1e-5));
        rows_free(&x);
    }
    report_free(&rep);
    PASS();
}
#ifdef AGG_DOUBLE
/* a majority coincides; next to a giant of 1e281 one of 1e101 is nothing, but not to the others */
TEST giants_of_two_sizes(void) {
    rows x = rows_new(6, 3);
    agg_desc d = agg_make_desc(AGG_GM, 6, 3, 1);
    agg_real out[3];
    d.gap = 1e-300;
    for (size_t i = 0; i < 6; i++)
        for (size_t k = 0; k < 3; k++) rows_at(&x, i)[k] = 1.0402615048118606 + 0.6 * (double)k;
    rows_at(&x, 4)[0] = 2.449721449922389e+101;
    rows_at(&x, 5)[1] = 9.4693193486235181e+281;
    ASSERT(wrote(run(&d, x.row, out, NULL)));
    ASSERT_MEM_EQ(x.row[0], out, sizeof out);
    rows_free(&x);
    PASS();
}

/* two rows are equal, next to distances whose squares do not fit a double */
TEST equal_rows_beside_giants(void) {
    rng r = rng_make(820);
    for (size_t t = 0; t < rounds(40); t++) {
        rows x = rows_new(7, 5);
        const char *bad;
        for (size_t i = 0; i < 7; i++)
            fill_normal(rows_at(&x, i), 5, &r, 0, i < 5 ? 1e19 : pow(10, 160 + 3 * (double)t));
        memcpy(rows_at(&x, 1), rows_at(&x, 0), 5 * sizeof(agg_real));
        bad = check_plain(&x, 2, "equal rows beside giants");
        rows_free(&x);
        if (bad) FAILm(bad);
    }
    PASS();
}
#endif
TEST unreachable_gap(void) {
    rng r = rng_make(800);
    rows x = rows_new(9, 6);
    agg_real out[6];
    agg_report rep = report_new(9);
    for (size_t t = 0; t < rounds(20); t++) {
        agg_desc d = agg_make_desc(AGG_GM, 9, 6, 3);
        ref_num z[6], bound, value, norm = 0;
        d.gap = 1e-300;
        fill_rows(&x, LAY_MIXED, &r);
        const agg_status s = run(&d, x.row, out, &rep);
        ASSERT(s == AGG_INEXACT || (s == AGG_OK && rep.gap <= 0));
        for (size_t k = 0; k < 6; k++) {
            z[k] = (ref_num)out[k];
            norm += z[k] * z[k];
        }
        value = ref_gm_value(x.row, 9, 6, z);
        const ref_num own = ref_gm(x.row, 9, 6, NULL, &bound) - bound,
                      rounded = 9 * (ref_num)EPS * ref_sqrt(norm);
        const ball b = ball_of(&x, 5);
        const ref_num lost = rounded + aside(&x, &b, z) + value * (ref_num)1e-18L;
        const ref_num more = value - bound - own - lost;
        if (more > ((ref_num)rep.gap + (ref_num)1e-12) * 9 * b.radius)
            FAILm(WHY("true gap %g, reported %g", (double)(more / 9 / b.radius), rep.gap));
    }
    report_free(&rep);
    rows_free(&x);
    PASS();
}

SUITE(geometric_median) {
    for (int lay = 0; lay < LAYOUT_COUNT; lay++) {
        greatest_set_test_suffix(layout_name((layout)lay));
        RUN_TESTp(small_n, (layout)lay);
    }
    RUN_TEST(many_rows);
    RUN_TEST(optimum_at_a_row);
    RUN_TEST(optimum_barely_at_a_row);
    RUN_TEST(twins);
    RUN_TEST(far_twins);
    RUN_TEST(tiny_majority);
    RUN_TEST(collinear);
    RUN_TEST(coincident);
    RUN_TEST(one_and_two_rows);
    RUN_TEST(far_rows);
    RUN_TESTp(far_accomplices, 7, 3);
    RUN_TESTp(far_accomplices, 9, 4);
    RUN_TESTp(far_accomplices, 21, 10);
    RUN_TESTp(far_accomplices, 97, 48);
    RUN_TEST(ends_of_the_range);
    RUN_TEST(tight_cluster);
    RUN_TEST(whole_range);
    RUN_TEST(inexact_keeps_lambda);
    RUN_TEST(nothing_but_giants);
    RUN_TEST(far_long_rows);
    RUN_TEST(long_rows);
    RUN_TEST(other_gaps);
    RUN_TEST(unreachable_gap);
    RUN_TEST(unreachable_gap_among_giants);
#ifdef AGG_DOUBLE
    RUN_TEST(giants_of_two_sizes);
    RUN_TEST(equal_rows_beside_giants);
#endif
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv) {
    GREATEST_MAIN_BEGIN();
    RUN_SUITE(geometric_median);
    printf("largest true gap %.3g n R; the reference itself is proven to %.3g\n", worst_gap,
           worst_reference);
    GREATEST_MAIN_END();
}
