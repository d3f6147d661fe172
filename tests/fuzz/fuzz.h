/* What the fuzzers share: the input as a source of sizes, numbers and rows, and how a broken
   promise is reported. Include aggregators.h or resnharpg.h and common.h first. Whatever the bytes
   are, they mean something: a short input is a long one that ends in zeros. */
#ifndef TESTS_FUZZ_H
#define TESTS_FUZZ_H

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define PROMISE(x)                                                                                 \
    do {                                                                                           \
        if (!(x)) broken(#x, __FILE__, __LINE__);                                                  \
    } while (0)

static inline void broken(const char *what, const char *file, int line) {
    fprintf(stderr, "%s:%d: broken promise: %s\n", file, line, what);
    abort();
}

typedef struct feed {
    const uint8_t *at;
    size_t left;
} feed;

static inline feed feed_make(const uint8_t *data, size_t size) {
    feed f;
    f.at = data;
    f.left = size;
    return f;
}

static inline uint8_t feed_byte(feed *f) {
    if (!f->left) return 0;
    f->left--;
    return *f->at++;
}

static inline uint64_t feed_u64(feed *f) {
    uint64_t x = 0;
    for (int i = 0; i < 8; i++) x |= (uint64_t)feed_byte(f) << (8 * i);
    return x;
}

/* n <= 256 */
static inline size_t feed_below(feed *f, size_t n) { return feed_byte(f) % n; }

static inline int feed_flag(feed *f) { return feed_byte(f) & 1; }

/* a value of an enum with `count` values; now and then one that it has not */
static inline int feed_enum(feed *f, int count) {
    const int b = feed_byte(f);
    return b >= 250 ? (b == 255 ? -1 : b == 254 ? 0x7fffffff : count + b - 250) : b % count;
}

/* mostly small; sometimes what makes products overflow */
static inline size_t feed_size(feed *f) {
    const uint8_t b = feed_byte(f);
    if (b < 224) return b % 32;
    if (b < 232) return (size_t)feed_u64(f);
    return (SIZE_MAX >> (b - 232)) - (b & 1);
}

static inline double feed_double(feed *f) {
    static const double odd[] = {0,
                                 1,
                                 -1,
                                 0.5,
                                 2,
                                 1e-3,
                                 1e3,
                                 1e-300,
                                 1e300,
                                 DBL_MAX,
                                 -DBL_MAX,
                                 DBL_MIN,
                                 DBL_EPSILON,
                                 4.9406564584124654e-324,
                                 1 - DBL_EPSILON / 2,
                                 0.999};
    const uint8_t b = feed_byte(f);
    double x;
    uint64_t bits;
    if (b < 128) return odd[b % 16];
    if (b < 192) return (double)((int)feed_byte(f) - 128) / 16;
    bits = feed_u64(f);
    memcpy(&x, &bits, sizeof x);
    return x; /* any bits: NaN, infinities, denormals */
}

/* any bits */
static inline agg_real feed_real(feed *f) {
    const uint64_t bits = feed_u64(f);
    agg_real x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* A row, alone in a block of its exact size, so that the address sanitizer sees a number read or
   written beside it. NULL: the agent says nothing. */
static inline agg_real *feed_row(feed *f, size_t dim, const agg_real *other) {
    agg_real *x = (agg_real *)need(malloc(dim * sizeof *x));
    const uint8_t b = feed_byte(f);
    rng r = rng_make(b);
    double centre;
    switch (b % 8) {
    case 0: free(x); return NULL;
    case 1: fill_number(x, dim, feed_double(f)); break;
    case 2:
        for (size_t k = 0; k < dim; k++) x[k] = feed_real(f);
        break;
    case 3:
        for (size_t k = 0; k < dim; k++) x[k] = (agg_real)((int)feed_byte(f) - 128);
        break;
    case 4:
        centre = feed_double(f);
        fill_normal(x, dim, &r, centre, feed_double(f));
        break;
    default:
        if (other)
            memcpy(x, other, dim * sizeof *x);
        else
            fill_normal(x, dim, &r, 0, 1);
        if (b & 64) {
            const size_t at = feed_byte(f) % dim;
            x[at] = feed_real(f);
        }
        break;
    }
    return x;
}

/* any rule, sizes and options; up to 11 rows of up to 315 numbers */
static inline agg_desc feed_rule(feed *f, rng *random) {
    agg_desc d = agg_make_desc((agg_rule)feed_enum(f, AGG_RULE_COUNT), 0, 0, 0);
    const uint8_t dim = feed_byte(f);
    d.n = feed_below(f, 12);
    d.dim = dim < 192 ? dim % 20 : (size_t)(dim - 192) * 5;
    d.f = feed_byte(f) < 250 ? feed_below(f, 6) : feed_size(f);
    d.pre[0] = (agg_pre)(feed_flag(f) ? feed_enum(f, AGG_PRE_COUNT) : 0);
    d.pre[1] = (agg_pre)(feed_flag(f) ? feed_enum(f, AGG_PRE_COUNT) : 0);
    if (!feed_flag(f)) return d;
    d.classic_krum = feed_flag(f);
    d.q = feed_size(f);
    d.pivot = feed_size(f);
    d.bucket = feed_size(f);
    d.clip = feed_double(f);
    d.tau = feed_double(f);
    d.iterations = feed_below(f, 16);
    d.gap = feed_double(f);
    d.budget = feed_byte(f);
    if (feed_flag(f)) d.rng = rng_for_library(random);
    d.share = feed_double(f);
    d.blocks = feed_size(f);
    d.sigma = feed_double(f);
    d.delta = feed_double(f);
    d.batch = feed_size(f);
    return d;
}

enum { MOST_ROWS = 16 };

typedef struct table {
    size_t n;
    agg_real *row[MOST_ROWS];
    const agg_real *read[MOST_ROWS];
} table;

static inline table feed_table(feed *f, size_t n, size_t dim) {
    table t;
    memset(&t, 0, sizeof t);
    t.n = n;
    for (size_t i = 0; i < n; i++)
        t.read[i] = t.row[i] = feed_row(f, dim, i ? t.row[feed_byte(f) % i] : NULL);
    return t;
}

static inline void table_free(table *t) {
    for (size_t i = 0; i < t->n; i++) free(t->row[i]);
}
#ifdef RNI_SAVED_HEAD /* for those that have the private functions */
/* a word of a saved hub or peer changed, by somebody who can compute both checksums; the inner one
   is of what is behind `head` bytes */
static inline void feed_forge(feed *f, unsigned char *bytes, size_t size, size_t head) {
    unsigned char *inner = bytes + head;
    const size_t length = size - head - 8, high = feed_byte(f);
    const size_t at = (high << 8 | feed_byte(f)) * 4 % (length - 15);
    rni_put(inner + at, feed_flag(f) ? feed_u64(f) : feed_size(f), 8);
    rni_put(inner + length - 8, rni_crc32(inner, length - 8), 8);
    rni_put(bytes + size - 8, rni_checksum(bytes, size - 8), 8);
}

static inline int is_refusal(rn_status s) {
    return s == RN_ERR_FORMAT || s == RN_ERR_MISMATCH || s == RN_ERR_CORRUPT;
}
#endif
#endif /* TESTS_FUZZ_H */
