/* Krum's scores and Bulyan's picks from a matrix of distances, against their definitions in long
   double: ties, several scales, entries that are roots. */
#define AGGREGATORS_IMPLEMENTATION
#include "aggregators.h"
#include "greatest.h"
#include "common.h"
#include "reference.h"

enum { MOST = 41 };

typedef enum table_kind {
    TABLE_RANDOM,
    TABLE_TIED,     /* few different distances */
    TABLE_ZERO,     /* most rows are the same */
    TABLE_CLUSTERS, /* three, far apart, and f copies of a row in one of them */
    TABLE_SCALES,   /* from 1e-60 to 1e60 */
    TABLE_SHUFFLED, /* every row has the same distances in another order */
    TABLE_COUNT
} table_kind;

static const char *const table_names[] = {"random",   "tied",   "zero",
                                          "clusters", "scales", "shuffled"};

/* squared distances, symmetric */
static double table_square(table_kind kind, size_t i, size_t j, size_t n, rng *r) {
    static const double shuffled[] = {0.1, 0.7, 1e-3, 0.3, 2.3, 0.9};
    const double z = rng_unit(r), far = i % 3 == j % 3 ? 1 : 1e30;
    switch (kind) {
    case TABLE_TIED: return (double)(1 + rng_below(r, 3));
    case TABLE_ZERO: return rng_below(r, 5) ? 0 : z;
    case TABLE_CLUSTERS: return i % 3 == 1 && j % 3 == 1 ? 0 : z * far;
    case TABLE_SCALES: return pow(10, 120 * z - 60);
    case TABLE_SHUFFLED: return shuffled[(j > i ? j - i : n + j - i) * (n - (j - i)) % 6];
    default: return z;
    }
}

/* as the matrix has them, roots if it is wide */
static double table_entry(table_kind kind, size_t i, size_t j, size_t n, int wide, rng *r) {
    if (i == j) return 0;
    if (wide && kind == TABLE_SCALES) return pow(10, 300 * rng_unit(r) - 150);
    return wide ? sqrt(sqrt(table_square(kind, i, j, n, r))) : table_square(kind, i, j, n, r);
}

typedef struct lab {
    agg_desc d;
    aggi_call c;
    void *scratch;
} lab;

static void lab_open(lab *l, table_kind kind, size_t n, size_t f, int wide, rng *r) {
    l->d = agg_make_desc(AGG_BULYAN, n, 1, f);
    l->scratch = need(malloc(agg_scratch_size(&l->d)));
    (void)aggi_begin(&l->c, &l->d, l->scratch, agg_scratch_size(&l->d));
    l->c.n = n;
    l->c.f = f;
    l->c.pairs.roots = wide;
    for (size_t i = 0; i < n; i++)
        for (size_t j = i; j < n; j++)
            l->c.pairs.entry[i * n + j] = l->c.pairs.entry[j * n + i] =
                table_entry(kind, i, j, n, wide, r);
}

static ref_num squared(const aggi_call *c, size_t i, size_t j) {
    const ref_num v = (ref_num)c->pairs.entry[i * c->n + j];
    return c->pairs.roots ? v * v * v * v : v;
}

static int ascending(const void *a, const void *b) {
    const ref_num x = *(const ref_num *)a, y = *(const ref_num *)b;
    return (x > y) - (x < y);
}

/* the sum of the least `count`, rows with gone[j] left out */
static ref_num score(const aggi_call *c, size_t i, size_t count, const int *gone) {
    ref_num v[MOST], sum = 0;
    size_t m = 0;
    for (size_t j = 0; j < c->n; j++)
        if (j != i && !gone[j]) v[m++] = squared(c, i, j);
    qsort(v, m, sizeof *v, ascending);
    for (size_t j = 0; j < count; j++) sum += v[j];
    return sum;
}

TEST scores(table_kind kind) {
    static const int nobody[MOST] = {0};
    rng r = rng_make(700 + (uint64_t)kind);
    for (size_t t = 0; t < rounds(200); t++) {
        const size_t n = 3 + t % (MOST - 2), f = rng_below(&r, (n - 3) / 4 + 1);
        const int wide = t % 4 == 0;
        lab l;
        lab_open(&l, kind, n, f, wide, &r);
        for (size_t i = 0, count = 0; i < n; i++, count = rng_below(&r, n)) {
            const ref_num want = score(&l.c, i, count, nobody);
            const double got = aggi_krum_score(&l.c, i, count);
            const ref_num power = (ref_num)got * (ref_num)got * (ref_num)got * (ref_num)got;
            if (ref_abs((wide ? power : (ref_num)got) - want) >
                want * (ref_num)(wide ? 8 : 1) * (ref_num)DBL_EPSILON)
                FAILm(WHY("n %zu count %zu wide %d: %.17g", n, count, wide, got));
            if (kind == TABLE_SHUFFLED && n == MOST && !wide)
                ASSERT(!(got < aggi_krum_score(&l.c, 0, count)));
        }
        free(l.scratch);
    }
    PASS();
}

/* Is it the row of least score, by the definition, and are all scores as they should be? Scores
   within rounding of each other are let pass, unless exact. */
static int is_pick(const aggi_call *c, size_t pick, size_t count, const int *gone, int exact) {
    const ref_num own = score(c, pick, count, gone);
    for (size_t i = 0; i < c->n; i++) {
        if (gone[i]) continue;
        const ref_num other = score(c, i, count, gone);
        ref_num got = count ? (ref_num)aggi_order_score(c, i) : 0;
        if (c->pairs.roots) got = got * got * got * got;
        if (ref_abs(got - other) > 8 * other * (ref_num)DBL_EPSILON) return 0;
        if (exact ? other < own || (i < pick && other <= own)
                  : other < own * (1 - 8 * (ref_num)DBL_EPSILON))
            return 0;
    }
    return 1;
}

TEST picks(table_kind kind) {
    rng r = rng_make(800 + (uint64_t)kind);
    for (size_t t = 0; t < rounds(80); t++) {
        const size_t n = 3 + t % (MOST - 2),
                     f = t % 2 ? (n - 3) / 4 : rng_below(&r, (n - 3) / 4 + 1);
        const int wide = t % 4 == 0, exact = !wide && kind != TABLE_SCALES;
        int gone[MOST] = {0};
        lab l;
        size_t count;
        lab_open(&l, kind, n, f, wide, &r);
        l.d.classic_krum = t % 3 == 0;
        count = aggi_neighbours(&l.c, n);
        memset(l.c.picked.taken, 0, n * sizeof *l.c.picked.taken);
        aggi_order_begin(&l.c, count);
        for (size_t p = 0; p < n - 2 * f; p++) {
            const size_t pick = aggi_bulyan_pick(&l.c, count);
            if (!is_pick(&l.c, pick, count, gone, exact))
                FAILm(WHY("n %zu f %zu wide %d: pick %zu is row %zu", n, f, wide, p, pick));
            gone[pick] = 1;
            aggi_bulyan_remove(&l.c, pick, count = aggi_neighbours(&l.c, n - p - 1));
        }
        free(l.scratch);
    }
    PASS();
}

SUITE(least_sums) {
    for (int kind = 0; kind < TABLE_COUNT; kind++) {
        greatest_set_test_suffix(table_names[kind]);
        RUN_TESTp(scores, (table_kind)kind);
        greatest_set_test_suffix(table_names[kind]);
        RUN_TESTp(picks, (table_kind)kind);
    }
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv) {
    GREATEST_MAIN_BEGIN();
    RUN_SUITE(least_sums);
    GREATEST_MAIN_END();
}
