/* Shared by the tests of aggregators.h: random numbers, makers of rows, one guarded call of
   agg_aggregate(). Include aggregators.h first. Everything is deterministic: each test seeds its
   own generator. */
#ifndef TESTS_COMMON_H
#define TESTS_COMMON_H
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef AGG_DOUBLE
#define REAL_EPS  DBL_EPSILON
#define REAL_MAX  DBL_MAX
#define REAL_MIN  DBL_MIN
#define REAL_TINY 4.9406564584124654e-324 /* the least denormal */
#else
#define REAL_EPS  FLT_EPSILON
#define REAL_MAX  FLT_MAX
#define REAL_MIN  FLT_MIN
#define REAL_TINY 1.40129846e-45f
#endif
#define EPS ((double)REAL_EPS)

/* ---- random numbers: splitmix64 ---- */
typedef struct rng {
    uint64_t state;
} rng;

static inline rng rng_make(uint64_t seed) {
    rng r;
    r.state = seed;
    return r;
}

static inline uint64_t rng_next(rng *r) {
    uint64_t z = r->state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

static inline uint64_t rng_callback(void *self) { return rng_next((rng *)self); }

static inline size_t rng_below(rng *r, size_t n) { return (size_t)(rng_next(r) % (uint64_t)n); }

static inline double rng_unit(rng *r) { return (double)(rng_next(r) >> 11) * 0x1p-53; }

static inline double rng_normal(rng *r) {
    double u = 1 - rng_unit(r), v = rng_unit(r);
    return sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
}

static inline void rng_shuffle(rng *r, size_t *x, size_t n) {
    for (size_t i = n; i-- > 1;) {
        const size_t j = rng_below(r, i + 1), swap = x[i];
        x[i] = x[j];
        x[j] = swap;
    }
}

/* as if so many normals had been drawn */
static inline void rng_skip_normals(rng *r, size_t n) {
    r->state += 2 * (uint64_t)n * UINT64_C(0x9E3779B97F4A7C15);
}

static inline agg_rng rng_for_library(rng *r) {
    agg_rng a;
    a.next = rng_callback;
    a.self = r;
    return a;
}

/* always the same number: what draws from it does not depend on what was drawn before */
static inline uint64_t rng_constant(void *self) {
    (void)self;
    return UINT64_C(0x9E3779B97F4A7C15);
}

static inline agg_rng rng_constant_for_library(void) {
    agg_rng a;
    a.next = rng_constant;
    a.self = NULL;
    return a;
}

/* d, with r for random numbers if it has none */
static inline agg_desc desc_with_rng(const agg_desc *d, rng *r) {
    agg_desc given = *d;
    if (!given.rng.next) given.rng = rng_for_library(r);
    return given;
}

/* ---- n rows of dim numbers ---- */
typedef struct rows {
    size_t n, dim;
    agg_real *data;       /* n x dim */
    const agg_real **row; /* n pointers into data, any may be set to NULL */
} rows;

static inline void *need(void *p) {
    if (!p) {
        fprintf(stderr, "out of memory\n");
        exit(2);
    }
    return p;
}

static inline agg_real *rows_at(const rows *r, size_t i) { return r->data + i * r->dim; }

static inline rows rows_new(size_t n, size_t dim) {
    rows r;
    r.n = n;
    r.dim = dim;
    r.data = (agg_real *)need(calloc(n * dim + 1, sizeof(agg_real)));
    r.row = (const agg_real **)need(calloc(n + 1, sizeof *r.row));
    for (size_t i = 0; i < n; i++) r.row[i] = rows_at(&r, i);
    return r;
}

static inline void rows_free(rows *r) {
    free(r->data);
    free(r->row);
    r->data = NULL;
    r->row = NULL;
}

/* clang-format off */

/*  X(id, name): ways to lay out rows. None of them makes a row that is NULL or not finite. */
#define LAYOUT_LIST(X)                                                                        \
    X(LAY_RANDOM,     "random")      /* iid normal                                         */ \
    X(LAY_TIED,       "tied")        /* integers -2..2: exact ties everywhere              */ \
    X(LAY_COLLINEAR,  "collinear")   /* integer multiples of one integer direction         */ \
    X(LAY_DUPLICATED, "duplicated")  /* copies of two or three rows                        */ \
    X(LAY_CLUSTERED,  "clustered")   /* two tight clusters, and noise                      */ \
    X(LAY_OFFSET,     "offset")      /* 100 + 0.01 normal: cancellation                    */ \
    X(LAY_MIXED,      "mixed")       /* every row of its own size, 1e-12 .. 1e12           */ \
    X(LAY_GIANTS,     "giants")      /* under half of the rows at the end of the range     */ \
    X(LAY_DENORMAL,   "denormal")    /* numbers below the least normal one                 */ \
    X(LAY_ZEROS,      "zeros")       /* nothing but zeros, of both signs                   */
/* clang-format on */
#define LAYOUT_X(id, name) id,
typedef enum layout { LAYOUT_LIST(LAYOUT_X) LAYOUT_COUNT } layout;
#undef LAYOUT_X

static inline const char *layout_name(layout l) {
#define LAYOUT_X(id, name) name,
    static const char *const names[] = {LAYOUT_LIST(LAYOUT_X) "?"};
#undef LAYOUT_X
    return names[l];
}

/* Arithmetic on these rows is exact in every format, so the choice between ties is defined to the
   last bit. */
static inline int layout_is_exact(layout l) {
    return l == LAY_TIED || l == LAY_COLLINEAR || l == LAY_ZEROS;
}

static inline agg_real giant(rng *r) {
    static const double part[4] = {1, -1, 0.3, -0.3};
    return (agg_real)(part[rng_below(r, 4)] * (double)REAL_MAX);
}

static inline void fill_normal(agg_real *x, size_t dim, rng *r, double centre, double spread) {
    for (size_t k = 0; k < dim; k++) x[k] = (agg_real)(centre + spread * rng_normal(r));
}

static inline void fill_number(agg_real *x, size_t dim, double value) {
    for (size_t k = 0; k < dim; k++) x[k] = (agg_real)value;
}

static inline void fill_rows(rows *x, layout l, rng *r) {
    const size_t n = x->n, dim = x->dim;
    agg_real *dir = (agg_real *)need(calloc(dim, sizeof *dir));
    for (size_t k = 0; k < dim; k++) dir[k] = (agg_real)((int)rng_below(r, 7) - 3);
    if (dim == 1 && dir[0] == 0) dir[0] = 1;
    for (size_t i = 0; i < n; i++) {
        agg_real *row = rows_at(x, i);
        const double size = pow(10, 24 * rng_unit(r) - 12),
                     step = (double)((int)rng_below(r, 9) - 4);
        if (l == LAY_RANDOM || l == LAY_DUPLICATED || l == LAY_CLUSTERED || l == LAY_GIANTS)
            fill_normal(row, dim, r, 0, 1);
        else
            rng_skip_normals(r, dim); /* every number is set below */
        switch (l) {
        case LAY_TIED:
            for (size_t k = 0; k < dim; k++) row[k] = (agg_real)((int)rng_below(r, 5) - 2);
            break;
        case LAY_COLLINEAR:
            for (size_t k = 0; k < dim; k++) row[k] = (agg_real)(step * (double)dir[k]);
            break;
        case LAY_DUPLICATED:
            if (i > 1 && (i > 2 || rng_below(r, 2)))
                memcpy(row, rows_at(x, rng_below(r, i)), dim * sizeof *row);
            break;
        case LAY_CLUSTERED:
            if (i % 3) fill_normal(row, dim, r, i % 3 == 1 ? 5 : -5, 1e-3);
            break;
        case LAY_OFFSET: fill_normal(row, dim, r, 100, 0.01); break;
        case LAY_MIXED: fill_normal(row, dim, r, 0, size); break;
        case LAY_GIANTS:
            for (size_t k = 0; k < dim && i % 2; k++) row[k] = giant(r);
            break;
        case LAY_DENORMAL:
            for (size_t k = 0; k < dim; k++)
                row[k] = (agg_real)((int)rng_below(r, 2001) - 1000) * (agg_real)REAL_TINY;
            break;
        case LAY_ZEROS:
            for (size_t k = 0; k < dim; k++) row[k] = rng_below(r, 2) ? (agg_real)0 : -(agg_real)0;
            break;
        case LAY_RANDOM:
        case LAYOUT_COUNT: break;
        }
    }
    free(dir);
}

/* ---- what an adversary may put into a row ---- */

/* clang-format off */

/*  X(id, name, convicts its sender) */
#define FORGERY_LIST(X)                    \
    X(FORGERY_NULL,      "NULL",       1)  \
    X(FORGERY_NAN,       "NaN",        1)  \
    X(FORGERY_ONE_NAN,   "one NaN",    1)  \
    X(FORGERY_INF,       "+Inf",       1)  \
    X(FORGERY_MINUS_INF, "-Inf",       1)  \
    X(FORGERY_ONE_INF,   "last Inf",   1)  \
    X(FORGERY_1E38,      "1e38",       0)  \
    X(FORGERY_M1E38,     "-1e38",      0)  \
    X(FORGERY_MAX,       "max",        0)  \
    X(FORGERY_MIN,       "-max",       0)  \
    X(FORGERY_SIGNS,     "+-max",      0)  \
    X(FORGERY_DENORMAL,  "denormal",   0)  \
    X(FORGERY_ZERO,      "zero",       0)  \
    X(FORGERY_FAR,       "1e6 away",   0)  \
    X(FORGERY_COPY,      "copy",       0)  \
    X(FORGERY_BITS,      "any bits",   0)
/* clang-format on */
#define FORGERY_X(id, name, convicts) id,
typedef enum forgery { FORGERY_LIST(FORGERY_X) FORGERY_COUNT } forgery;
#undef FORGERY_X

static inline const char *forgery_name(forgery l) {
#define FORGERY_X(id, name, convicts) name,
    static const char *const names[] = {FORGERY_LIST(FORGERY_X) "?"};
#undef FORGERY_X
    return names[l];
}

static inline int forgery_convicts(forgery l) {
#define FORGERY_X(id, name, convicts) convicts,
    static const int convicts_sender[] = {FORGERY_LIST(FORGERY_X) 0};
#undef FORGERY_X
    return convicts_sender[l];
}

static inline int all_finite(const agg_real *x, size_t dim) {
    for (size_t k = 0; k < dim; k++)
        if (!isfinite(x[k])) return 0;
    return 1;
}

static inline void forge_row(rows *x, size_t i, forgery l, rng *r) {
    agg_real *row = rows_at(x, i);
    const size_t dim = x->dim, other = (i + 1) % x->n;
    switch (l) {
    case FORGERY_NULL: x->row[i] = NULL; break;
    case FORGERY_NAN: fill_number(row, dim, (double)NAN); break;
    case FORGERY_ONE_NAN: row[rng_below(r, dim)] = (agg_real)NAN; break;
    case FORGERY_INF: fill_number(row, dim, (double)INFINITY); break;
    case FORGERY_MINUS_INF: fill_number(row, dim, -(double)INFINITY); break;
    case FORGERY_ONE_INF: row[dim - 1] = (agg_real)INFINITY; break;
    case FORGERY_1E38: fill_number(row, dim, 1e38); break;
    case FORGERY_M1E38: fill_number(row, dim, -1e38); break;
    case FORGERY_MAX: fill_number(row, dim, (double)REAL_MAX); break;
    case FORGERY_MIN: fill_number(row, dim, -(double)REAL_MAX); break;
    case FORGERY_SIGNS:
        for (size_t k = 0; k < dim; k++) row[k] = rng_below(r, 2) ? REAL_MAX : -REAL_MAX;
        break;
    case FORGERY_DENORMAL: fill_number(row, dim, (double)REAL_TINY); break;
    case FORGERY_ZERO: fill_number(row, dim, 0); break;
    case FORGERY_FAR: fill_normal(row, dim, r, 0, 1e6); break;
    case FORGERY_COPY: memcpy(row, rows_at(x, other), dim * sizeof *row); break;
    case FORGERY_BITS:
        for (size_t k = 0; k < dim; k++) do {
                uint64_t b = rng_next(r);
                memcpy(row + k, &b, sizeof *row);
            } while (!isfinite(row[k]));
        break;
    case FORGERY_COUNT: break;
    }
}

/* ---- one call, with canaries around scratch, scratch at an odd address, and exactly as long as
   asked for */
#define CANARY     0xA5
#define CANARY_LEN 64
#define RUN_DAMAGE AGG_STATUS_COUNT /* the call wrote outside its scratch */

/* a desc without random numbers gets some, the same in every call */
static inline agg_status run(const agg_desc *desc, const agg_real *const *x, agg_real *out,
                             agg_report *report) {
    rng own = rng_make(1);
    const agg_desc given = desc_with_rng(desc, &own), *d = &given;
    const size_t size = agg_scratch_size(d), shift = 1 + (d->n + d->dim) % 15;
    unsigned char *raw = (unsigned char *)need(malloc(size + shift + 2 * CANARY_LEN));
    unsigned char *scratch = raw + CANARY_LEN + shift;
    memset(raw, CANARY, size + shift + 2 * CANARY_LEN);
    agg_status s = agg_aggregate(d, x, out, scratch, size, report);
    for (size_t i = 0; i < CANARY_LEN; i++)
        if (scratch[size + i] != CANARY || raw[shift + i] != CANARY) s = RUN_DAMAGE;
    free(raw);
    return s;
}

/* an attack, with scratch exactly as long as asked for, and memory if a brings none */
static inline agg_status run_attack(const agg_attack_desc *a, const agg_real *const *honest,
                                    size_t honest_n, size_t dim, const agg_real *own,
                                    agg_real *out) {
    agg_attack_desc given = *a;
    agg_status s;
    given.scratch_size = agg_attack_scratch_size(a, honest_n, dim);
    given.scratch = need(malloc(given.scratch_size + !given.scratch_size));
    if (!a->memory) {
        given.memory_size = agg_attack_memory_size(a, dim);
        given.memory = need(calloc(given.memory_size + 1, 1));
    }
    s = agg_attack(&given, honest, honest_n, dim, own, out);
    if (!a->memory) free(given.memory);
    free(given.scratch);
    return s;
}

static inline int wrote(agg_status s) { return s == AGG_OK || s == AGG_INEXACT; }

/* a report with both arrays, for n rows */
static inline agg_report report_new(size_t n) {
    agg_report r;
    memset(&r, 0, sizeof r);
    r.weight = (double *)need(calloc(n + 1, sizeof(double)));
    r.suspicion = (double *)need(calloc(n + 1, sizeof(double)));
    return r;
}

static inline void report_free(agg_report *r) {
    free(r->weight);
    free(r->suspicion);
}

/* ---- shorthands ---- */
/* make test WHOLE=1: loops at full length */
static inline int is_whole(void) {
    const char *said = getenv("TEST_WHOLE");
    return said && *said;
}

/* a third of a loop unless it is to be whole; with TEST_QUICK, for slow machinery, a tenth */
static inline size_t rounds(size_t n) {
    return getenv("TEST_QUICK") ? (n + 9) / 10 : is_whole() ? n : (n + 2) / 3;
}

static inline agg_rule rule_at(size_t i) { return (agg_rule)i; }

/* a test of one rule, with the rule's name in the test's */
#define RUN_RULE(T, RULE)                                                                          \
    do {                                                                                           \
        greatest_set_test_suffix(agg_rule_name(RULE));                                             \
        RUN_TESTp(T, RULE);                                                                        \
    } while (0)

static inline int rule_is_coordinate(agg_rule r) {
    return r == AGG_CWTM || r == AGG_MEAMED || r == AGG_CWMED || r == AGG_BULYAN || r == AGG_WINSOR;
}

static inline int rule_selects(agg_rule r) {
    return r == AGG_MDA || r == AGG_KRUM || r == AGG_MULTI_KRUM || r == AGG_CGE || r == AGG_MONNA ||
           r == AGG_SMEA || r == AGG_AKSEL || r == AGG_DNC || r == AGG_GAS || r == AGG_FEDPG;
}

/* are n-f equal rows the result, whatever the others are? */
static inline int rule_heeds_equals(agg_rule r) {
    return r != AGG_MEAN && r != AGG_CGE && r != AGG_CAF && r != AGG_DNC && r != AGG_FLTRUST &&
           r != AGG_SIGNGUARD && r != AGG_SIGN_VOTE;
}

static inline int same_bits(const agg_real *a, const agg_real *b, size_t dim) {
    return memcmp(a, b, dim * sizeof *a) == 0;
}

/* +0 equals -0 */
static inline int same_numbers(const agg_real *a, const agg_real *b, size_t dim) {
    for (size_t k = 0; k < dim; k++)
        if (!(a[k] <= b[k] && a[k] >= b[k])) return 0;
    return 1;
}

/* of a failing test */
static inline char *why(void) {
    static char message[512];
    return message;
}

#define WHY(...) (snprintf(why(), 512, __VA_ARGS__), why())

/* ---- reference files: the numbers of a line, at most so many; 0: a comment or the names ---- */
static inline int numbers(const char *line, double *x, int most) {
    int n = 0;
    char *end;
    while (n < most) {
        x[n] = strtod(line, &end);
        if (end == line) return 0;
        n++;
        if (*end != ',') break;
        line = end + 1;
    }
    return n;
}
#endif /* TESTS_COMMON_H */
