/* Is a call in stages the call: the same bits, status and report, however the slices are spread over
   owners, in whatever order they come, in windows of any width, whatever the rows hold? Does it stay
   in its memory, which does not grow with dim, and make no more passes than it says? */
#include "implementation.h"
#include "aggregators.h"
#include "greatest.h"
#include "common.h"

#define CHUNK 2048 /* slices are made of these, */
#define GRAIN 512  /* windows of these */

/* how a call in stages is made */
typedef struct way {
    size_t owners, window;
    int backwards; /* parts in descending order */
    int surprise;  /* nobody says beforehand which rows are NULL */
    int silent;    /* no report */
} way;

/* what came of a call */
typedef struct result {
    agg_status status;
    agg_real *out;
    agg_report report;
    size_t passes;  /* over whole rows */
    size_t samples; /* numbers of a row looked at in the others */
} result;

/* one process: its state and its part of the result */
typedef struct owner {
    rng random;
    unsigned char *raw;
    size_t size;
    agg_stages *stages;
    agg_real *out;
    agg_report report;
    agg_status status;
} owner;

static result result_new(const agg_desc *d) {
    result r;
    memset(&r, 0, sizeof r);
    r.out = (agg_real *)need(calloc(d->dim, sizeof *r.out));
    r.report = report_new(d->n);
    return r;
}

static void result_free(result *r) {
    free(r->out);
    report_free(&r->report);
}

static size_t owner_of(const agg_desc *d, size_t at, size_t owners) {
    size_t s = 0;
    while (s + 1 < agg_slices(d->n, d->dim) && agg_slice_begin(d->n, d->dim, s + 1) <= at) s++;
    return s % owners;
}

static void owner_begin(owner *o, const agg_desc *desc, const rows *x, const way *w) {
    unsigned char *missing = (unsigned char *)need(calloc(x->n + 1, 1));
    const size_t shift = 1 + (desc->n + desc->dim) % 15;
    agg_desc d;
    memset(o, 0, sizeof *o);
    o->random = rng_make(1);
    d = desc_with_rng(desc, &o->random);
    o->size = agg_stages_size(&d, w->window);
    o->raw = (unsigned char *)need(malloc(o->size + shift + CANARY_LEN));
    memset(o->raw, CANARY, o->size + shift + CANARY_LEN);
    o->out = (agg_real *)need(malloc(d.dim * sizeof *o->out));
    memset(o->out, CANARY, d.dim * sizeof *o->out);
    o->report = report_new(d.n);
    for (size_t i = 0; i < d.n && !w->surprise; i++) missing[i] = !x->row[i];
    o->status = agg_stages_begin(&o->stages, &d, w->window, missing, w->silent ? NULL : &o->report,
                                 o->raw + shift, o->size);
    o->size += shift;
    free(missing);
}

static int owner_end(owner *o) {
    int whole = 1;
    for (size_t i = 0; i < CANARY_LEN; i++) whole &= o->raw[o->size + i] == CANARY;
    free(o->raw);
    free(o->out);
    report_free(&o->report);
    return whole;
}

/* all windows of a part */
static agg_status add_part(owner *o, const rows *x, size_t part, size_t window) {
    const agg_real **row = (const agg_real **)need(calloc(x->n + 1, sizeof *row));
    agg_status s = AGG_OK;
    size_t at, left, width;
    agg_stages_part(o->stages, part, &at, &left);
    for (; left && s == AGG_OK; at += width, left -= width) {
        width = left < window ? left : window / GRAIN * GRAIN;
        for (size_t i = 0; i < x->n; i++) {
            row[i] = x->row[i] ? x->row[i] + at : NULL;
            if (!row[i] || (i + window / GRAIN) % 2) continue; /* each row is once the caller's */
            memcpy(agg_stages_row(o->stages, i), row[i], width * sizeof *row[i]);
            row[i] = agg_stages_row(o->stages, i);
        }
        s = agg_stages_add(o->stages, part, at, width, row, o->out + at);
    }
    free(row);
    return s;
}

/* one owner adds the part, all others are given its sums */
static agg_status share_part(const agg_desc *d, owner *o, const way *w, const rows *x,
                             size_t part) {
    size_t at, width, mine;
    void *sums = need(malloc(agg_stages_sums_size(o->stages)));
    agg_status s;
    agg_stages_part(o->stages, part, &at, &width);
    mine = owner_of(d, at, w->owners);
    s = add_part(o + mine, x, part, w->window);
    agg_stages_get(o[mine].stages, part, sums);
    for (size_t i = 0; i < w->owners; i++)
        if (i != mine) agg_stages_put(o[i].stages, part, sums);
    free(sums);
    return s;
}

static agg_status make_pass(const agg_desc *d, owner *o, const way *w, const rows *x, result *r) {
    const size_t parts = agg_stages_parts(o->stages);
    size_t at, width, all = 0;
    agg_status s = AGG_OK;
    for (size_t p = 0; p < parts && s == AGG_OK; p++) {
        const size_t part = w->backwards ? parts - 1 - p : p;
        agg_stages_part(o->stages, part, &at, &width);
        all += width;
        s = share_part(d, o, w, x, part);
    }
    if (all >= d->dim && parts == agg_slices(d->n, d->dim))
        r->passes++;
    else
        r->samples += all;
    return s;
}

/* Every owner's decision is the same; the result is made of what each has. */
static result stage_by_stage(const agg_desc *d, const rows *x, const way *w) {
    owner *o = (owner *)need(calloc(w->owners, sizeof *o));
    result r = result_new(d);
    for (size_t i = 0; i < w->owners; i++) owner_begin(o + i, d, x, w);
    r.status = o->status;
    while (r.status == AGG_OK || r.status == AGG_MORE) {
        for (size_t i = 0; i < w->owners; i++) o[i].status = agg_stages_decide(o[i].stages);
        r.status = o->status;
        for (size_t i = 0; i < w->owners; i++)
            if (o[i].status != r.status) r.status = AGG_STATUS_COUNT;
        if (r.status != AGG_MORE) break;
        if (make_pass(d, o, w, x, &r) != AGG_OK) r.status = AGG_STATUS_COUNT;
    }
    for (size_t k = 0; k < d->dim && wrote(r.status); k++)
        r.out[k] = o[owner_of(d, k, w->owners)].out[k];
    memcpy(r.report.weight, o[w->owners - 1].report.weight, d->n * sizeof(double));
    memcpy(r.report.suspicion, o[w->owners - 1].report.suspicion, d->n * sizeof(double));
    r.report.dropped = o->report.dropped;
    r.report.used = o->report.used;
    r.report.nodes = o->report.nodes;
    r.report.diameter = o->report.diameter;
    r.report.gap = o->report.gap;
    r.report.late = o->report.late;
    for (size_t i = 0; i < w->owners; i++)
        if (!owner_end(o + i)) r.status = RUN_DAMAGE;
    free(o);
    return r;
}

static int same_doubles(const double *a, const double *b, size_t n) {
    return !memcmp(a, b, n * sizeof *a);
}

static const char *compare(const agg_desc *d, const result *a, const result *b) {
    if (a->status != b->status) return WHY("status %d, not %d", (int)b->status, (int)a->status);
    if (a->report.dropped != b->report.dropped) return "another number of rows dropped";
    if (!wrote(a->status)) return NULL;
    if (!same_bits(a->out, b->out, d->dim)) return "other bits";
    if (!same_doubles(a->report.weight, b->report.weight, d->n)) return "other weights";
    if (!same_doubles(a->report.suspicion, b->report.suspicion, d->n)) return "other suspicion";
    if (a->report.used != b->report.used || a->report.nodes != b->report.nodes ||
        a->report.late != b->report.late)
        return "other counts";
    return same_doubles(&a->report.diameter, &b->report.diameter, 1) &&
                   same_doubles(&a->report.gap, &b->report.gap, 1)
               ? NULL
               : "another diameter or gap";
}

static int is_staged(agg_rule rule) {
    return rule != AGG_DNC && rule != AGG_SIGNGUARD && rule != AGG_GAS;
}

/* the call and the call in stages */
static const char *try_way(const agg_desc *d, const rows *x, const way *w) {
    result whole = result_new(d), staged;
    const char *bad;
    whole.status = run(d, x->row, whole.out, &whole.report);
    staged = stage_by_stage(d, x, w);
    bad = compare(d, &whole, &staged);
    result_free(&whole);
    result_free(&staged);
    if (!bad) return NULL;
    return WHY("%s, pre %d %d, n %u, dim %u, %u owners, window %u: %s", agg_rule_name(d->rule),
               (int)d->pre[0], (int)d->pre[1], (unsigned)d->n, (unsigned)d->dim,
               (unsigned)w->owners, (unsigned)w->window, bad == why() ? "see above" : bad);
}

static agg_desc desc_of(agg_rule rule, size_t n, size_t dim) {
    agg_desc d = agg_make_desc(rule, n, dim, agg_max_f(rule, n) / 2);
    d.pivot = n > 1; /* its window is the caller's, not ours: see add_part() */
    d.clip = 3;
    if (rule == AGG_MEAN && n > 4) d.f = 2; /* it survives none, but rows that are dropped */
    d.budget = 1000000;
    return d;
}

static const size_t owners_tried[] = {1, 2, 3, 4, 7};
static const size_t shapes[][2] = {{1, 1},      {2, 3},   {7, 100}, {9, 9000},  {12, 4096},
                                   {15, 20000}, {16, 63}, {17, 64}, {18, 5000}, {19, 33001}};

static way way_number(size_t k) {
    static const size_t windows[] = {GRAIN, CHUNK, 3 * CHUNK + 5, (size_t)1 << 20};
    way w;
    w.owners = owners_tried[k % 5];
    w.window = windows[(k + k / 4) % 4];
    w.backwards = k % 2;
    w.surprise = k % 4 == 3;
    w.silent = 0;
    return w;
}

/* One case in seven, another for each rule: 7 has no factor in common with the counts of
   way_number(), so that all of these come. All with TEST_WHOLE, unless TEST_QUICK. */
static int left_out(agg_rule rule, size_t k) {
    return (getenv("TEST_QUICK") || !is_whole()) && (k + 3 * (size_t)rule) % 7;
}

TEST every_layout(void *arg) {
    const agg_rule rule = *(const agg_rule *)arg;
    rng r = rng_make(3);
    size_t k = 0;
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        rows x = rows_new(shapes[s][0], shapes[s][1]);
        const agg_desc d = desc_of(rule, x.n, x.dim);
        for (int l = 0; l < LAYOUT_COUNT; l++, k++) {
            const way w = way_number(k);
            const char *bad;
            if (left_out(rule, k) || (x.dim > 8192 && l % 3)) continue;
            fill_rows(&x, (layout)l, &r);
            bad = agg_scratch_size(&d) ? try_way(&d, &x, &w) : NULL;
            if (bad) FAILm(bad);
        }
        rows_free(&x);
    }
    PASS();
}

/* NULL, NaN and Inf in one slice only, giants, denormals, copies */
TEST every_forgery(void *arg) {
    const agg_rule rule = *(const agg_rule *)arg;
    static const size_t shape[][2] = {{11, 9000}, {23, 10001}};
    rng r = rng_make(4);
    size_t k = 0;
    for (size_t s = 0; s < 2; s++) {
        for (int l = 0; l < FORGERY_COUNT; l++, k++) {
            const agg_desc d = desc_of(rule, shape[s][0], shape[s][1]);
            way w = way_number(k);
            const char *bad;
            rows x;
            if (left_out(rule, k)) continue;
            x = rows_new(d.n, d.dim);
            w.surprise = s == 1;
            fill_rows(&x, LAY_RANDOM, &r);
            for (size_t i = 0; i < d.f + (k % 5 == 4); i++)
                forge_row(&x, 2 * i + 1, (forgery)l, &r);
            bad = try_way(&d, &x, &w);
            rows_free(&x);
            if (bad) FAILm(bad);
        }
    }
    PASS();
}

TEST every_pre_aggregation(void *arg) {
    const agg_rule rule = *(const agg_rule *)arg;
    rng r = rng_make(5);
    size_t k = 0;
    for (int a = 0; a < AGG_PRE_COUNT; a++) {
        for (int b = 0; b < AGG_PRE_COUNT; b++, k++) {
            static const layout layouts[] = {LAY_RANDOM,    LAY_GIANTS,     LAY_DENORMAL,
                                             LAY_CLUSTERED, LAY_DUPLICATED, LAY_MIXED};
            agg_desc d = desc_of(rule, k % 2 ? 13 : 22, k % 3 ? 4500 : 70);
            const way w = way_number(k);
            int fitting;
            const char *bad;
            rows x;
            if (left_out(rule, k)) continue;
            x = rows_new(d.n, d.dim);
            d.f = rule == AGG_BULYAN ? 0 : 2;
            d.pre[0] = (agg_pre)a;
            d.pre[1] = (agg_pre)b;
            d.rng = rng_constant_for_library(); /* only to ask whether it fits */
            fitting = agg_scratch_size(&d) > 0;
            d.rng.next = NULL;
            fill_rows(&x, layouts[k % 6], &r);
            if (k % 4 == 1) forge_row(&x, 3, FORGERY_ONE_NAN, &r);
            bad = fitting ? try_way(&d, &x, &w) : NULL;
            rows_free(&x);
            if (bad) FAILm(bad);
        }
    }
    PASS();
}

/* owners and windows, all of them, on one set of rows */
TEST every_owner(void *arg) {
    const agg_rule rule = *(const agg_rule *)arg;
    rng r = rng_make(6);
    rows x = rows_new(17, 33000);
    const agg_desc d = desc_of(rule, x.n, x.dim);
    const char *bad = NULL;
    fill_rows(&x, LAY_RANDOM, &r);
    forge_row(&x, 4, FORGERY_1E38, &r);
    for (size_t k = 0; k < 20 && !bad; k++) {
        const way w = way_number(k);
        bad = left_out(rule, k) ? NULL : try_way(&d, &x, &w);
    }
    rows_free(&x);
    if (bad) FAILm(bad);
    PASS();
}

/* options that point to rows or flags of the host's, and those that change the course */
TEST every_option(void) {
    rng r = rng_make(7);
    rows x = rows_new(14, 7000);
    unsigned char late[14] = {0};
    agg_real *own = (agg_real *)need(malloc(7000 * sizeof *own));
    const char *bad = NULL;
    fill_rows(&x, LAY_RANDOM, &r);
    fill_normal(own, 7000, &r, 0, 1);
    late[5] = late[6] = 1;
    for (size_t k = 0; k < 36 && !bad; k++) {
        static const agg_rule rules[] = {AGG_CCLIP, AGG_FLTRUST,    AGG_MONNA,
                                         AGG_GM,    AGG_MULTI_KRUM, AGG_FEDPG};
        agg_desc d = desc_of(rules[k % 6], 14, 7000);
        const way w = way_number(k);
        if (k / 6 % 2) d.late = late;
        if (k / 12 % 2) d.start = d.trusted = own;
        if (k / 12 == 2) d.iterations = 1;
        if (k / 12 == 2) d.tau = 0.5;
        d.gap = k / 12 == 2 ? 1e-13 : 0;
        d.q = k / 18;
        d.pivot = (k + k / 6) % 14; /* odd ones too: their windows are not in our memory */
        d.sigma = k < 18 ? 0 : 0.01;
        bad = try_way(&d, &x, &w);
    }
    for (size_t i = 0; i < 14; i++) /* nobody agrees with the trusted row */
        for (size_t j = 0; j < 7000; j++) rows_at(&x, i)[j] = -own[j];
    if (!bad) {
        agg_desc d = desc_of(AGG_FLTRUST, 14, 7000);
        const way w = way_number(2);
        d.trusted = own;
        bad = try_way(&d, &x, &w);
    }
    free(own);
    rows_free(&x);
    if (bad) FAILm(bad);
    PASS();
}

/* a median that is hard to prove: many passes, distances in double, a retreat */
TEST hard_medians(void) {
    rng r = rng_make(8);
    const char *bad = NULL;
    for (size_t k = 0; k < rounds(60) && !bad; k++) {
        rows x = rows_new(5 + k % 9, 2 + k % 5 * 700);
        agg_desc d = agg_make_desc(AGG_GM, x.n, x.dim, agg_max_f(AGG_GM, x.n));
        const way w = way_number(k);
        d.gap = 1e-14;
        for (size_t i = 0; i < x.n; i++)
            fill_normal(rows_at(&x, i), x.dim, &r, k % 3 ? 0 : 1e4, pow(10, 12 * rng_unit(&r) - 6));
        bad = try_way(&d, &x, &w);
        rows_free(&x);
    }
    for (size_t k = 0; k < rounds(1200) && !bad; k++) { /* a gap that nobody can prove */
        const size_t n = 3 + rng_below(&r, 7);
        rows x = rows_new(n, 1 + k % 6);
        agg_desc d = agg_make_desc(AGG_GM, n, x.dim, rng_below(&r, (n + 1) / 2));
        const way w = way_number(k);
        d.gap = 1e-300;
        fill_rows(&x, (layout)rng_below(&r, LAYOUT_COUNT), &r);
        if (k % 3) d.f = (n - 1) / 2; /* any bits: one in a hundred retreats */
        for (size_t i = 0; i < n && k % 3; i++) forge_row(&x, i, FORGERY_BITS, &r);
        bad = try_way(&d, &x, &w);
        rows_free(&x);
    }
    if (bad) FAILm(bad);
    PASS();
}

/* more than 256 rows have four slices */
TEST many_rows(void) {
    static const agg_rule rules[] = {AGG_MEAN, AGG_CWTM, AGG_KRUM, AGG_CGE};
    rng r = rng_make(9);
    rows x = rows_new(300, 8200);
    const char *bad = NULL;
    fill_rows(&x, LAY_RANDOM, &r);
    for (size_t k = 0; k < 4 && !bad; k++) {
        const agg_desc d = desc_of(rules[k], x.n, x.dim);
        const way w = way_number(k + 1);
        bad = try_way(&d, &x, &w);
    }
    rows_free(&x);
    if (bad) FAILm(bad);
    PASS();
}

/* STAGES says how many passes there are, for harmless rows */
TEST passes_are_few(void) {
    rng r = rng_make(10);
    rows x = rows_new(20, 5000);
    const char *bad = NULL;
    fill_rows(&x, LAY_RANDOM, &r);
    for (size_t k = 0; k < AGG_RULE_COUNT && !bad; k++) {
        static const size_t most[AGG_RULE_COUNT] = {2, 1, 1, 1, 2, 2, 2, 1, 2, 5, 2,
                                                    2, 2, 2, 3, 0, 4, 0, 0, 1, 1, 2};
        const agg_desc d = desc_of(rule_at(k), x.n, x.dim);
        way w = way_number(0);
        result got;
        if (!is_staged(d.rule)) continue;
        w.silent = 1;
        got = stage_by_stage(&d, &x, &w);
        if (got.passes != most[k])
            bad = WHY("%s: %u passes", agg_rule_name(d.rule), (unsigned)got.passes);
        if (got.samples > 1024) bad = WHY("%s: a large sample", agg_rule_name(d.rule));
        result_free(&got);
    }
    rows_free(&x);
    if (bad) FAILm(bad);
    PASS();
}

/* n x window numbers, not n x dim: the memory does not grow with the rows */
TEST memory_is_that_of_a_window(void) {
    for (size_t k = 0; k < AGG_RULE_COUNT; k++) {
        agg_desc small = desc_of(rule_at(k), 100, 100000), large = small;
        size_t window = 8 * CHUNK, size, one;
        large.dim = 1000000000;
        small.pre[0] = large.pre[0] = AGG_PRE_CLIP;
        small.rng = large.rng = rng_constant_for_library();
        if (!is_staged(small.rule)) {
            ASSERT_EQ(0u, agg_stages_size(&small, window));
            continue;
        }
        size = agg_stages_size(&large, window);
        one = agg_stages_size(&large, CHUNK);
        ASSERT(size > 0);
        ASSERT_EQ(agg_stages_size(&small, window), size);
        /* the rows, and as many that clipping makes */
        ASSERT(size - one >= 2 * 100 * 7 * CHUNK * sizeof(agg_real));
        ASSERT(size - one <= 210 * 7 * CHUNK * sizeof(agg_real));
    }
    PASS();
}

TEST misuse(void) {
    static const agg_real number[10] = {0};
    const agg_real *row[4] = {number, number, number, number};
    rng r = rng_make(11);
    agg_desc d = agg_make_desc(AGG_CWTM, 4, 10, 1);
    agg_real out[10], bad_row[10];
    unsigned char late[4] = {1, 1, 0, 0};
    agg_stages *st = NULL;
    static char memory[65536], untouched[65536];
    size_t at, width, used, past; /* past: a part whose place would be behind the memory */
    const size_t size = agg_stages_size(&d, 10);
    ASSERT(size > 0 && size <= sizeof memory);
    ASSERT_EQ(0u, agg_stages_size(NULL, 10));
    ASSERT_EQ(0u, agg_stages_size(&d, 9));
    ASSERT_EQ(AGG_ERR_ARG, agg_stages_begin(&st, NULL, 10, NULL, NULL, memory, size));
    ASSERT_EQ(AGG_ERR_ARG, agg_stages_begin(&st, &d, 9, NULL, NULL, memory, size));
    ASSERT_EQ(AGG_ERR_ARG, agg_stages_begin(NULL, &d, 10, NULL, NULL, memory, size));
    ASSERT_EQ(AGG_ERR_ARG, agg_stages_begin(&st, &d, 10, NULL, NULL, NULL, size));
    ASSERT_EQ(AGG_ERR_SCRATCH, agg_stages_begin(&st, &d, 10, NULL, NULL, memory, size - 1));
    d.late = late;
    ASSERT_EQ(AGG_ERR_BOUND, agg_stages_begin(&st, &d, 10, NULL, NULL, memory, size));
    d.late = NULL;
    d.rule = AGG_GAS;
    d.rng = rng_for_library(&r);
    ASSERT_EQ(AGG_ERR_STAGES, agg_stages_begin(&st, &d, 10, NULL, NULL, memory, size));
    d.rule = AGG_CWTM;
    d.dim = (size_t)-1 / 2;
    d.pre[0] = AGG_PRE_NNM;
    ASSERT_EQ(AGG_ERR_SIZE, agg_stages_begin(&st, &d, d.dim, NULL, NULL, memory, size));
    d.pre[0] = AGG_PRE_NONE;
    d.dim = 10;
    d.rule = AGG_CCLIP;
    d.iterations = (size_t)-1;
    ASSERT_EQ(AGG_ERR_SIZE, agg_stages_begin(&st, &d, 10, NULL, NULL, memory, sizeof memory));
    d.iterations = 0;
    memcpy(bad_row, number, sizeof bad_row);
    bad_row[9] = (agg_real)NAN;
    d.start = d.trusted = bad_row;
    ASSERT_EQ(AGG_ERR_ARG, agg_stages_begin(&st, &d, 10, NULL, NULL, memory, sizeof memory));
    d.rule = AGG_FLTRUST;
    ASSERT_EQ(AGG_ERR_PIVOT, agg_stages_begin(&st, &d, 10, NULL, NULL, memory, sizeof memory));
    d.rule = AGG_CWTM;
    ASSERT(!st);
    used = agg_stages_size(&d, 10);
    past = used / sizeof(size_t);
    ASSERT(2 * used < sizeof memory);
    memset(memory, 7, sizeof memory);
    memset(untouched, 7, sizeof untouched);
    ASSERT_EQ(AGG_OK, agg_stages_begin(&st, &d, 10, NULL, NULL, memory, used));
    ASSERT_EQ(0u, agg_stages_parts(st));
    ASSERT_EQ(0u, agg_stages_sums_size(st));
    ASSERT_EQ(AGG_ERR_ARG, agg_stages_add(st, 0, 0, 10, row, out));
    for (size_t i = 0; i < 10; i++) bad_row[i] = out[i] = 7;
    agg_stages_get(st, 0, bad_row); /* of a pass that is not there: nothing happens */
    agg_stages_put(st, past, bad_row);
    ASSERT_MEM_EQ(out, bad_row, sizeof out);
    ASSERT_MEM_EQ(untouched, memory + used, sizeof memory - used);
    ASSERT_EQ(AGG_MORE, agg_stages_decide(st));
    agg_stages_get(st, past, bad_row); /* nor of a part that came over a wire, wrong */
    agg_stages_put(st, past, bad_row);
    ASSERT_MEM_EQ(out, bad_row, sizeof out);
    ASSERT_MEM_EQ(untouched, memory + used, sizeof memory - used);
    ASSERT_EQ(AGG_ERR_ARG, agg_stages_decide(st));
    ASSERT_EQ(1u, agg_stages_parts(st));
    agg_stages_part(st, 0, &at, &width);
    ASSERT(at == 0 && width == 10);
    ASSERT_EQ(AGG_ERR_ARG, agg_stages_add(st, 0, 0, 10, NULL, out));
    ASSERT_EQ(AGG_ERR_ARG, agg_stages_add(st, 0, 0, 10, row, NULL));
    ASSERT_EQ(AGG_ERR_ARG, agg_stages_add(st, 1, 0, 10, row, out));
    ASSERT_EQ(AGG_ERR_ARG, agg_stages_add(st, 0, 1, 9, row, out));
    ASSERT_EQ(AGG_ERR_ARG, agg_stages_add(st, 0, 0, 0, row, out));
    ASSERT_EQ(AGG_ERR_ARG, agg_stages_add(st, 0, 0, 9, row, out));
    ASSERT_EQ(AGG_ERR_ARG, agg_stages_add(st, 0, 0, 11, row, out));
    ASSERT_EQ(AGG_OK, agg_stages_add(st, 0, 0, 10, row, out));
    ASSERT_EQ(AGG_ERR_ARG, agg_stages_add(st, 0, 10, 1, row, out));
    ASSERT_EQ(AGG_OK, agg_stages_decide(st));
    ASSERT_EQ(AGG_OK, agg_stages_decide(st));
    ASSERT_EQ(0u, agg_stages_parts(st));
    ASSERT(same_numbers(out, number, 10));
    PASS();
}

/* Rows that were scanned are finite: sums that say otherwise once more end the call. */
TEST sums_that_no_rows_have(void) {
    agg_desc d = agg_make_desc(AGG_MEAN, 3, 10, 0);
    static char memory[65536];
    const double fine[64] = {0}, not_finite[64] = {-1};
    agg_stages *st = NULL;
    ASSERT(agg_stages_size(&d, 10) <= sizeof memory);
    ASSERT_EQ(AGG_OK, agg_stages_begin(&st, &d, 10, NULL, NULL, memory, sizeof memory));
    ASSERT_EQ(AGG_MORE, agg_stages_decide(st));
    ASSERT(agg_stages_sums_size(st) <= sizeof fine);
    agg_stages_put(st, 0, not_finite);
    ASSERT_EQ(AGG_MORE, agg_stages_decide(st)); /* the scan */
    ASSERT(agg_stages_sums_size(st) <= sizeof fine);
    agg_stages_put(st, 0, fine);
    ASSERT_EQ(AGG_MORE, agg_stages_decide(st));
    agg_stages_put(st, 0, not_finite);
    ASSERT_EQ(AGG_ERR_ARG, agg_stages_decide(st));
    ASSERT_EQ(AGG_ERR_ARG, agg_stages_decide(st));
    ASSERT_EQ(0u, agg_stages_parts(st));
    PASS();
}

/* a window wider than it was said is refused, whatever is left of the part */
TEST windows_stay_in_their_memory(void) {
    agg_desc d = agg_make_desc(AGG_MEAN, 2, 32 * CHUNK, 0); /* parts of two windows */
    agg_real *number = (agg_real *)need(calloc(4 * CHUNK, sizeof *number)), *out;
    const agg_real *row[2];
    const size_t size = agg_stages_size(&d, CHUNK);
    void *memory = need(malloc(size));
    agg_stages *st = NULL;
    size_t at, width;
    out = (agg_real *)need(calloc(4 * CHUNK, sizeof *out));
    row[0] = row[1] = number;
    ASSERT_EQ(AGG_OK, agg_stages_begin(&st, &d, CHUNK, NULL, NULL, memory, size));
    ASSERT_EQ(AGG_MORE, agg_stages_decide(st));
    agg_stages_part(st, 0, &at, &width);
    ASSERT(at == 0 && width == 2 * CHUNK);
    ASSERT_EQ(AGG_ERR_ARG, agg_stages_add(st, 0, 0, 2 * CHUNK, row, out));
    ASSERT_EQ(AGG_OK, agg_stages_add(st, 0, 0, CHUNK, row, out));
    ASSERT_EQ(AGG_OK, agg_stages_add(st, 0, CHUNK, CHUNK, row, out));
    ASSERT_EQ(AGG_ERR_ARG, agg_stages_add(st, 0, 2 * CHUNK, CHUNK, row, out)); /* the next part's */
    free(memory);
    free(number);
    free(out);
    PASS();
}

TEST slices_cover_the_row(void) {
    static const size_t n[] = {1, 16, 256, 257, 1000},
                        dim[] = {1, 2047, 2048, 5000, 40000, 1000000};
    for (size_t i = 0; i < 5; i++) {
        for (size_t j = 0; j < 6; j++) {
            const size_t slices = agg_slices(n[i], dim[j]);
            ASSERT(slices >= 1 && slices <= 16);
            ASSERT_EQ(0u, agg_slice_begin(n[i], dim[j], 0));
            ASSERT_EQ(dim[j], agg_slice_begin(n[i], dim[j], slices));
            ASSERT_EQ(dim[j], agg_slice_begin(n[i], dim[j], slices + 5));
            for (size_t s = 0; s < slices; s++)
                ASSERT(agg_slice_begin(n[i], dim[j], s) < agg_slice_begin(n[i], dim[j], s + 1));
        }
    }
    PASS();
}

SUITE(same_as_the_call) {
    for (size_t k = 0; k < AGG_RULE_COUNT; k++) {
        agg_rule rule = rule_at(k);
        if (!is_staged(rule)) continue;
        greatest_set_test_suffix(agg_rule_name(rule));
        RUN_TEST1(every_layout, &rule);
        greatest_set_test_suffix(agg_rule_name(rule));
        RUN_TEST1(every_forgery, &rule);
        greatest_set_test_suffix(agg_rule_name(rule));
        RUN_TEST1(every_pre_aggregation, &rule);
        greatest_set_test_suffix(agg_rule_name(rule));
        RUN_TEST1(every_owner, &rule);
    }
    RUN_TEST(every_option);
    RUN_TEST(hard_medians);
    RUN_TEST(many_rows);
}

SUITE(limits) {
    RUN_TEST(passes_are_few);
    RUN_TEST(memory_is_that_of_a_window);
    RUN_TEST(misuse);
    RUN_TEST(sums_that_no_rows_have);
    RUN_TEST(windows_stay_in_their_memory);
    RUN_TEST(slices_cover_the_row);
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv) {
    GREATEST_MAIN_BEGIN();
    RUN_SUITE(same_as_the_call);
    RUN_SUITE(limits);
    GREATEST_MAIN_END();
}
