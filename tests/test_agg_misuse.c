/* Hostile callers: every status is reached, nothing is written on an error, nothing is read or
   written out of bounds. */
#if defined(__unix__) || defined(__APPLE__)
#define _POSIX_C_SOURCE 200112L
#define HAVE_PAGES      1
#else
#define HAVE_PAGES 0
#endif
#include "implementation.h"
#include "aggregators.h"
#include "greatest.h"
#include <math.h>
#if HAVE_PAGES
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#endif
#include "common.h"
#include "reference.h"

static unsigned seen[AGG_STATUS_COUNT]; /* how often each status came back */

/* agg_aggregate() with a canary in out: on an error every byte of it must still be there */
static const char *expect(const char *what, agg_status want, const agg_desc *d,
                          const agg_real *const *x, agg_real *out, size_t dim, void *scratch,
                          size_t size) {
    agg_status s;
    if (out) memset(out, CANARY, dim * sizeof *out);
    s = agg_aggregate(d, x, out, scratch, size, NULL);
    if ((unsigned)s < AGG_STATUS_COUNT) seen[s]++;
    if (s != want)
        return WHY("%s: status %d (%s), not %d", what, (int)s, agg_status_text(s), (int)want);
    if (!wrote(s) && out)
        for (size_t i = 0; i < dim * sizeof *out; i++)
            if (((unsigned char *)out)[i] != CANARY) return WHY("%s: out was touched", what);
    return NULL;
}

#define N   7
#define DIM 5

typedef struct fixture {
    rows x;
    agg_real out[DIM];
    unsigned char scratch[65536];
    agg_desc d;
} fixture;

static fixture fx;

static rng bits_of_fx;

static void fresh(agg_rule rule) {
    rng r = rng_make(1);
    bits_of_fx = rng_make(1);
    rows_free(&fx.x);
    fx.x = rows_new(N, DIM);
    fill_rows(&fx.x, LAY_RANDOM, &r);
    fx.d = agg_make_desc(rule, N, DIM, rule == AGG_MEAN ? 0 : 1);
    fx.d.rng = rng_for_library(&bits_of_fx);
}

static const char *expect_fx(const char *what, agg_status want) {
    return expect(what, want, &fx.d, fx.x.row, fx.out, DIM, fx.scratch, sizeof fx.scratch);
}

#define EXPECT(WHAT, WANT)                                                                         \
    do {                                                                                           \
        const char *bad_ = expect_fx(WHAT, WANT);                                                  \
        if (bad_) FAILm(bad_);                                                                     \
    } while (0)

TEST null_pointers(void) {
    for (size_t i = 0; i < AGG_RULE_COUNT; i++) {
        const char *bad = NULL;
        fresh(rule_at(i));
        EXPECT("a good call", AGG_OK);
        bad = expect("desc NULL", AGG_ERR_ARG, NULL, fx.x.row, fx.out, DIM, fx.scratch,
                     sizeof fx.scratch);
        if (!bad)
            bad = expect("rows NULL", AGG_ERR_ARG, &fx.d, NULL, fx.out, DIM, fx.scratch,
                         sizeof fx.scratch);
        if (!bad)
            bad = expect("out NULL", AGG_ERR_ARG, &fx.d, fx.x.row, NULL, DIM, fx.scratch,
                         sizeof fx.scratch);
        if (bad) FAILm(bad);
        memset(fx.out, CANARY, sizeof fx.out);
        ASSERTm("scratch NULL", agg_aggregate(&fx.d, fx.x.row, fx.out, NULL, sizeof fx.scratch,
                                              NULL) >= AGG_ERR_ARG);
        ASSERTm("scratch NULL",
                agg_aggregate(&fx.d, fx.x.row, fx.out, NULL, 0, NULL) >= AGG_ERR_ARG);
    }
    ASSERT_EQ((size_t)0, agg_scratch_size(NULL));
    PASS();
}

TEST zero_and_huge_sizes(void) {
    static const size_t odd[] = {0,
                                 SIZE_MAX,
                                 SIZE_MAX / 2,
                                 SIZE_MAX / 4 + 1,
                                 SIZE_MAX / sizeof(agg_real),
                                 (size_t)1 << (sizeof(size_t) * 4)};
    for (size_t i = 0; i < AGG_RULE_COUNT; i++)
        for (int pre = 0; pre < AGG_PRE_COUNT; pre++)
            for (size_t a = 0; a < sizeof odd / sizeof *odd; a++)
                for (int which = 0; which < 3; which++) {
                    rng r = rng_make(1);
                    agg_status s;
                    fresh(rule_at(i));
                    fx.d.pre[0] = (agg_pre)pre;
                    fx.d.clip = 1;
                    fx.d.rng = rng_for_library(&r);
                    if (which == 0) fx.d.n = odd[a];
                    if (which == 1) fx.d.dim = odd[a];
                    if (which == 2) fx.d.f = odd[a];
                    if (which == 2 && odd[a] == 0) continue;
                    memset(fx.out, CANARY, sizeof fx.out);
                    s = agg_aggregate(&fx.d, fx.x.row, fx.out, fx.scratch, sizeof fx.scratch, NULL);
                    seen[s]++;
                    if (s < AGG_ERR_ARG)
                        FAILm(WHY("%s pre %d case %d value %zu: status %d",
                                  agg_rule_name(rule_at(i)), pre, which, odd[a], (int)s));
                    if (odd[a] == 0) ASSERT_EQ(AGG_ERR_ARG, s);
                    if (which == 2) ASSERT_EQ(AGG_ERR_BOUND, s);
                    for (size_t k = 0; k < sizeof fx.out; k++)
                        ASSERT(((unsigned char *)fx.out)[k] == CANARY);
                    const size_t size = agg_scratch_size(&fx.d);
                    /* never a small number by overflow */
                    ASSERT(size == 0 || size > sizeof fx.scratch);
                    if (size == 0)
                        ASSERT(s == AGG_ERR_ARG || s == AGG_ERR_BOUND || s == AGG_ERR_SIZE);
                    else
                        ASSERT(s == AGG_ERR_SCRATCH || s == AGG_ERR_BOUND);
                }
    PASS();
}

/* rows are counted in 31 bits: votes are no wider */
TEST as_many_rows_as_can_be_counted(void) {
    fresh(AGG_SIGN_VOTE);
    fx.d.dim = 1;
    fx.d.n = 0x80000000u;
    ASSERT_EQ((size_t)0, agg_scratch_size(&fx.d));
    PASS();
}

/* products that wrap around to something small */
TEST both_sizes_huge(void) {
    static const size_t sizes[] = {(size_t)1 << (sizeof(size_t) * 4),
                                   ((size_t)1 << (sizeof(size_t) * 4)) + 1, SIZE_MAX / 3, SIZE_MAX,
                                   (size_t)1 << 30};
    for (size_t i = 0; i < AGG_RULE_COUNT; i++)
        for (size_t a = 0; a < 5; a++)
            for (size_t b = 0; b < 4; b++) {
                agg_status s;
                fresh(rule_at(i));
                fx.d.n = sizes[a];
                fx.d.dim = sizes[b];
                s = agg_aggregate(&fx.d, fx.x.row, fx.out, fx.scratch, sizeof fx.scratch, NULL);
                seen[s]++;
                ASSERTm(agg_rule_name(rule_at(i)), s == AGG_ERR_SIZE || s == AGG_ERR_SCRATCH);
                ASSERT(agg_scratch_size(&fx.d) == 0 || agg_scratch_size(&fx.d) > sizeof fx.scratch);
            }
    ASSERTm("AGG_ERR_SIZE was never reached", seen[AGG_ERR_SIZE] > 0);
    PASS();
}

/* each piece of scratch is less than a quarter of all bytes, their sum is not */
TEST two_pieces_that_do_not_fit_together(void) {
    for (size_t i = 0; i < AGG_RULE_COUNT; i++) {
        fresh(rule_at(i));
        fx.d.dim = SIZE_MAX / 4 / sizeof(agg_real);
        ASSERT_EQ((size_t)0, agg_scratch_size(&fx.d));
        ASSERT_EQ(AGG_ERR_SIZE,
                  agg_aggregate(&fx.d, fx.x.row, fx.out, fx.scratch, sizeof fx.scratch, NULL));
    }
    PASS();
}

TEST scratch_one_byte_short(void) {
    for (size_t i = 0; i < AGG_RULE_COUNT; i++)
        for (int pre = 0; pre < AGG_PRE_COUNT; pre++) {
            rng r = rng_make(1);
            size_t size;
            const char *bad;
            fresh(rule_at(i));
            fx.d.pre[1] = (agg_pre)pre;
            fx.d.clip = 1;
            fx.d.rng = rng_for_library(&r);
            if (pre == AGG_PRE_BUCKETING) fx.d.f = 0;
            size = agg_scratch_size(&fx.d);
            ASSERT(size > 0 && size <= sizeof fx.scratch);
            bad = expect("one byte short", AGG_ERR_SCRATCH, &fx.d, fx.x.row, fx.out, DIM,
                         fx.scratch, size - 1);
            if (!bad)
                bad = expect("no scratch", AGG_ERR_SCRATCH, &fx.d, fx.x.row, fx.out, DIM,
                             fx.scratch, 0);
            if (!bad)
                bad = expect("just enough", AGG_OK, &fx.d, fx.x.row, fx.out, DIM, fx.scratch, size);
            if (bad) FAILm(bad);
        }
    PASS();
}

/* any alignment, canaries on both sides, the same bits */
TEST scratch_at_every_address(void) {
    for (size_t i = 0; i < AGG_RULE_COUNT; i++) {
        agg_real first[DIM];
        fresh(rule_at(i));
        const size_t size = agg_scratch_size(&fx.d);
        ASSERT(size > 0 && size + 200 <= sizeof fx.scratch);
        for (size_t shift = 0; shift < 65; shift++) {
            memset(fx.scratch, CANARY, sizeof fx.scratch);
            bits_of_fx = rng_make(1);
            ASSERT(
                wrote(agg_aggregate(&fx.d, fx.x.row, fx.out, fx.scratch + 64 + shift, size, NULL)));
            for (size_t k = 0; k < 64 + shift; k++) ASSERT(fx.scratch[k] == CANARY);
            for (size_t k = 64 + shift + size; k < size + 200; k++) ASSERT(fx.scratch[k] == CANARY);
            if (shift == 0) memcpy(first, fx.out, sizeof first);
            ASSERTm(agg_rule_name(rule_at(i)), same_bits(first, fx.out, DIM));
        }
    }
    PASS();
}

/* f at and beyond what each rule survives */
TEST bounds(void) {
    for (size_t i = 0; i < AGG_RULE_COUNT; i++)
        for (size_t n = 1; n <= 13; n++)
            for (size_t f = 0; f <= n + 1; f++) {
                const agg_rule rule = rule_at(i);
                rows x = rows_new(n, 2);
                rng r = rng_make(n);
                const agg_desc bare = agg_make_desc(rule, n, 2, f);
                agg_desc d = desc_with_rng(&bare, &r);
                agg_real out[2];
                const int fine = 2 * f < n && !(rule == AGG_BULYAN && n < 4 * f + 3);
                const char *bad;
                fill_rows(&x, LAY_RANDOM, &r);
                bad = expect(agg_rule_name(rule), fine ? AGG_OK : AGG_ERR_BOUND, &d, x.row, out, 2,
                             fx.scratch, sizeof fx.scratch);
                if (bad) {
                    snprintf(why() + strlen(why()), 60, " [n %zu f %zu]", n, f);
                    FAILm(bad);
                }
                ASSERT(fine == (agg_scratch_size(&d) > 0));
                if (rule == AGG_KRUM || rule == AGG_MULTI_KRUM || rule == AGG_BULYAN) {
                    const int classic = fine && n > 2 * f + 2;
                    d.classic_krum = 1;
                    bad = expect("classic", classic ? AGG_OK : AGG_ERR_BOUND, &d, x.row, out, 2,
                                 fx.scratch, sizeof fx.scratch);
                    if (bad) {
                        snprintf(why() + strlen(why()), 60, " [n %zu f %zu]", n, f);
                        FAILm(bad);
                    }
                }
                rows_free(&x);
            }
    PASS();
}

TEST too_many_bad_rows(void) {
    rng r = rng_make(9);
    for (size_t i = 0; i < AGG_RULE_COUNT; i++)
        for (int pre = 0; pre < AGG_PRE_COUNT; pre++)
            for (int l = 0; l < FORGERY_COUNT; l++) {
                rng bits = rng_make(1);
                if (!forgery_convicts((forgery)l)) continue;
                fresh(rule_at(i));
                fx.d.pre[0] = (agg_pre)pre;
                fx.d.clip = 1;
                fx.d.rng = rng_for_library(&bits);
                if (pre == AGG_PRE_BUCKETING && rule_at(i) == AGG_BULYAN) fx.d.f = 0;
                for (size_t k = 0; k < fx.d.f; k++) forge_row(&fx.x, 1 + k, (forgery)l, &r);
                EXPECT(forgery_name((forgery)l), AGG_OK);
                forge_row(&fx.x, 4, (forgery)l, &r);
                EXPECT(forgery_name((forgery)l), AGG_ERR_ROWS);
                for (size_t k = 0; k < N; k++) forge_row(&fx.x, k, (forgery)l, &r);
                EXPECT(forgery_name((forgery)l),
                       rule_at(i) == AGG_MONNA && fx.d.f == N ? AGG_ERR_PIVOT : AGG_ERR_ROWS);
            }
    PASS();
}

/* no pair of rows to betray it */
TEST one_bad_row_is_all_there_is(void) {
    rng r = rng_make(16);
    for (size_t i = 0; i < AGG_RULE_COUNT; i++)
        for (int l = 0; l < FORGERY_COUNT; l++) {
            if (!forgery_convicts((forgery)l) || rule_at(i) == AGG_BULYAN) continue;
            fresh(rule_at(i));
            fx.d.n = 1;
            fx.d.f = 0;
            forge_row(&fx.x, 0, (forgery)l, &r);
            EXPECT(forgery_name((forgery)l), AGG_ERR_ROWS);
        }
    PASS();
}

/* also when they were too many */
TEST the_report_tells_how_many_were_dropped(void) {
    agg_report rep = report_new(N);
    rng r = rng_make(17);
    fresh(AGG_CWTM);
    forge_row(&fx.x, 1, FORGERY_NULL, &r);
    forge_row(&fx.x, 2, FORGERY_NAN, &r);
    forge_row(&fx.x, 5, FORGERY_INF, &r);
    ASSERT_EQ(AGG_ERR_ROWS,
              agg_aggregate(&fx.d, fx.x.row, fx.out, fx.scratch, sizeof fx.scratch, &rep));
    ASSERT_EQ((size_t)3, rep.dropped);
    report_free(&rep);
    PASS();
}

TEST bad_pivot(void) {
    rng r = rng_make(10);
    for (int l = 0; l < FORGERY_COUNT; l++) {
        if (!forgery_convicts((forgery)l)) continue;
        fresh(AGG_MONNA);
        fx.d.pivot = 3;
        forge_row(&fx.x, 3, (forgery)l, &r);
        EXPECT(forgery_name((forgery)l), AGG_ERR_PIVOT);
    }
    for (int l = 0; l < FORGERY_COUNT; l++) { /* a trusted row of the host's */
        if (!forgery_convicts((forgery)l) || l == FORGERY_NULL) continue;
        fresh(AGG_FLTRUST);
        forge_row(&fx.x, 3, (forgery)l, &r);
        fx.d.trusted = fx.x.row[3];
        EXPECT(forgery_name((forgery)l), AGG_ERR_PIVOT);
        fx.d.trusted = NULL;
        fx.d.pivot = 3;
        EXPECT(forgery_name((forgery)l), AGG_ERR_PIVOT);
        fx.d.trusted = fx.x.row[1];
        EXPECT("the pivot is not read", AGG_OK);
    }
    fresh(AGG_MONNA);
    fx.d.trusted = fx.x.row[0]; /* is not read */
    fx.d.pivot = N;
    EXPECT("pivot out of range", AGG_ERR_ARG);
    fx.d.pivot = SIZE_MAX;
    EXPECT("pivot out of range", AGG_ERR_ARG);
    PASS();
}

TEST missing_random_bits(void) {
    for (size_t i = 0; i < AGG_RULE_COUNT; i++)
        for (int at = 0; at < 2; at++) {
            fresh(rule_at(i));
            const int rule_needs =
                rule_at(i) == AGG_DNC || rule_at(i) == AGG_SIGNGUARD || rule_at(i) == AGG_GAS;
            fx.d.f = 0;
            fx.d.rng.next = NULL;
            EXPECT("without rng", rule_needs ? AGG_ERR_RNG : AGG_OK);
            fx.d.pre[at] = AGG_PRE_BUCKETING;
            EXPECT("bucketing without rng", AGG_ERR_RNG);
        }
    PASS();
}

TEST bad_options(void) {
    const double bad_numbers[] = {(double)NAN, -1, (double)INFINITY, -(double)INFINITY};
    rng r = rng_make(11);
    fresh(AGG_MDA);
    fx.d.rule = (agg_rule)99;
    EXPECT("rule 99", AGG_ERR_ARG);
    fresh(AGG_MDA);
    fx.d.rule = AGG_RULE_COUNT;
    EXPECT("rule count", AGG_ERR_ARG);
    fresh(AGG_MDA);
    memset(&fx.d.rule, 0xFF, sizeof fx.d.rule);
    EXPECT("rule -1", AGG_ERR_ARG);
    fresh(AGG_CWTM);
    fx.d.pre[0] = (agg_pre)99;
    EXPECT("pre 99", AGG_ERR_ARG);
    fresh(AGG_CWTM);
    fx.d.pre[1] = AGG_PRE_COUNT;
    EXPECT("second pre out of range", AGG_ERR_ARG);
    fresh(AGG_CWTM);
    fx.d.pre[0] = AGG_PRE_CLIP;
    EXPECT("clip 0", AGG_ERR_ARG);
    for (size_t i = 0; i < 4; i++) {
        fresh(AGG_CWTM);
        fx.d.pre[0] = AGG_PRE_CLIP;
        fx.d.clip = bad_numbers[i];
        EXPECT("clip", AGG_ERR_ARG);
        fresh(AGG_CCLIP);
        fx.d.tau = bad_numbers[i];
        EXPECT("tau", AGG_ERR_ARG);
        fresh(AGG_GM);
        fx.d.gap = bad_numbers[i];
        EXPECT("gap", AGG_ERR_ARG);
        fresh(AGG_DNC);
        fx.d.share = bad_numbers[i];
        EXPECT("share", AGG_ERR_ARG);
        fresh(AGG_FEDPG);
        fx.d.sigma = bad_numbers[i];
        EXPECT("sigma", AGG_ERR_ARG);
        fresh(AGG_FEDPG);
        fx.d.delta = bad_numbers[i];
        EXPECT("delta", AGG_ERR_ARG);
    }
    fresh(AGG_DNC);
    fx.d.share = 1.5;
    EXPECT("a share of more than all", AGG_ERR_ARG);
    fresh(AGG_FEDPG);
    fx.d.delta = 1;
    EXPECT("a chance to err of 1", AGG_ERR_ARG);
    fresh(AGG_MULTI_KRUM);
    fx.d.q = N + 1;
    EXPECT("q over n", AGG_ERR_ARG);
    fresh(AGG_MULTI_KRUM);
    fx.d.q = SIZE_MAX;
    EXPECT("q huge", AGG_ERR_ARG);
    {
        agg_real start[DIM];
        fresh(AGG_CCLIP);
        fill_normal(start, DIM, &r, 0, 1);
        fx.d.start = start;
        EXPECT("a good start", AGG_OK);
        start[2] = (agg_real)NAN;
        EXPECT("a start that is not a number", AGG_ERR_ARG);
    }
    fresh(AGG_CWTM);
    fx.d.pre[0] = AGG_PRE_BUCKETING;
    fx.d.rng = rng_for_library(&r);
    fx.d.bucket = 4;
    EXPECT("buckets too large for f", AGG_ERR_BOUND);
    fx.d.bucket = SIZE_MAX;
    EXPECT("one bucket and f = 1", AGG_ERR_BOUND);
    fx.d.f = 0;
    EXPECT("one bucket and f = 0", AGG_OK);
    PASS();
}

TEST one_huge_bucket_is_the_mean(void) {
    rng r = rng_make(12);
    agg_real mean[DIM];
    fresh(AGG_MEAN);
    EXPECT("mean", AGG_OK);
    memcpy(mean, fx.out, sizeof mean);
    fx.d.rule = AGG_CWMED;
    fx.d.pre[0] = AGG_PRE_BUCKETING;
    fx.d.bucket = SIZE_MAX - 1;
    fx.d.rng = rng_for_library(&r);
    EXPECT("one bucket", AGG_OK);
    for (size_t k = 0; k < DIM; k++) ASSERT_IN_RANGE((double)mean[k], (double)fx.out[k], 8 * EPS);
    PASS();
}

/* a report full of rubbish does no harm */
TEST the_report_is_untouched_by_errors_or_sane(void) {
    for (size_t i = 0; i < AGG_RULE_COUNT; i++) {
        agg_report rep;
        double weight[N], suspicion[N];
        fresh(rule_at(i));
        memset(&rep, 0xFF, sizeof rep);
        rep.weight = weight;
        rep.suspicion = suspicion;
        ASSERT(wrote(agg_aggregate(&fx.d, fx.x.row, fx.out, fx.scratch, sizeof fx.scratch, &rep)));
        ASSERT_EQ((size_t)0, rep.dropped);
        ASSERT(rep.used >= 1 && rep.used <= N);
        ASSERT(rep.nodes < SIZE_MAX);
        ASSERT(rep.diameter >= 0 && rep.gap >= 0);
    }
    PASS();
}

/* exactly f bad rows of every content, with every rule and every pair of pre-aggregations: finite
   and
   within what honest rows say */
TEST every_rule_pre_aggregation_and_forgery(void) {
    rng r = rng_make(13);
    for (size_t i = 0; i < AGG_RULE_COUNT; i++)
        for (int p = 0; p < AGG_PRE_COUNT * AGG_PRE_COUNT; p++)
            for (int l = 0; l < FORGERY_COUNT; l++) {
                const agg_rule rule = rule_at(i);
                rows x;
                agg_real out[3];
                agg_desc d = agg_make_desc(rule, 13, 3, 1);
                agg_status s;
                d.pre[0] = (agg_pre)(p % AGG_PRE_COUNT);
                d.pre[1] = (agg_pre)(p / AGG_PRE_COUNT);
                d.clip = 10;
                d.rng = rng_for_library(&r);
                if (rule == AGG_MEAN && !forgery_convicts((forgery)l)) continue;
                if (rule == AGG_BULYAN && d.pre[0] == AGG_PRE_BUCKETING &&
                    d.pre[1] == AGG_PRE_BUCKETING)
                    continue;
                x = rows_new(13, 3);
                fill_rows(&x, LAY_RANDOM, &r);
                forge_row(&x, 1 + rng_below(&r, 12), (forgery)l, &r);
                s = run(&d, x.row, out, NULL);
                if (!wrote(s))
                    FAILm(WHY("%s pre %d %d %s: status %d", agg_rule_name(rule), (int)d.pre[0],
                              (int)d.pre[1], forgery_name((forgery)l), (int)s));
                /* those promise less */
                const int bounded = rule != AGG_CAF && rule != AGG_CCLIP && rule != AGG_MONNA &&
                                    rule != AGG_FLTRUST && rule != AGG_DNC;
                for (size_t k = 0; k < 3; k++)
                    if (!isfinite(out[k]) || (bounded && fabs((double)out[k]) > 100))
                        FAILm(WHY("%s pre %d %d %s: out %g", agg_rule_name(rule), (int)d.pre[0],
                                  (int)d.pre[1], forgery_name((forgery)l), (double)out[k]));
                rows_free(&x);
            }
    PASS();
}
#if HAVE_PAGES
/* each row ends exactly where a page begins that may not be touched; likewise each begins right
   after such a page */
TEST rows_at_the_edge_of_memory(void) {
    static const size_t dims[] = {1, 3, 15, 16, 17, 63, 64, 65, 255, 256, 257, 300};
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const int zero = open("/dev/zero", O_RDWR);
    unsigned char *map;
    rng r = rng_make(14);
    if (zero < 0) SKIPm("no /dev/zero");
    map = (unsigned char *)mmap(NULL, (2 * N + 5) * page, PROT_READ | PROT_WRITE, MAP_PRIVATE, zero,
                                0);
    close(zero);
    if (map == (unsigned char *)MAP_FAILED) SKIPm("no mmap");
    for (size_t i = 0; i <= N + 2; i++)
        if (mprotect(map + 2 * i * page, page, PROT_NONE)) SKIPm("no mprotect");
    for (size_t i = 0; i < AGG_RULE_COUNT; i++)
        for (size_t c = 0; c < sizeof dims / sizeof *dims; c++)
            for (int front = 0; front < 2; front++)
                for (int pre = 0; pre < AGG_PRE_COUNT; pre++) {
                    const agg_real *row[N];
                    const size_t bytes = dims[c] * sizeof(agg_real);
                    agg_desc d = agg_make_desc(
                        rule_at(i), N, dims[c],
                        rule_at(i) == AGG_MEAN || pre == AGG_PRE_BUCKETING ? 0 : (size_t)front);
                    agg_real *out =
                        (agg_real *)(void *)(map + (2 * N + 1) * page + (front ? 0 : page - bytes));
                    agg_report rep = report_new(N);
                    d.pre[0] = (agg_pre)pre;
                    d.clip = 1;
                    d.rng = rng_for_library(&r);
                    for (size_t j = 0; j < N; j++) {
                        agg_real *at = (agg_real *)(void *)(map + (2 * j + 1) * page +
                                                            (front ? 0 : page - bytes));
                        fill_normal(at, dims[c], &r, 0, 1);
                        row[j] = at;
                    }
                    ASSERT(wrote(run(&d, row, out, &rep)));
                    ASSERT(all_finite(out, dims[c]));
                    report_free(&rep);
                }
    munmap(map, (2 * N + 5) * page);
    PASS();
}
#endif
/* runs last; those of stages alone, AGG_MORE and on, are in test_agg_stages.c */
TEST every_status_was_reached(void) {
    agg_real out[2];
    rows x = rows_new(40, 2);
    rng r = rng_make(15);
    agg_desc d = agg_make_desc(AGG_SMEA, 40, 2, 15);
    fill_rows(&x, LAY_RANDOM, &r);
    d.budget = 1;
    seen[run(&d, x.row, out, NULL)]++;
    for (int s = 0; s < AGG_MORE; s++) ASSERTm(agg_status_text((agg_status)s), seen[s] > 0);
    rows_free(&x);
    PASS();
}

SUITE(hostile) {
    RUN_TEST(null_pointers);
    RUN_TEST(zero_and_huge_sizes);
    RUN_TEST(both_sizes_huge);
    RUN_TEST(as_many_rows_as_can_be_counted);
    RUN_TEST(two_pieces_that_do_not_fit_together);
    RUN_TEST(scratch_one_byte_short);
    RUN_TEST(scratch_at_every_address);
    RUN_TEST(bounds);
    RUN_TEST(too_many_bad_rows);
    RUN_TEST(one_bad_row_is_all_there_is);
    RUN_TEST(the_report_tells_how_many_were_dropped);
    RUN_TEST(bad_pivot);
    RUN_TEST(missing_random_bits);
    RUN_TEST(bad_options);
    RUN_TEST(one_huge_bucket_is_the_mean);
    RUN_TEST(the_report_is_untouched_by_errors_or_sane);
    RUN_TEST(every_rule_pre_aggregation_and_forgery);
#if HAVE_PAGES
    RUN_TEST(rows_at_the_edge_of_memory);
#endif
    RUN_TEST(every_status_was_reached);
    rows_free(&fx.x);
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv) {
    GREATEST_MAIN_BEGIN();
    RUN_SUITE(hostile);
    GREATEST_MAIN_END();
}
