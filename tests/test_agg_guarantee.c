/* The inequality  ||F(x) - mean_G|| <= lambda diam_G  for every G of n-f rows, attacked by hill
   climbing, by scenes of several scales, and by everything a float can hold. The tables printed at
   the end show how close the attacks came. */
#include "implementation.h"
#include "aggregators.h"
#include "greatest.h"
#include <math.h>
#include "common.h"
#include "reference.h"
#include "structured.h"

static const agg_rule table[] = {AGG_MDA,        AGG_CWTM, AGG_MEAMED, AGG_CWMED, AGG_KRUM,
                                 AGG_MULTI_KRUM, AGG_GM,   AGG_AKSEL,  AGG_WINSOR};
#define TABLE (sizeof table / sizeof *table)
#define MAX_N 9

typedef struct cell {
    double ratio, lambda;
} cell;

static cell found[TABLE][MAX_N + 1][MAX_N]; /* the attack nearest to lambda, by rule, n and f */

#define SLACK (4 * (ref_num)EPS) /* out is rounded; relative to the largest number in G */

/* ---- hill climbing: all rows move, since G may be any of them ---- */
/* ratio / lambda, or the ratio itself if there is none; -1 if something broke */
static double attack_value(const agg_desc *d, const rows *x) {
    agg_real out[16];
    if (!wrote(run(d, x->row, out, NULL)) || !all_finite(out, d->dim)) return -1;
    return (double)ref_resilience(x->row, d->n, d->dim, d->f, out, SLACK) /
           fabs(agg_lambda(d->rule, d->n, d->f, d->dim));
}

static void mutate(rows *x, double step, rng *r) {
    const size_t i = rng_below(r, x->n), other = rng_below(r, x->n);
    agg_real *row = rows_at(x, i);
    switch (rng_below(r, 6)) {
    case 0: memcpy(row, rows_at(x, other), x->dim * sizeof *row); break;
    case 1:
        for (size_t k = 0; k < x->dim; k++)
            row[k] = (agg_real)((double)row[k] * (1 + step * rng_normal(r)));
        break;
    case 2: row[rng_below(r, x->dim)] = rows_at(x, other)[rng_below(r, x->dim)]; break;
    default:
        for (size_t k = 0; k < x->dim; k++)
            row[k] = (agg_real)((double)row[k] + step * rng_normal(r));
        break;
    }
}

static double climb(const agg_desc *d, rows *x, size_t steps, rng *r) {
    rows trial = rows_new(d->n, d->dim);
    double best = attack_value(d, x), size = 1;
    for (size_t t = 0; t < steps && best >= 0; t++) {
        double value;
        memcpy(trial.data, x->data, d->n * d->dim * sizeof(agg_real));
        mutate(&trial, size, r);
        value = attack_value(d, &trial);
        if (value < 0)
            best = -1;
        else if (value > best) {
            best = value;
            memcpy(x->data, trial.data, d->n * d->dim * sizeof(agg_real));
            size *= 1.5;
        } else if (size > 1e-4)
            size *= 0.95;
    }
    rows_free(&trial);
    return best;
}

TEST hill_climbing(size_t which) {
    static const size_t dims[] = {1, 2, 4};
    const agg_rule rule = table[which];
    rng r = rng_make(50 + which);
    for (size_t n = 3; n <= MAX_N; n++)
        for (size_t f = 1; 2 * f < n; f++)
            for (size_t c = 0; c < 3; c++)
                for (int start = 0; start < 3; start++) {
                    static const layout starts[] = {LAY_RANDOM, LAY_TIED, LAY_CLUSTERED};
                    agg_desc d = agg_make_desc(rule, n, dims[c], f);
                    rows x = rows_new(n, dims[c]);
                    const double lambda = agg_lambda(rule, n, f, dims[c]);
                    double best;
                    cell *cell_at = &found[which][n][f];
                    fill_rows(&x, starts[start], &r);
                    best = climb(&d, &x, rounds(150), &r);
                    rows_free(&x);
                    if (best < 0)
                        FAILm(WHY("%s n %zu f %zu dim %zu: no finite answer", agg_rule_name(rule),
                                  n, f, dims[c]));
                    if (best > 1 + 1e-5)
                        FAILm(WHY("%s n %zu f %zu dim %zu: ratio %.9g over lambda %.9g",
                                  agg_rule_name(rule), n, f, dims[c], best * lambda, lambda));
                    if (!(cell_at->lambda > 0) || best > cell_at->ratio / cell_at->lambda) {
                        cell_at->ratio = best * lambda;
                        cell_at->lambda = lambda;
                    }
                }
    PASS();
}

/* FedPG without sigma: 1 + 2 max(1, sqrt(B/V)), V = 2 ln(2n/delta); RULES says so */
TEST fedpg_within_its_bound(void) {
    rng r = rng_make(59);
    double most = 0;
    for (size_t n = 3; n <= MAX_N; n++)
        for (size_t f = 1; 2 * f < n; f++)
            for (size_t batch = 1; batch <= 100; batch *= 10) {
                agg_desc d = agg_make_desc(AGG_FEDPG, n, 2, f);
                const double ratio = sqrt((double)batch / (2 * log(2 * (double)n / 0.6)));
                rows x = rows_new(n, 2);
                double best;
                d.batch = batch;
                fill_rows(&x, LAY_RANDOM, &r);
                best = climb(&d, &x, rounds(300), &r);
                rows_free(&x);
                best /= 1 + 2 * fmax(1, ratio);
                ASSERT(best >= 0);
                if (best > 1)
                    FAILm(WHY("n %zu f %zu batch %zu: %g of the bound", n, f, batch, best));
                most = fmax(most, best);
            }
    ASSERTm("the bound is far from what was found", most > 0.2);
    PASS();
}

static void print_table(void) {
    printf("\nLargest ||F - mean_G|| / diam_G found, and lambda:\n  n f");
    for (size_t i = 0; i < TABLE; i++) printf("  %-13s", agg_rule_name(table[i]));
    printf("\n");
    for (size_t n = 3; n <= MAX_N; n++)
        for (size_t f = 1; 2 * f < n; f++) {
            printf("%3zu %zu", n, f);
            for (size_t i = 0; i < TABLE; i++)
                printf("  %5.3f / %5.3f", found[i][n][f].ratio, found[i][n][f].lambda);
            printf("\n");
        }
}

/* ---- scenes of several scales, with rows enough for the scales to matter ---- */
static const struct scene_size {
    size_t n, f;
    size_t tries;
} sizes[] = {{7, 3, 300}, {9, 4, 200}, {21, 10, 60}, {41, 20, 12}, {97, 48, 3}, {100, 30, 3}};
#define SIZES (sizeof sizes / sizeof *sizes)

static double scene_found[TABLE][SIZES]; /* ratio / lambda */

/* ratio / lambda of a lower bound of the ratio; -1 if something broke */
static double scene_value(const agg_desc *d, const scene *sc, uint64_t seed) {
    rows x = rows_new(d->n, d->dim);
    agg_real *out = (agg_real *)need(calloc(d->dim, sizeof *out));
    const ref_num slack = SLACK * (ref_num)sqrt((double)d->dim);
    double lambda = agg_lambda(d->rule, d->n, d->f, d->dim), ratio = -1;
    rng r = rng_make(seed);
    agg_status s;
    scene_rows(sc, &x, d->f, &r);
    s = run(d, x.row, out, NULL);
    if (s == AGG_INEXACT && d->rule == AGG_MDA) lambda *= 1.5;
    if (wrote(s) && all_finite(out, d->dim))
        ratio = (double)(d->n < 9 ? ref_resilience(x.row, d->n, d->dim, d->f, out, slack)
                                  : ref_resilience_of_balls(x.row, d->n, d->dim, d->f, out, slack));
    free(out);
    rows_free(&x);
    return ratio / lambda;
}

static double scene_climb(const agg_desc *d, size_t tries, rng *r) {
    const uint64_t seed = rng_next(r);
    scene at = scene_random(d->n, d->f, r);
    double best = scene_value(d, &at, seed), step = 1;
    for (size_t t = 0; t < tries && best >= 0; t++) {
        const scene next =
            t % 8 == 7 ? scene_random(d->n, d->f, r) : scene_near(&at, d->n, d->f, step, r);
        const double value = scene_value(d, &next, seed);
        step = value > best ? step * 1.5 : step * 0.9;
        if (value < 0) return value;
        if (!(value > best)) continue;
        best = value;
        at = next;
    }
    return best;
}

TEST structured_adversary(size_t which) {
    const agg_rule rule = table[which];
    rng r = rng_make(60 + which);
    for (size_t c = 0; c < SIZES; c++) {
        const size_t n = sizes[c].n, f = sizes[c].f;
        for (int start = 0; start < 4; start++) {
            const agg_desc d = agg_make_desc(rule, n, scene_dim(n, f, 50), f);
            const double best = scene_climb(&d, rounds(sizes[c].tries) / 4, &r);
            if (!(best >= 0 && best <= 1 + 1e-5))
                FAILm(WHY("%s n %zu f %zu: %.9g of lambda", agg_rule_name(rule), n, f, best));
            if (best > scene_found[which][c]) scene_found[which][c] = best;
        }
    }
    PASS();
}

static void print_scenes(void) {
    printf("\nLargest ratio / lambda of a structured adversary:\n  n  f");
    for (size_t i = 0; i < TABLE; i++) printf("  %-10s", agg_rule_name(table[i]));
    printf("\n");
    for (size_t c = 0; c < SIZES; c++) {
        printf("%3zu %2zu", sizes[c].n, sizes[c].f);
        for (size_t i = 0; i < TABLE; i++) printf("  %10.3f", scene_found[i][c]);
        printf("\n");
    }
}

/* ---- extremes ---- */
static void fill_honest(rows *x, int scale, rng *r) {
    static const double size[] = {0, (double)REAL_TINY * 1000, 1e-30, 1e-6, 1, 1e30};
    for (size_t i = 0; i < x->n; i++)
        fill_normal(rows_at(x, i), x->dim, r, scale == 0 ? 0.1 : 0, size[scale]);
}

#define HONEST_SCALES 6

/* scale 0: all honest rows are the same, so the diameter is 0 and the answer must be that row, to
   the bit */
TEST any_forgeries(agg_rule rule) {
    static const size_t dims[] = {1, 3, 16};
    rng r = rng_make(70 + (uint64_t)rule);
    for (size_t n = 3; n <= MAX_N; n++)
        for (size_t f = 1; 2 * f < n; f++)
            for (int scale = 0; scale < HONEST_SCALES; scale++)
                for (int kind = 0; kind <= FORGERY_COUNT; kind++) {
                    const size_t dim = dims[rng_below(&r, 3)], at = rng_below(&r, n);
                    agg_desc d = agg_make_desc(rule, n, dim, f);
                    rows x, good;
                    agg_real out[16], honest[16];
                    agg_status s;
                    size_t dropped;
                    if (rule == AGG_BULYAN && n < 4 * f + 3) continue;
                    x = rows_new(n, dim);
                    fill_honest(&x, scale, &r);
                    memcpy(honest, rows_at(&x, (at + f) % n), dim * sizeof *honest);
                    d.pivot = (at + f) % n;
                    for (size_t i = 0; i < f; i++)
                        forge_row(&x, (at + i) % n,
                                  (forgery)(kind < FORGERY_COUNT ? (size_t)kind
                                                                 : rng_below(&r, FORGERY_COUNT)),
                                  &r);
                    s = run(&d, x.row, out, NULL);
                    if (!wrote(s) || !all_finite(out, dim))
                        FAILm(WHY("%s n %zu f %zu dim %zu scale %d %s: status %d, out[0] %g",
                                  agg_rule_name(rule), n, f, dim, scale,
                                  forgery_name((forgery)kind), (int)s, (double)out[0]));
                    if (scale == 0 && rule_heeds_equals(rule) && !same_numbers(out, honest, dim))
                        FAILm(
                            WHY("%s n %zu f %zu dim %zu %s: honest rows are all %.9g, out is %.9g",
                                agg_rule_name(rule), n, f, dim, forgery_name((forgery)kind),
                                (double)honest[0], (double)out[0]));
                    /* the guarantee for the rows that can be in a sum: those dropped count as
                       adversaries */
                    good = rows_new(n, dim);
                    good.n = 0;
                    for (size_t i = 0; i < n; i++)
                        if (ref_row_ok(x.row[i], dim)) good.row[good.n++] = x.row[i];
                    dropped = n - good.n;
                    const double lambda = agg_lambda(rule, good.n, f - dropped, dim);
                    const double ratio =
                        lambda >= 0
                            ? (double)ref_resilience(good.row, good.n, dim, f - dropped, out,
                                                     SLACK * (ref_num)sqrt((double)dim))
                            : 0;
                    if (lambda >= 0 && f > dropped && !(ratio <= lambda * (1 + 1e-5)))
                        FAILm(WHY("%s n %zu f %zu dim %zu scale %d %s: ratio %g over lambda %g",
                                  agg_rule_name(rule), n, f, dim, scale,
                                  forgery_name((forgery)kind), ratio, lambda));
                    rows_free(&good);
                    rows_free(&x);
                }
    PASS();
}

/* ---- two kinds of absence: `convicted` rows are NULL or hold NaN (n and f shrink), `late` ones are
   marked (n shrinks, f stays), and hold what would convict them if it were looked at ---- */
typedef struct absent {
    size_t n, dim, f, late, convicted;
    unsigned char flag[MAX_N + 1];
    rows x;       /* all n */
    rows present; /* those that can be in a sum */
    rows in_time; /* those that are not late, in their order */
} absent;

static absent absent_make(size_t n, size_t f, size_t late, size_t convicted, rng *r) {
    absent a;
    const size_t at = rng_below(r, n);
    memset(&a, 0, sizeof a);
    a.n = n, a.dim = 3, a.f = f, a.late = late, a.convicted = convicted;
    a.x = rows_new(n, a.dim);
    a.present = rows_new(n, a.dim);
    a.in_time = rows_new(n, a.dim);
    a.present.n = a.in_time.n = 0;
    fill_rows(&a.x, (layout)rng_below(r, LAY_CLUSTERED + 1), r);
    for (size_t i = 0; i < n; i++) {
        const size_t k = (at + i) % n;
        a.flag[k] = i < late;
        if (i < late + convicted) rows_at(&a.x, k)[i % a.dim] = (agg_real)NAN;
        if (i < late && i % 2) a.x.row[k] = NULL;
        if (i >= late + convicted && i < late + f) /* the rest of the adversaries: giants */
            for (size_t j = 0; j < a.dim; j++) rows_at(&a.x, k)[j] = (agg_real)(1e6 * (double)j);
    }
    for (size_t k = 0; k < n; k++) {
        if (!a.flag[k]) a.in_time.row[a.in_time.n++] = a.x.row[k];
        if (ref_row_ok(a.x.row[k], a.dim) && !a.flag[k]) a.present.row[a.present.n++] = a.x.row[k];
    }
    return a;
}

static void absent_free(absent *a) {
    rows_free(&a->x);
    rows_free(&a->present);
    rows_free(&a->in_time);
}

static int takes(agg_rule rule, size_t n, size_t f) {
    return rule == AGG_BULYAN ? n >= 4 * f + 3 : n > 2 * f;
}

static int report_tells(const absent *a, const agg_report *rep) {
    for (size_t i = 0; i < a->n; i++)
        if (a->flag[i] && (rep->weight[i] != 0 || rep->suspicion[i] != 0)) return 0;
    return rep->late == a->late && rep->dropped == a->convicted;
}

static const char *check_absent(agg_rule rule, const absent *a) {
    agg_desc d = agg_make_desc(rule, a->n, a->dim, a->f), fewer = d;
    agg_real out[16], same[16];
    double weight[MAX_N + 1], suspicion[MAX_N + 1];
    agg_report rep;
    const size_t n = a->n - a->late, f = a->f - a->convicted;
    agg_status s;
    memset(&rep, 0, sizeof rep);
    rep.weight = weight, rep.suspicion = suspicion;
    d.late = a->flag;
    for (d.pivot = 0; d.pivot < a->n && a->x.row[d.pivot] != a->present.row[0];) d.pivot++;
    s = run(&d, a->x.row, out, &rep);
    if (!takes(rule, n, a->f)) return s == AGG_ERR_BOUND ? NULL : "taken beyond the bound";
    if (!wrote(s) || !all_finite(out, a->dim)) return "no answer";
    if (!report_tells(a, &rep)) return "the report";
    fewer.n = n;
    for (; a->in_time.row[fewer.pivot] != a->present.row[0];) fewer.pivot++;
    if (run(&fewer, a->in_time.row, same, NULL) != s || !same_numbers(out, same, a->dim))
        return "not what the rows in time alone give";
    {
        const double lambda = agg_lambda(rule, n - a->convicted, f, a->dim);
        const double ratio = (double)ref_resilience(a->present.row, a->present.n, a->dim, f, out,
                                                    SLACK * (ref_num)sqrt((double)a->dim));
        return lambda < 0 || f == 0 || ratio <= lambda * (1 + 1e-5) ? NULL : "over lambda";
    }
}

/* every n, f, number of late and of convicted, against every G of the rows that are left */
TEST two_kinds_of_absence(agg_rule rule) {
    rng r = rng_make(300 + (uint64_t)rule);
    for (size_t n = 3; n <= MAX_N; n++)
        for (size_t f = 0; 2 * f < n; f++)
            for (size_t late = 0; late < n - f; late++)
                for (size_t convicted = 0; convicted <= f; convicted++) {
                    absent a;
                    const char *wrong;
                    if (!takes(rule, n, f)) continue;
                    a = absent_make(n, f, late, convicted, &r);
                    wrong = check_absent(rule, &a);
                    absent_free(&a);
                    if (wrong)
                        FAILm(WHY("%s n %zu f %zu late %zu convicted %zu: %s", agg_rule_name(rule),
                                  n, f, late, convicted, wrong));
                }
    PASS();
}

/* More rows than f may be late, all but 2f+1 of them, where as many silent ones end a call; q of
   Multi-Krum gives way; whoever is late, scratch is enough, and its size does not depend on it. */
TEST late_is_not_guilty(void) {
    unsigned char late[MAX_N] = {1, 1, 1, 1, 0, 0, 0, 0, 0}, all[MAX_N];
    agg_desc d = agg_make_desc(AGG_MULTI_KRUM, MAX_N, 2, 2);
    const size_t size = agg_scratch_size(&d);
    rows x = rows_new(MAX_N, 2);
    agg_real out[2];
    agg_report rep;
    rng r = rng_make(5);
    memset(&rep, 0, sizeof rep);
    memset(all, 1, sizeof all);
    fill_rows(&x, LAY_RANDOM, &r);
    for (size_t i = 0; i < 4; i++) x.row[i] = NULL;
    d.q = 7;
    ASSERT_EQ(AGG_ERR_ROWS, run(&d, x.row, out, NULL));
    d.late = late;
    ASSERT_EQ(AGG_OK, run(&d, x.row, out, NULL));
    ASSERT_EQ(size, agg_scratch_size(&d));
    late[4] = 7;
    ASSERT_EQ(AGG_ERR_BOUND, run(&d, x.row, out, NULL));
    late[4] = 0;
    x.row[5] = x.row[6] = x.row[7] = NULL; /* three of five that are in time: more than f */
    ASSERT_EQ(AGG_ERR_ROWS, run(&d, x.row, out, &rep));
    ASSERT_EQ((size_t)4, rep.late);
    ASSERT_EQ((size_t)3, rep.dropped);
    d.late = all;
    d.f = 0;
    ASSERT_EQ(AGG_ERR_BOUND, run(&d, x.row, out, NULL));
    d.q = 0;
    d.pre[0] = AGG_PRE_BUCKETING;
    d.rng = rng_for_library(&r);
    ASSERT_EQ(AGG_ERR_BOUND, run(&d, x.row, out, NULL));
    rows_free(&x);
    PASS();
}

/* a pivot that is late cannot be trusted either */
TEST a_late_pivot(void) {
    const unsigned char late[3] = {0, 1, 0};
    agg_desc d = agg_make_desc(AGG_MONNA, 3, 2, 0);
    rows x = rows_new(3, 2);
    agg_real out[2];
    d.late = late;
    d.pivot = 1;
    ASSERT_EQ(AGG_ERR_PIVOT, run(&d, x.row, out, NULL));
    d.pivot = 2;
    ASSERT_EQ(AGG_OK, run(&d, x.row, out, NULL));
    rows_free(&x);
    PASS();
}

/* the same with a pre-aggregation in front: finite, and exact where all honest rows are the same */
TEST any_forgeries_after(agg_pre pre) {
    rng r = rng_make(90 + (uint64_t)pre);
    for (size_t i = 0; i < AGG_RULE_COUNT; i++)
        for (size_t n = 5; n <= 9; n++)
            for (int scale = 0; scale < HONEST_SCALES; scale++)
                for (int kind = 0; kind <= FORGERY_COUNT; kind++) {
                    const agg_rule rule = rule_at(i);
                    agg_desc d = agg_make_desc(rule, n, 4, 1);
                    rows x;
                    agg_real out[4], honest[4];
                    agg_status s;
                    if (rule == AGG_MEAN ||
                        (rule == AGG_BULYAN && (n < 7 || pre == AGG_PRE_BUCKETING)))
                        continue;
                    x = rows_new(n, 4);
                    d.pre[0] = pre;
                    d.clip = scale == 5 ? 1e31 : 10;
                    d.rng = rng_for_library(&r);
                    fill_honest(&x, scale, &r);
                    memcpy(honest, rows_at(&x, 0), sizeof honest);
                    forge_row(&x, 1 + rng_below(&r, n - 1),
                              (forgery)(kind < FORGERY_COUNT ? (size_t)kind
                                                             : rng_below(&r, FORGERY_COUNT)),
                              &r);
                    s = run(&d, x.row, out, NULL);
                    if (!wrote(s) || !all_finite(out, 4))
                        FAILm(WHY("pre %d %s n %zu scale %d %s: status %d, out[0] %g", (int)pre,
                                  agg_rule_name(rule), n, scale, forgery_name((forgery)kind),
                                  (int)s, (double)out[0]));
                    /* MoNNA's pivot may share its bucket with the adversary */
                    if (scale == 0 && rule_heeds_equals(rule) &&
                        !(rule == AGG_MONNA && pre == AGG_PRE_BUCKETING) &&
                        !same_numbers(out, honest, 4))
                        FAILm(WHY("pre %d %s n %zu %s: honest rows are all %.9g, out is %.9g",
                                  (int)pre, agg_rule_name(rule), n, forgery_name((forgery)kind),
                                  (double)honest[0], (double)out[0]));
                    rows_free(&x);
                }
    PASS();
}

/* ---- agg_resilience itself ---- */
TEST resilience_by_hand(void) {
    agg_real a[1] = {0}, b[1] = {1}, c[1] = {10}, out[1] = {4};
    const agg_real *x[3];
    double ratio = -1;
    uint64_t worst = 0;
    x[0] = a;
    x[1] = b;
    x[2] = c;
    ASSERT_EQ(AGG_OK, agg_resilience(x, 3, 1, 1, out, &ratio, &worst));
    ASSERT_IN_RANGE(3.5, ratio, 1e-9); /* G = {a,b}: |4 - 0.5| / 1 */
    ASSERT_EQ((uint64_t)3, worst);
    ASSERT_EQ(AGG_OK, agg_resilience(x, 3, 1, 0, out, &ratio, NULL));
    ASSERT_IN_RANGE((4 - 11.0 / 3) / 10, ratio, 1e-9);
    PASS();
}

TEST resilience_equals_reference(void) {
    rng r = rng_make(110);
    for (int lay = 0; lay < LAYOUT_COUNT; lay++)
        for (size_t n = 1; n <= 9; n++)
            for (size_t f = 0; 2 * f < n; f++)
                for (size_t dim = 1; dim <= 17; dim += 8) {
                    rows x = rows_new(n, dim);
                    agg_real out[17];
                    double ratio = -1;
                    uint64_t worst = 0;
                    fill_rows(&x, (layout)lay, &r);
                    memcpy(out, x.row[rng_below(&r, n)], dim * sizeof *out);
                    if (rng_below(&r, 2))
                        out[0] = (agg_real)((double)out[0] + ((double)out[0] > 1 ? -1 : 1));
                    const double want = (double)ref_resilience(x.row, n, dim, f, out, 0);
                    ASSERT_EQ(AGG_OK, agg_resilience(x.row, n, dim, f, out, &ratio, &worst));
                    if (isinf(want) ? !isinf(ratio) : !(fabs(ratio - want) <= 1e-6 * want))
                        FAILm(WHY("n %zu f %zu dim %zu %s: %g, reference %g", n, f, dim,
                                  layout_name((layout)lay), ratio, want));
                    size_t members = 0, s[9];
                    for (size_t i = 0; i < n; i++)
                        if (worst >> i & 1) s[members++] = i;
                    ASSERT_EQ(n - f, members);
                    if (!isinf(want)) { /* the mask names a set that attains the ratio */
                        const agg_real *g[9];
                        for (size_t i = 0; i < members; i++) g[i] = x.row[s[i]];
                        ASSERT_IN_RANGE(ratio, (double)ref_resilience(g, members, dim, 0, out, 0),
                                        1e-6 * ratio + 1e-300);
                    }
                    rows_free(&x);
                }
    PASS();
}

/* 0/0 is 0: out is right */
TEST resilience_of_equal_rows_is_zero(void) {
    rows x = rows_new(7, 3);
    double ratio = -1;
    fill_number(x.data, 21, 0.1);
    ASSERT_EQ(AGG_OK, agg_resilience(x.row, 7, 3, 2, x.row[0], &ratio, NULL));
    ASSERT(ratio >= 0 && ratio <= 0);
    rows_free(&x);
    PASS();
}

TEST resilience_errors(void) {
    rows x = rows_new(65, 2);
    agg_real out[2] = {0, 0};
    double ratio = 123;
    uint64_t worst = 456;
    const agg_real *kept = x.row[1];
    ASSERT_EQ(AGG_ERR_ARG, agg_resilience(NULL, 3, 2, 1, out, &ratio, &worst));
    ASSERT_EQ(AGG_ERR_ARG, agg_resilience(x.row, 3, 2, 1, NULL, &ratio, &worst));
    ASSERT_EQ(AGG_ERR_ARG, agg_resilience(x.row, 3, 2, 1, out, NULL, &worst));
    {
        const agg_real odd[2] = {0, (agg_real)NAN};
        ASSERT_EQ(AGG_ERR_ARG, agg_resilience(x.row, 3, 2, 1, odd, &ratio, &worst));
    }
    ASSERT_EQ(AGG_ERR_ARG, agg_resilience(x.row, 0, 2, 0, out, &ratio, &worst));
    ASSERT_EQ(AGG_ERR_ARG, agg_resilience(x.row, 3, 0, 1, out, &ratio, &worst));
    ASSERT(agg_resilience(x.row, 65, 2, 1, out, &ratio, &worst) >= AGG_ERR_ARG);
    ASSERT(agg_resilience(x.row, 3, 2, 3, out, &ratio, &worst) >= AGG_ERR_ARG);
    ASSERT(agg_resilience(x.row, 3, 2, SIZE_MAX, out, &ratio, &worst) >= AGG_ERR_ARG);
    x.row[1] = NULL;
    ASSERT(agg_resilience(x.row, 3, 2, 1, out, &ratio, &worst) >= AGG_ERR_ARG);
    x.row[1] = kept;
    rows_at(&x, 1)[1] = (agg_real)NAN;
    ASSERT_EQ(AGG_ERR_ROWS, agg_resilience(x.row, 3, 2, 1, out, &ratio, &worst));
    ASSERT(ratio >= 123 && ratio <= 123);
    ASSERT_EQ((uint64_t)456, worst);
    rows_free(&x);
    PASS();
}

SUITE(guarantee) {
    for (size_t i = 0; i < TABLE; i++) {
        greatest_set_test_suffix(agg_rule_name(table[i]));
        RUN_TESTp(hill_climbing, i);
    }
    for (size_t i = 0; i < TABLE; i++) {
        greatest_set_test_suffix(agg_rule_name(table[i]));
        RUN_TESTp(structured_adversary, i);
    }
    RUN_TEST(fedpg_within_its_bound);
    for (size_t i = 0; i < AGG_RULE_COUNT; i++) {
        if (rule_at(i) == AGG_MEAN) continue;
        greatest_set_test_suffix(agg_rule_name(rule_at(i)));
        RUN_TESTp(any_forgeries, rule_at(i));
    }
    for (size_t i = 0; i < AGG_RULE_COUNT; i++) {
        greatest_set_test_suffix(agg_rule_name(rule_at(i)));
        RUN_TESTp(two_kinds_of_absence, rule_at(i));
    }
    RUN_TEST(late_is_not_guilty);
    RUN_TEST(a_late_pivot);
    for (int p = AGG_PRE_NNM; p < AGG_PRE_COUNT; p++) {
        greatest_set_test_suffix(agg_pre_name((agg_pre)p));
        RUN_TESTp(any_forgeries_after, (agg_pre)p);
    }
}

SUITE(resilience) {
    RUN_TEST(resilience_by_hand);
    RUN_TEST(resilience_equals_reference);
    RUN_TEST(resilience_of_equal_rows_is_zero);
    RUN_TEST(resilience_errors);
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv) {
    GREATEST_MAIN_BEGIN();
    RUN_SUITE(guarantee);
    RUN_SUITE(resilience);
    print_table();
    print_scenes();
    GREATEST_MAIN_END();
}
