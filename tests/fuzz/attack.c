/* agg_attack() of any kind with any rows, rule, options and memory. Promised: a status, and out
   untouched unless it is AGG_OK; nothing is written but out, scratch, memory and the outcome; the
   kinds from line search on make finite rows of finite ones; the bits depend on nothing but what is
   given. Bound: 560 calls of a rule of up to 11 rows. */
#include "implementation.h"
#include "aggregators.h"
#include <math.h>
#include "common.h"
#include "fuzz/fuzz.h"

typedef struct plan {
    agg_attack_desc a;
    agg_desc rule;
    table rows;
    size_t dim;
    agg_real *own, *last, *step;
    unsigned char *memory; /* as it was given */
} plan;

static plan feed_plan(feed *f, rng *random) {
    plan p;
    memset(&p, 0, sizeof p);
    p.a.kind = (agg_attack_kind)feed_enum(f, AGG_ATTACK_COUNT);
    p.rule = feed_rule(f, random);
    p.rule.budget = p.rule.budget ? p.rule.budget : 1000;
    p.dim = p.rule.dim % 12; /* so that 560 calls are cheap */
    if (feed_byte(f) < 250) p.rule.dim = p.dim;
    p.a.direction = (agg_attack_direction)feed_enum(f, AGG_DIRECTION_COUNT);
    p.a.strength = feed_flag(f) ? feed_double(f) : 0;
    p.a.by_distance = feed_flag(f);
    p.a.target = feed_flag(f) ? feed_size(f) : 0;
    if (feed_flag(f)) p.a.n = feed_size(f);
    if (feed_flag(f)) p.a.f = feed_size(f);
    p.rows = feed_table(f, feed_below(f, 12), p.dim ? p.dim : 1);
    if (!p.dim) return p;
    p.own = feed_row(f, p.dim, p.rows.n ? p.rows.row[0] : NULL);
    p.last = feed_row(f, p.dim, NULL);
    p.step = feed_row(f, p.dim, NULL);
    return p;
}

static void plan_free(plan *p) {
    table_free(&p->rows);
    free(p->own);
    free(p->last);
    free(p->step);
    free(p->memory);
}

/* with scratch and memory as long as asked for and not a byte more, full of anything */
static agg_status call(const plan *p, agg_real *out, unsigned char *memory, int fill) {
    agg_attack_desc a = p->a;
    agg_status s;
    const size_t size = agg_attack_scratch_size(&a, p->rows.n, p->dim);
    void *scratch = size < 1 << 24 ? need(malloc(size + !size)) : NULL;
    a.scratch = scratch;
    a.scratch_size = scratch ? size : 0;
    a.memory = memory;
    if (scratch) memset(scratch, fill, size);
    s = agg_attack(&a, p->rows.read, p->rows.n, p->dim, p->own, out);
    free(scratch);
    return s;
}

static int given_is_finite(const plan *p) {
    for (size_t i = 0; i < p->rows.n; i++)
        if (!p->rows.read[i] || !all_finite(p->rows.read[i], p->dim)) return 0;
    return !p->own || all_finite(p->own, p->dim);
}

static void check(plan *p, rng *random, int fill) {
    const rng first = *random;
    const size_t bytes = p->dim * sizeof(agg_real);
    agg_real *out = (agg_real *)need(malloc(bytes + 1)),
             *again = (agg_real *)need(malloc(bytes + 1));
    unsigned char *memory = (unsigned char *)need(malloc(p->a.memory_size + 1));
    agg_status s;
    memcpy(memory, p->memory, p->a.memory_size);
    memset(out, CANARY, bytes);
    memcpy(again, out, bytes);
    s = call(p, out, p->memory, fill);
    PROMISE((unsigned)s < AGG_STATUS_COUNT && s != AGG_INEXACT);
    if (s == AGG_OK) {
        *random = first;
        PROMISE(call(p, again, memory, ~fill & 255) == s);
        PROMISE(!memcmp(memory, p->memory, p->a.memory_size));
        PROMISE(p->a.kind <= AGG_ATTACK_NAN || !given_is_finite(p) || all_finite(out, p->dim));
    }
    PROMISE(!memcmp(out, again, bytes));
    free(out);
    free(again);
    free(memory);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    feed f = feed_make(data, size);
    rng random = rng_make(feed_byte(&f));
    agg_attack_outcome outcome;
    plan p = feed_plan(&f, &random);
    const int fill = feed_byte(&f);
    if (feed_byte(&f) < 250) p.a.rng = rng_for_library(&random);
    if (feed_byte(&f) < 192) p.a.rule = &p.rule;
    if (feed_flag(&f)) p.a.outcome = &outcome;
    p.a.last = p.last;
    p.a.step = p.step;
    p.a.memory_size = agg_attack_memory_size(&p.a, p.dim);
    p.memory = (unsigned char *)need(calloc(p.a.memory_size + 1, 1));
    for (size_t i = 0; i < p.a.memory_size; i++) p.memory[i] = feed_byte(&f);
    check(&p, &random, fill);
    plan_free(&p);
    return 0;
}
